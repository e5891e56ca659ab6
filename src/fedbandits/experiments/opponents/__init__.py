"""Opponents of private systems that every user has: they are played and judged beside a run."""
