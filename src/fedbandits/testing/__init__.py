"""A contract suite that every system is held to, built in or not, and what it is played with."""
