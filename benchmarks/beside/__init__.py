"""What ``benchmarks/peers.py`` is made of: this package beside others, at the same work."""
