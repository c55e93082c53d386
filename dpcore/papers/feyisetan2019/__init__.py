"""Feyisetan, Diethe, Drake 2019: noise in hyperbolic space."""
