"""Maps of words, and the distances beside them."""
