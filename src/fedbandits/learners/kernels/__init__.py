"""Compiled code of learners: their statistics, and their choices."""
