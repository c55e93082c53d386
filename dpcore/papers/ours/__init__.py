"""Our calibrated mechanisms, and comparisons of every mechanism; neither is in any paper."""
