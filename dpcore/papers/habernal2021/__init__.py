"""Krishna et al. 2021 (ADePT), and what Habernal 2021 found in it."""
