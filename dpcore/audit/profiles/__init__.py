"""Privacy profiles of noise: the smallest δ that is true at each ε."""
