"""Noise on clipped vectors: Laplace, Gaussian, TrLaplace, ADePT."""
