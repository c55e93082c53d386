"""Noise that is added to a vector before the nearest word is taken."""
