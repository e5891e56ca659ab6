"""Sealed frames between members: delivery, what carries it, and the broker."""
