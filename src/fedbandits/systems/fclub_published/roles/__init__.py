"""The parties of published FCLUB: local servers and a global one."""
