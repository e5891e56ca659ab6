"""What can be set is read from the types, and says what it means."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

import fedbandits as fb
from fedbandits.environments import environments
from fedbandits.experiments.log_values import METHODS
from fedbandits.experiments.result import COMMON, SUMMARY_COLUMNS
from fedbandits.settings.reference.docstrings import description_of, meanings_of, summary_of
from fedbandits.settings.reference.glossary import COLUMNS, VARIABLES, WORDS
from fedbandits.settings.reference.keys import in_toml, keys_of, nested
from fedbandits.settings.reference.places import (
    entry_keys,
    experiment_keys,
    find_places,
    parts,
    places,
)
from fedbandits.systems import preset_names, systems


class Part(msgspec.Struct, frozen=True, tag_field="kind", tag="part"):
    """A part.

    Parameters
    ----------
    size : int
        How large it is.
    word
        Which word.
    """

    size: int = 2
    word: Literal["b", "a"] = "a"


class Other(msgspec.Struct, frozen=True, tag_field="kind", tag="other"):
    """Another part."""


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """A base.

    Parameters
    ----------
    low, high
        Where it lies, see :class:`~fedbandits.settings.reference.keys.Key`.

        And a second paragraph.
    """

    low: Annotated[float, Meta(gt=0.0, le=1e6)] = 0.5
    high: int | None = None


class Config(Base, frozen=True, kw_only=True):
    """What is read here.

    More about ``it``.

    Parameters
    ----------
    part
        Which part.
    sizes
        Several sizes.
    high
        Said anew.

    The others are as for a base.

    Raises
    ------
    Nothing
        At all.
    """

    given: bool
    part: Part | Other = msgspec.field(default_factory=Part)
    sizes: tuple[Annotated[int, Meta(ge=1)], ...] | Literal["auto"] = "auto"


def test_keys_have_type_default_limits_and_meaning():
    keys = {key.path: key for key in keys_of(Config)}
    low = keys["low"]
    assert (low.type_in_words, low.default, low.allowed) == (
        "a number", "0.5", "a number > 0 and ≤ 1e+06",
    )  # fmt: skip
    assert low.meaning == "Where it lies, see `Key`. And a second paragraph."
    assert keys["high"].meaning == "Said anew."
    assert keys["high"].default == ""
    assert keys["given"].default is None
    assert keys["given"].meaning == ""
    assert keys["sizes"].allowed == 'a list of whole numbers ≥ 1, or "auto"'
    assert keys["part"].default == '"part(2, a)"'
    assert keys["part"].allowed == '"part(size, word)", "other"'
    paths = [key.path for key in nested(keys_of(Config))]
    assert paths.index("part.part.size") == paths.index("part") + 1
    assert {"part.part.word"} <= set(paths)


def test_docstrings_are_read_as_text():
    assert summary_of(Config) == "What is read here."
    assert description_of(Config) == ["What is read here.", "More about `it`."]
    assert set(meanings_of(Config)) == {"part", "sizes", "high", "low"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Part(), '"part(2, a)"'),
        (Part(3, "b"), '"part(3, b)"'),
        (Other(), '"other"'),
        (1e-5, "1e-05"),
        ((1, 2), "[1, 2]"),
        ('a "b"', '"a \\"b\\""'),
        (True, "true"),
    ],
)
def test_values_are_written_as_toml(value, text):
    assert in_toml(value) == text


def every_struct():
    yield from ((system.name, system.config_type) for system in systems())
    yield from environments().items()


@pytest.mark.parametrize(("name", "struct"), list(every_struct()))
def test_every_key_says_what_it_means(name, struct):
    assert [key.path for key in nested(keys_of(struct)) if not key.meaning] == []
    assert [key.path for key in nested(keys_of(struct)) if not key.allowed] == []


def test_every_key_of_an_experiment_says_what_it_means():
    keys = [*experiment_keys(), *entry_keys()]
    assert all(key.meaning and key.allowed for key in keys)
    assert {"rounds", "environment", "systems", "seed", "module", "preset", "label"} <= {
        key.path for key in keys
    }


@pytest.mark.parametrize("preset", preset_names())
def test_defaults_that_are_shown_are_those_of_the_preset(preset):
    """Given back, they make the very same configuration."""
    from fedbandits.settings.toml_files import parse_toml

    chosen = fb.system(preset)
    lines = [
        f"{key.path} = {key.default}"
        for key in keys_of(type(chosen.config), chosen.config)
        if key.default
    ]
    assert fb.system(preset, **parse_toml("\n".join(lines))) == chosen


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("rounds", {"rounds", "systems.schedule.every.rounds", "environment.delay.fixed.rounds"}),
        ("environment.agents", {"environment.agents"}),
        ("factor", {"systems.schedule.growing.factor"}),
        ("schedule.factor", {"systems.schedule.growing.factor"}),
        ("systems[0].schedule.factor", {"systems.schedule.growing.factor"}),
        ("systems.as published.delta", {"systems.delta"}),
        ("systems.epsilon", {"systems.epsilon"}),
        ("agents.environment", set()),
        ("nothing", set()),
        (".", set()),
    ],
)
def test_keys_are_found_by_the_end_of_their_path(asked, found):
    assert {place.key.path for place in find_places(asked, places())} == found


def test_a_key_is_shown_once_for_all_that_mean_the_same_by_it():
    owners = [place.owners for place in find_places("systems.epsilon", places())]
    assert ("feducb", "feducb_p2p") in owners
    assert len({*sum(owners, ())}) == len(sum(owners, ()))


def test_parts_are_known_with_their_systems():
    assert {system for _, _, system in parts()["growing"]} == {
        "feducb", "feducb_p2p", "fclub", "pfcb",
    }  # fmt: skip


def test_all_columns_and_variables_are_in_the_glossary():
    of_a_log = {f"value_{method}" for method in METHODS} | {"effective_ips"}
    assert set(COLUMNS) == {*SUMMARY_COLUMNS, *of_a_log}
    assert set(COMMON) <= set(VARIABLES)
    assert all(text.endswith(".") for words in WORDS.values() for text in words.values())
