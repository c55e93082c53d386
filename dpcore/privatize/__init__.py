"""Private copies of a corpus of any size."""
