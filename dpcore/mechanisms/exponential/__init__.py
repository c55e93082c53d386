"""Exponential mechanisms over all words: TEM, SanText, budgets, and the optimal one."""
