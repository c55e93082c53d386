"""Text networks with interval bounds, and their training."""
