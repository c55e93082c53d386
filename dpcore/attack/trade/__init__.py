"""Trade-off between leakage and utility of mechanisms."""
