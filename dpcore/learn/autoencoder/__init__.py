"""The private auto-encoder that reads noisy word vectors."""
