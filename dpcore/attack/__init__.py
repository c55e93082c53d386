"""Attacks on private outputs: the information about the input that an attacker recovers."""
