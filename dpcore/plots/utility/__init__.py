"""Figures of the utility of private text."""
