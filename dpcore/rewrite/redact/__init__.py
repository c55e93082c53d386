"""Redactors of personal data (PII): no mechanism, and no guarantee."""
