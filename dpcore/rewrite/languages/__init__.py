"""Rules of languages: one file per language, and neutral rules for all others."""
