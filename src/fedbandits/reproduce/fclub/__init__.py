"""Figures after Liu et al. (2022): FCLUB's regret, messages and time, and where privacy pays."""
