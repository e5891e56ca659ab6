"""Figures 7 and 8 of Ciucanu et al. (2022): who sees what, time, reward and shares of work."""
