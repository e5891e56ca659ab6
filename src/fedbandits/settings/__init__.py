"""Typed configuration from TOML, flags and Python, with errors that name the key."""

from __future__ import annotations

#: Runs of an audit in either world, for the contents of releases, where none are asked for.
RUNS = 100_000
#: Confidence with which all bounds of an audit on one system hold, where none is asked for.
CONFIDENCE = 0.99
