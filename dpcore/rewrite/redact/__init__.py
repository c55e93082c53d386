"""Redactors of personal data: no mechanism, and no guarantee."""
