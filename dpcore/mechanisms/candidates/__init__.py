"""Mechanisms that choose within a set of candidates, or along a list."""
