"""Randomised response: the word itself or another, whatever their vectors are."""
