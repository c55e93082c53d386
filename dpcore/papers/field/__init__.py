"""Claims about mechanisms of others with public code, and steps of methods for whole texts."""
