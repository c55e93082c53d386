"""Is a claimed guarantee true? Exact losses, privacy profiles, lower bounds, and verdicts."""
