"""Exchanges: the protocols by which the parties of a system tell one another what they release."""
