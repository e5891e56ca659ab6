"""One key of a TOML text is changed, and the rest stays."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.errors import ConfigError
from fedbandits.settings.toml_files import examples
from fedbandits.studio.setup import with_value

TEXT = """# what it shows
rounds = 100 # visits

[environment]
kind = "linear"
agents = 3

[[systems]]
preset = "feducb"
epsilon = 1.0 # of a visit

[[systems]]
preset = "feducb"
label = "b"
"""


def test_a_line_is_replaced_and_its_comment_stays() -> None:
    edited = with_value(TEXT, "systems[0].epsilon", 0.5)
    assert "epsilon = 0.5 # of a visit" in edited
    assert edited.replace("epsilon = 0.5", "epsilon = 1.0") == TEXT


def test_a_new_key_is_put_into_its_own_table() -> None:
    edited = with_value(TEXT, "systems[1].epsilon", 2.0)
    assert tomllib.loads(edited)["systems"][1]["epsilon"] == 2.0
    assert tomllib.loads(edited)["systems"][0] == tomllib.loads(TEXT)["systems"][0]
    assert edited.startswith("# what it shows\n")


def test_a_key_is_taken_out() -> None:
    assert "label" not in with_value(TEXT, "systems[1].label", None)


def test_a_value_over_several_lines_is_replaced_too() -> None:
    text = TEXT.replace("agents = 3", "agents = 3\nfirst_round = [\n  1,\n  2,\n  3,\n]")
    assert tomllib.loads(with_value(text, "environment.first_round", 4))["environment"] == {
        "kind": "linear", "agents": 3, "first_round": 4,
    }  # fmt: skip


@pytest.mark.parametrize("path", ["systems[7].epsilon", "rounds.x", "systems.x.y"])
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="leads to no table"):
        with_value(TEXT, path, 1)


@given(
    name=st.sampled_from(sorted(examples())),
    table=st.sampled_from(["", "environment.", "systems[0].", "systems[1]."]),
    key=st.sampled_from(["rounds", "kind", "epsilon", "label", "a-b", "seed"]),
    value=st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=9)
    | st.floats(allow_nan=False, allow_infinity=False) | st.lists(st.integers(0, 9)),
)  # fmt: skip
def test_the_table_is_as_if_the_key_had_been_assigned(
    name: str, table: str, key: str, value: Any
) -> None:
    text = examples()[name].text
    expected = tomllib.loads(text)
    place = expected
    if table == "environment.":
        place = expected["environment"]
    elif table:
        number = int(table[8])
        if number >= len(expected["systems"]):
            return
        place = expected["systems"][number]
    place.pop(key, None)
    if value is not None:
        place[key] = value
    assert tomllib.loads(with_value(text, f"{table}{key}", value)) == expected
