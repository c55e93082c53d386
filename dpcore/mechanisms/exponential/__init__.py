"""The truncated exponential mechanism TEM, as published and calibrated."""
