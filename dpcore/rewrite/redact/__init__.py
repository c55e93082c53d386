"""What a redactor blacks out of a text, and what it leaves: no mechanism, and no promise."""
