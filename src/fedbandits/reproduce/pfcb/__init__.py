"""Figures 2 to 5 of Solanki et al. (2022): P-FCB's regret."""
