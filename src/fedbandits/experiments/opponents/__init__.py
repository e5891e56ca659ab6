"""Opponents of a run that a user has without it: they are played beside it, and judged with it."""
