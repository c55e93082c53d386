"""Studies: plans of measurements, their execution, and the recorded results."""
