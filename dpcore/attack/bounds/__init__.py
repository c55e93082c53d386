"""Bounds that no mechanism can cross: the largest share of guessed words, the least distance."""
