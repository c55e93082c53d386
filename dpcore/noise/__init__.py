"""Samplers and densities of the noise: pure functions of a generator and parameters."""
