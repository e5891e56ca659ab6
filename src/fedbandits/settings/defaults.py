"""Defaults that a command shows and a library call takes alike."""

from __future__ import annotations

#: Runs of an audit in either world, for the contents of releases.
RUNS = 100_000
#: With which all bounds that an audit finds on a system hold together.
CONFIDENCE = 0.99
