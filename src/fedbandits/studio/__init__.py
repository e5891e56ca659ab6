"""The web page: set up, run, step, compare, attack and watch."""
