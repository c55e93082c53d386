"""Figures of Nw and Sw."""
