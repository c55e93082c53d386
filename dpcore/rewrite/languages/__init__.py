"""What the engine knows of a language: one file a language, and neutral rules for all others."""
