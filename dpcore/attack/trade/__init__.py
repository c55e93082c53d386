"""What a mechanism gives away, and what it leaves."""
