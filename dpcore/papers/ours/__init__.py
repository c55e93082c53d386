"""What no paper has: our calibrated mechanisms, and every mechanism side by side."""
