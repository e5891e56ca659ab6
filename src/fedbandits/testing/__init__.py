"""Contract suites: what every system, environment and party is held to, built in or not."""
