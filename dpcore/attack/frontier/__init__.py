"""The line that no mechanism crosses: what is guessed at most, and how near outputs are at best."""
