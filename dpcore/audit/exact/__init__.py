"""Exact audits of finite laws."""
