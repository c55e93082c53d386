"""Figures of the attacker: odds, budgets, success."""
