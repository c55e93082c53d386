"""Krishna et al. 2021 (ADePT), and its refutation by Habernal 2021."""
