"""Recordings of runs: in each step the input of a party, its changed fields, and sent messages."""
