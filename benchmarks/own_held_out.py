"""More tables, made for ``own_tables.py``: some that verdicts are tried on, and ten held out."""

from __future__ import annotations

from own_worlds import World

MORE: dict[str, World] = {}
OWN: dict[str, World] = {}
HELD_OUT: dict[str, World] = {}
