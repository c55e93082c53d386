"""Measures: deniability of words (Nw, Sw, effective number), and density of neighbourhoods."""
