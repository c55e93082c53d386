"""Mechanisms that write a new text, token by token, from a private text."""
