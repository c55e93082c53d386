"""Figures: from tidy tables to plotly, one figure a file; nothing is computed here."""
