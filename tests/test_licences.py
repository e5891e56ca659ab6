"""What `make licences` takes for a licence that users can live with."""

from __future__ import annotations

import tomllib
from email.message import Message

import pytest
from packaging.requirements import Requirement

from tools.licences import (
    ROOT,
    Kind,
    Licensed,
    kind_of,
    look_up,
    needed,
    stated_licence,
    wanted,
)


@pytest.mark.parametrize(
    ("licence", "kind"),
    [
        ("MIT", Kind.PERMISSIVE),
        ("BSD License", Kind.PERMISSIVE),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", Kind.PERMISSIVE),
        ("Apache-2.0 OR BSD-3-Clause", Kind.PERMISSIVE),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", Kind.PERMISSIVE),
        ("Python Software Foundation License", Kind.PERMISSIVE),
        ("LGPL-3.0-only", Kind.LIBRARY),
        ("GNU Lesser General Public License v3 (LGPLv3)", Kind.LIBRARY),
        ("Mozilla Public License 2.0 (MPL 2.0)", Kind.LIBRARY),
        ("MIT AND GPL-3.0-or-later WITH GCC-exception-3.1", Kind.LIBRARY),
        ("GPLv3", Kind.PROGRAM),
        ("GNU General Public License (GPL)", Kind.PROGRAM),
        ("AGPL-3.0-or-later", Kind.PROGRAM),
        ("GNU Affero General Public License v3", Kind.PROGRAM),
        ("MIT AND GPL-2.0-only", Kind.PROGRAM),
        ("MIT OR GPL-2.0-only", Kind.PERMISSIVE),
        ("(MIT OR GPL-2.0-only) AND AGPL-3.0-only", Kind.PROGRAM),
        ("MIT AND (GPL-2.0-only OR LGPL-2.1-only)", Kind.LIBRARY),
        ("(MIT) OR (GPL-2.0-only)", Kind.PERMISSIVE),
        ("GPL-2.0-only WITH Some-other-exception", Kind.PROGRAM),
        ("", Kind.UNKNOWN),
        ("Proprietary", Kind.UNKNOWN),
        ("MIT AND LicenseRef-ours", Kind.UNKNOWN),
        ("PERMITTED", Kind.UNKNOWN),
    ],
)
def test_a_licence_asks_for_so_much(licence, kind):
    assert kind_of(licence) is kind


def said(**fields):
    about = Message()
    for name, values in fields.items():
        for value in values:
            about[name.replace("_", "-")] = value
    return stated_licence(about)


def test_what_a_package_says_of_its_licence_is_found():
    gpl = "License :: OSI Approved :: GNU General Public License (GPL)"
    bsd = "License :: OSI Approved :: BSD License"
    assert said(License_Expression=["MIT"], License=["GPL"], Classifier=[gpl]) == "MIT"
    assert said(License=["GPLv3"], Classifier=[bsd]) == "GPLv3"
    assert said(License=["See LICENSE"], Classifier=[bsd]) == "BSD License"
    text = "Copyright\nGNU General Public License, which this is not"
    assert said(License=[text], Classifier=[bsd]) == "BSD License"
    both = said(Classifier=[bsd, gpl, "License :: OSI Approved"])
    assert both == "BSD License AND GNU General Public License (GPL)"
    assert kind_of(both) is Kind.PROGRAM
    assert said() == ""


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(
    "extras", [("",), ("federation",), ("docs", "test"), ("federation", "test")]
)
def test_gpl_and_what_is_unknown_are_refused_at_run_time_alone(kind, extras):
    package = Licensed("some", "1.0", "a licence", kind, extras)
    at_run_time = extras not in [("docs", "test")]
    assert package.at_run_time == at_run_time
    assert package.refused == (at_run_time and kind in (Kind.UNKNOWN, Kind.PROGRAM))


def test_requirements_of_requirements_and_their_extras_are_followed():
    """What a marker leaves out here is not needed here."""
    lines = ["typer", "dask[distributed]", "nothing-of-that-name", "colorama; python_version < '3'"]
    found = needed(("some", Requirement(line)) for line in lines)
    assert {"typer", "rich", "dask", "distributed", "tornado"} <= set(found)
    assert "nothing-of-that-name" in found
    assert "colorama" not in found
    assert set().union(*found.values()) == {"some"}


def test_every_extra_is_looked_at():
    project = {
        "dependencies": ["numpy>=1", "llvmlite"],
        "optional-dependencies": {"one": ["rich"], "two": ["fedbandits[one]", "typer"]},
    }
    found = [(extra, requirement.name) for extra, requirement in wanted(project)]
    assert found == [("", "numpy"), ("", "llvmlite"), ("one", "rich"), ("two", "typer")]


def test_nothing_that_is_installed_here_is_gpl_at_run_time():
    """Oracles and peers may be: they are extras for whoever works on fedbandits."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = [look_up(name, extras) for name, extras in needed(wanted(project)).items()]
    gpl = {each.name for each in found if each.kind is Kind.PROGRAM}
    assert "phe" in gpl  # what is looked for can be found
    assert not [each.name for each in found if each.at_run_time and each.name in gpl]
