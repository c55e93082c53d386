"""The truncated Gumbel mechanism, as published and repaired."""
