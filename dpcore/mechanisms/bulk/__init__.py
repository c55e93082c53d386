"""Many words and documents at once: the same draws in less time."""
