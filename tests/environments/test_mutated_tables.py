"""A table that is written in many ways is read right, or refused: never another one in silence."""

from __future__ import annotations

from tools.mutated_tables import check


def test_no_file_is_read_differently_in_silence():
    """`python tools/mutated_tables.py` reads ten thousand."""
    counts, wrong = check(files=400, seed=11)
    assert wrong == []
    for found in ("stated: as pandas", "stated: right", "not stated: right", "not stated: refused"):
        assert counts[found] > 20
