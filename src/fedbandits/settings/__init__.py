"""Typed configuration from TOML, flags and Python, with errors that name the key."""

from __future__ import annotations

#: Default number of an audit's runs in either world, for the contents of releases.
RUNS = 100_000
#: Default confidence with which all bounds of an audit on one system hold together.
CONFIDENCE = 0.99
