"""Readers and writers of tables of private texts."""
