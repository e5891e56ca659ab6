"""Compiled code of published FCLUB: arithmetic of local servers and of the global server."""
