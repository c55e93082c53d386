"""Mechanisms that add noise to a word's vector and then take the nearest word."""
