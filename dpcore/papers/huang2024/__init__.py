"""Huang et al. 2024: TrLaplace and the private auto-encoder."""
