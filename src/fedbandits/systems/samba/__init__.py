"""SAMBA (Ciucanu et al. 2022): secure federated bandits, one arm a data owner."""
