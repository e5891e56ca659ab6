"""Figures of Dubey & Pentland (2020): FedUCB's regret."""
