"""Exchanges: the protocols by which the parties of a system exchange releases."""
