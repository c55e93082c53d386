"""Figures of certified prediction."""
