"""Figures: from tidy tables to plotly, one file a picture; nothing is computed here."""
