"""What the page says of an experiment before it is run is what the run would say."""

from __future__ import annotations

import pathlib
import tomllib
from typing import Any

import pytest

import fedbandits as fb
from fedbandits.errors import ConfigError
from fedbandits.settings.toml_files import examples
from fedbandits.studio.setup import claim_table, setup
from tests.studio.texts import SMALL


def set_up(folder: pathlib.Path, text: str = SMALL, **given: Any) -> dict[str, Any]:
    return setup(str(folder), allow_modules=False, toml=text, **given)


@pytest.mark.parametrize("name", sorted(examples()))
def test_examples_are_set_up(name: str, tmp_path: pathlib.Path) -> None:
    found = set_up(tmp_path, examples()[name].text)
    experiment = fb.load(name)
    claims = experiment.claims()
    assert [each["label"] for each in found["systems"]] == list(claims)
    for each in found["systems"]:
        assert each["claim"] == claim_table(claims[each["label"]])
    assert found["estimate"]["seconds"] > 0.0


def test_keys_have_values_limits_and_meanings(tmp_path: pathlib.Path) -> None:
    found = set_up(tmp_path)
    keys = {key["path"]: key for key in (*found["keys"], *found["systems"][0]["keys"])}
    assert keys["rounds"]["value"] == 40
    assert keys["environment.agents"]["kind"] == "integer"
    assert keys["systems[0].epsilon"]["value"] == 1.0
    assert keys["systems[0].schedule"]["kind"] == "part"
    assert all(key["about"] for key in keys.values())


@pytest.mark.parametrize("name", sorted(examples()))
def test_the_worst_that_a_claim_allows_stands_beside_it(name: str) -> None:
    for claim in fb.load(name).claims().values():
        worst = max([claim.epsilon, *(view.epsilon for view in claim.views)])
        told = claim_table(claim)
        shown = told["worst"]["epsilon"] if told["worst"] else claim.epsilon
        assert shown == worst
        assert not told["worst"] or told["worst"]["who"]


def test_form_and_text_follow_each_other(tmp_path: pathlib.Path) -> None:
    found = set_up(tmp_path, set={"path": "systems[0].epsilon", "value": 0.25})
    assert found["table"]["systems"][0]["epsilon"] == 0.25
    assert tomllib.loads(found["toml"]) == found["table"]
    again = setup(str(tmp_path), allow_modules=False, table=found["table"])
    assert again["systems"] == found["systems"]


def test_an_error_names_the_key(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ConfigError) as refused:
        set_up(tmp_path, set={"path": "systems[0].epsilon", "value": -1})
    assert refused.value.path == "systems[0].epsilon"
    assert refused.value.given == "-1"
    assert refused.value.allowed is not None
    with pytest.raises(ConfigError, match=r"not valid TOML.*line 2"):
        set_up(tmp_path, "rounds = 1\n= 2\n")


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../secret.csv", "~/secret.csv", "link.csv", "a/../../secret.csv"]
)
def test_files_outside_of_the_folder_are_refused(path: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "secret.csv").write_text("x,y\n1,0\n")
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    text = SMALL.replace('kind = "linear"', f'kind = "table"\npath = "{path}"')
    with pytest.raises(ConfigError, match=r"environment\.path: given .*allowed: a file in"):
        set_up(folder, text)


@pytest.mark.parametrize(
    "part", ["file(/etc/passwd)", "file( ../graph.txt )", "file('~/graph.txt')", "file(link.txt)"]
)
def test_files_in_short_parts_are_refused_too(part: str, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    (tmp_path / "graph.txt").write_text("0 1\n")
    (folder / "link.txt").symlink_to(tmp_path / "graph.txt")
    text = SMALL.replace('preset = "linucb-alone"', f'preset = "feducb-p2p"\ntopology = "{part}"')
    with pytest.raises(ConfigError, match=r"systems\[1\]\.topology: given .*allowed: a file in"):
        set_up(folder, text)


def test_modules_are_refused_unless_they_are_allowed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit('was run')\n")
    with pytest.raises(ConfigError, match=r"module: names 'mine\.py', whose code would run"):
        set_up(tmp_path, 'module = "mine.py"\n' + SMALL)
