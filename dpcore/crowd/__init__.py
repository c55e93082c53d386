"""What many private texts say together, though none of them says anything alone."""
