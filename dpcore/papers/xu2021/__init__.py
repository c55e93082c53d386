"""Xu et al. 2021: the truncated Gumbel mechanism, and training against substitutions."""
