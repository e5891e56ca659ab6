"""Keys, certificates, the authority, and the list of members."""
