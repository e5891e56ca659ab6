"""Small experiments, as the page sends them."""

from __future__ import annotations

SMALL = """name = "small"
rounds = 40
replicates = 4
checkpoints = 8
[environment]
kind = "linear"
agents = 4
dim = 3
arms = 5
[[systems]]
preset = "feducb"
epsilon = 1.0
[[systems]]
preset = "linucb-alone"
"""
