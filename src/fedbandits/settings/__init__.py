"""From TOML, flags and Python to typed configuration, with errors that name the key."""
