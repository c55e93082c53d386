"""Any function from words to words, audited by what comes out of it and by nothing else."""
