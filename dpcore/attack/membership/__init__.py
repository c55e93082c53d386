"""Membership inference, and what a guarantee says about it."""
