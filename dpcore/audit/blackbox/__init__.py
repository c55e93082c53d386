"""Black-box audit of any function from words to words, by its outputs alone."""
