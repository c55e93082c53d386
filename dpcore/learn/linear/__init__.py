"""Linear classifiers of averaged vectors: certificates, radius, training."""
