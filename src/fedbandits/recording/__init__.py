"""Recordings of runs, step by step: what each party was told, what changed in it, what it sent."""
