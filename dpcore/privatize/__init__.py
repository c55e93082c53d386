"""A private copy of a corpus of any size."""
