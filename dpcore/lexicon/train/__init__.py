"""Trainer of the bundled lexicon; needed to make it, never to use it."""
