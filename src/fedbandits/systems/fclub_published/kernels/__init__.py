"""Compiled code of published FCLUB: what a server and the global one compute on arrays."""
