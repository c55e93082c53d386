"""What an attacker still learns from an output."""
