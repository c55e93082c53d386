"""Estimates from many private texts together, none of which says anything alone."""
