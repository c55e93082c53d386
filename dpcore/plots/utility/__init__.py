"""Figures of what private text still teaches."""
