"""From a text to lexicon indices and back: tokens, casing, unknown words, spacing."""
