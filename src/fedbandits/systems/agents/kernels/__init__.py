"""Compiled code of linear agents."""
