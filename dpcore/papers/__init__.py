"""Papers: their printed results and claims, the plans that repeat them, and the comparison."""
