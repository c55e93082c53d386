"""Studies: what is measured on which words, and the results that were recorded."""
