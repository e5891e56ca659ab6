"""Sweeps: one experiment at several values of some keys, what points share played once."""
