"""Compiled code of linear agents, shared by the loops and the parties of several systems."""
