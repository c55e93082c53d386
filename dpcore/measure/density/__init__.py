"""How dense the embedding space is around a word."""
