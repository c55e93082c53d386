"""Execution of jobs: in this process, in subprocesses, on a cluster, and in the background."""
