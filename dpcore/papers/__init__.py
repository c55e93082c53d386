"""The papers: what each prints and claims, the plans that repeat it, and the comparison."""
