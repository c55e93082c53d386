"""Lecuyer et al. 2019: PixelDP."""
