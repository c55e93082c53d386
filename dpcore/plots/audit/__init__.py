"""Figures of the audit: privacy profiles, and pairs that noise does not cover."""
