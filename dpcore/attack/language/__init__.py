"""The attacker who knows English: a bigram model and context."""
