"""Attacks on latent vectors of ADePT."""
