"""What both forms of FCLUB share: local servers that serve users in phases, and a global server."""
