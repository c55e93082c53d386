"""How much of a text is left after rewriting."""
