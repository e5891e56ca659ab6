"""The usage of a benchmark: its own text says what it measures and which arguments it takes."""

from __future__ import annotations

import sys


def explain(text: str | None) -> None:
    """Print a benchmark's text and end, where ``--help`` is asked for."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print((text or "").strip())
        raise SystemExit
