"""Attackers with a model of English: bigrams, and readers of whole sentences."""
