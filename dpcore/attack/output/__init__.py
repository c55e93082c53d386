"""What one released word, or two candidates, tell an attacker."""
