"""Word mechanisms: one protocol, one registry of versioned keys."""
