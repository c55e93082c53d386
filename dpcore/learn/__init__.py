"""Learning: the teaching corpus, and classifiers trained on private text."""
