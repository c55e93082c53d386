"""Mechanisms that write a text of their own, token by token, with a private text before them."""
