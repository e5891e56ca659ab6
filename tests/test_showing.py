"""Objects show themselves in a line, and as tables in which everything is escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import fedbandits as fb
from fedbandits.federation.graphs import ErdosRenyi
from fedbandits.systems import find_system, preset_names, systems
from fedbandits.systems.agents.config import Every, Growing
from fedbandits.systems.feducb.config import FedUCB

FCLUB = find_system("fclub")
WORLD = fb.environments.Linear(agents=3, theta=[1] + [0] * 9)
HOSTILE = fb.system("feducb", label="<script>&amp;", epsilon=2, schedule="every(3)")
EXPERIMENT = fb.Experiment(
    name="two", rounds=60_000, replicates=2, environment=WORLD,
    systems=[fb.system("feducb"), HOSTILE],
)  # fmt: skip


def made_by(call):
    """What a shown call makes."""
    return eval(call, {"system": fb.system})  # noqa: S307 - texts of this test's own


class Tables(HTMLParser):
    """The texts in a page; tags that are not closed are an error."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.open, self.tags = [], [], set()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_an_environment_shows_what_is_not_as_usual():
    assert repr(fb.environments.Linear()) == "Linear()"
    assert repr(WORLD) == "Linear(agents=3, theta=(1.0, 0.0, 0.0, … 10 entries))"
    assert repr(fb.environments.RatingData(path="u.data")) == "RatingData(path='u.data')"
    assert len(repr(fb.environments.Bernoulli(ratings="a" * 5000))) < 200


def test_a_part_and_a_configuration_show_what_is_not_as_usual():
    assert repr(Growing()) == "Growing()"
    assert repr(ErdosRenyi(0.2)) == "ErdosRenyi(p=0.2)"
    assert repr(FedUCB(schedule=Every(3))) == "FedUCB(schedule=Every(rounds=3))"


@pytest.mark.parametrize("name", preset_names())
def test_a_variant_shows_the_call_that_makes_it(name):
    assert repr(fb.system(name)) == f"system({name!r})"
    mine = fb.system(name, label="mine")
    assert repr(mine) == f"system({name!r}, label='mine')"
    assert made_by(repr(mine)) == mine


def test_a_variant_shows_what_is_not_the_presets():
    shown = "system('feducb', label='<script>&amp;', schedule='every(3)', epsilon=2.0)"
    assert repr(HOSTILE) == shown
    assert made_by(shown) == HOSTILE
    published = fb.system("feducb-published", local_view="raw", epsilon=2)
    assert repr(published) == "system('feducb-published', epsilon=2.0)"


def test_an_experiment_shows_its_numbers_its_world_and_its_systems():
    assert repr(EXPERIMENT).splitlines() == [
        "Experiment 'two': 60,000 rounds, 2 replicates, seed 0",
        f"  {WORLD!r}",
        "  system('feducb')",
        f"  {HOSTILE!r}",
    ]


@pytest.mark.parametrize("system", systems(), ids=lambda system: system.name)
def test_a_system_shows_where_it_was_published(system):
    count = len(system.presets)
    assert repr(system).startswith(f"<system {system.name!r}: ")
    assert f"{count} preset" in repr(system)
    assert "\n" not in repr(system)


@pytest.mark.parametrize(
    ("shown", "texts"),
    [
        (EXPERIMENT, ["Experiment 'two'", "<script>&amp;", "schedule='every(3)', epsilon=2.0"]),
        (HOSTILE, ["feducb as '<script>&amp;'", "'every(3)'", "set here", "local_view"]),
        (WORLD, ["Linear", "agents", "3", "(1.0, 0.0, 0.0, … 10 entries)"]),
        (FCLUB, ["fclub-clear", FCLUB.presets["fclub-clear"].description]),
    ],
    ids=["experiment", "variant", "environment", "system"],
)  # fmt: skip
def test_a_notebook_shows_tables_in_which_everything_is_escaped(shown, texts):
    html = shown._repr_html_()
    page = Tables(html)
    assert set(texts) <= set(page.texts)
    assert page.tags <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert not re.search(r"&(?!amp;|lt;|gt;|#x27;|quot;)", html)
