"""Code that both forms of FCLUB share: local servers with users in phases, and a global server."""
