"""PixelDP: noise layers, and predictions certified by them."""
