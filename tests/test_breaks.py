"""Breaks of ``tools/break.py`` still apply: each finds its place once, and its tests exist."""

from __future__ import annotations

import pathlib
import runpy

import pytest

ROOT = pathlib.Path(__file__).parents[1]
BREAKS = runpy.run_path(str(ROOT / "tools" / "break.py"))["BREAKS"]


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.name)
def test_a_break_has_one_place_and_tests(one):
    text = (ROOT / "src" / "fedbandits" / one.file).read_text(encoding="utf-8")
    assert text.count(one.old) == 1
    assert one.new != one.old
    assert one.tests
    for test in one.tests:
        assert (ROOT / test).is_file(), test


def test_breaks_have_names_of_their_own():
    assert len({one.name for one in BREAKS}) == len(BREAKS)
