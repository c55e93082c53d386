"""Feyisetan et al. 2020 (Madlib), and the mechanisms that grew from its noise."""
