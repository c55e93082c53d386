"""Bounds that no mechanism crosses: the largest share of guessed words, the least distance."""
