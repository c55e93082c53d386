"""Word mechanisms: one idea a file, one protocol, one registry of versioned keys."""
