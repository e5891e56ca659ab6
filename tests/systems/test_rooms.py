"""A system finds its functions in the rooms of its package, or where they may stand instead."""

from __future__ import annotations

import importlib

import pytest

INIT = """
from fedbandits.systems.package import PackageSystem

class Roomy(PackageSystem):
    name = "roomy"

SYSTEM = Roomy()
"""


@pytest.fixture
def make(tmp_path, monkeypatch):
    """A system of a package with these modules, by their texts."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(name, **modules):
        folder = tmp_path / name
        folder.mkdir()
        for module, text in {"__init__": INIT, **modules}.items():
            (folder / f"{module}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(name).SYSTEM

    return make


CLAIM = "def claim(plan):\n    return '{} claims', plan\n"


def test_functions_of_a_missing_room_stand_in_the_declaration_or_the_plan(make):
    in_plan = make("roomy_plan", plan=CLAIM.format("plan"), declare="")
    assert in_plan.claim("p") == ("plan claims", "p")
    first = make("roomy_both", plan=CLAIM.format("plan"), declare=CLAIM.format("declare"))
    assert first.claim("p") == ("declare claims", "p")
    assert first.guide("p") is None


def test_a_room_that_is_there_is_the_only_place(make):
    system = make(
        "roomy_room", claim=CLAIM.format("room"), declare=CLAIM.format("declare"),
        guide="", plan="def guide(plan, off):\n    return 'of the plan'\n",
    )  # fmt: skip
    assert system.claim("p") == ("room claims", "p")
    assert system.guide("p") is None
