"""Mechanisms of others that came with public code, and steps of methods for whole texts."""
