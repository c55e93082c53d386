"""Genetic word substitution against a classifier."""
