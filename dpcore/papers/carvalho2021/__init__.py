"""Carvalho et al. 2021: the truncated exponential mechanism TEM."""
