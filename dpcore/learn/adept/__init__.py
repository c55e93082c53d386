"""The auto-encoder ADePT."""
