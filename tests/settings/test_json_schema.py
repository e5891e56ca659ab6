"""The JSON schema allows what can be run, and what it refuses is refused."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import environments
from fedbandits.errors import ConfigError
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.reference.json_schema import _tables, json_schema
from fedbandits.settings.toml_files import examples
from fedbandits.systems import find_preset, preset_names

SCHEMA = json_schema()
CHECK = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema() -> None:
    CHECK.check_schema(SCHEMA)
    json.dumps(SCHEMA, allow_nan=False)


@pytest.mark.parametrize("name", sorted(examples()))
def test_examples_are_allowed_as_they_are_and_in_full(name: str) -> None:
    CHECK.validate(tomllib.loads(examples()[name].text))
    CHECK.validate(json.loads(json.dumps(fb.load(name).to_table())))


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_allowed_with_its_own_settings(preset: str) -> None:
    found = find_preset(preset)
    assert found is not None
    table = {"preset": preset, "label": "mine", **found.presets[preset].settings}
    world = {"kind": "linear"}
    CHECK.validate({"rounds": 9, "environment": world, "systems": [json.loads(json.dumps(table))]})


def test_every_key_has_a_meaning() -> None:
    tables = [each["properties"] for each in SCHEMA["$defs"].values() if "properties" in each]
    documented = [keys for keys in tables if "preset" in keys]
    assert len(documented) == len({find_preset(name) for name in preset_names()})
    for keys in documented:
        assert [key for key in keys if key != "label" and not keys[key].get("description")] == []


def test_patterns_are_javascripts() -> None:
    patterns = [each["pattern"] for each in _tables(SCHEMA) if isinstance(each.get("pattern"), str)]
    assert patterns
    assert not [pattern for pattern in patterns if "\\Z" in pattern or "(?P" in pattern]


def test_environments_are_told_apart_by_their_kind() -> None:
    assert len(SCHEMA["properties"]["environment"]["oneOf"]) == len(environments())


VALUES = (
    st.none() | st.booleans() | st.integers(-5, 10**6) | st.floats(-2.0, 1e7)
    | st.sampled_from(["auto", "growing(1.5)", "every(10)", "none", "clear", "x", ""])
    | st.lists(st.floats(0.0, 2.0), max_size=3)
)  # fmt: skip


@given(
    table=st.sampled_from(["", "environment", "systems"]),
    key=st.sampled_from(
        ["rounds", "seed", "name", "agents", "dim", "epsilon", "delta", "schedule", "label", "typo"]
    ),
    value=VALUES,
)
def test_what_it_refuses_cannot_be_read(table: str, key: str, value: Any) -> None:
    whole = tomllib.loads(examples()["linear"].text)
    whole.pop("sweep", None)
    place = {"": whole, "environment": whole["environment"], "systems": whole["systems"][0]}[table]
    place[key] = value
    if CHECK.is_valid(whole):
        return
    with pytest.raises(ConfigError):
        Experiment.from_table(whole)
