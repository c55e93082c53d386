"""Attacks on one released word: priors, channels, posteriors and success rates."""
