"""Work beside the work: processes, a cluster, and whose turn it is."""
