"""Diameter, separation and stretch of a vocabulary."""
