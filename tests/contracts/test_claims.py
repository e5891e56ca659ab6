"""What the claim of every preset of every system must be, and the page that shows them all."""

from __future__ import annotations

import functools
import json
import math
import pathlib
import re

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Bernoulli, Classification, Linear
from fedbandits.experiments import claims_page
from fedbandits.experiments.claims_page import REFERENCE_BUDGET, reference_claims
from fedbandits.experiments.result import build_dataset
from fedbandits.experiments.trace import ReplicateTrace
from fedbandits.privacy import accounting, gaussian
from fedbandits.privacy.accounting import Clear, Encrypted
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems import find_preset, preset_names
from fedbandits.systems.aggregation import SecureSum
from fedbandits.systems.terms import claim_under, terms_of

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "claims.md"
EPSILON, DELTA = REFERENCE_BUDGET["epsilon"], REFERENCE_BUDGET["delta"]


#: Words of the longest sentence in a claim.
LONGEST_SENTENCE = 30


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text)


def whole_texts(stated: PrivacyClaim) -> tuple[str, ...]:
    """What a claim says in sentences."""
    return (*stated.conditional_on, *(limit.why for limit in stated.not_protected))


def require_plain_words(stated: PrivacyClaim) -> None:
    """Short names, short sentences, few at a time."""
    for what in stated.limits:
        assert 5 < len(what) <= 90
        assert not re.search(r"[.:;?!()–—]", what), what
        assert what == what.strip()
    for text in whole_texts(stated):
        assert len(sentences(text)) <= 3, text
        assert text.endswith("."), text
    for text in (stated.unit, stated.from_whom, *whole_texts(stated)):
        for sentence in sentences(text):
            assert len(sentence.split()) <= LONGEST_SENTENCE, sentence
            assert ";" not in sentence, sentence


@functools.cache
def claims() -> dict[str, PrivacyClaim]:
    """What every preset claims; not while tests are collected, for that compiles kernels."""
    return reference_claims()


def test_no_preset_is_left_out():
    assert sorted(claims()) == sorted(preset_names())


def test_the_page_is_what_the_code_says():
    """After a change: fedbandits privacy --all --markdown > docs/claims.md."""
    fresh = claims_page.reference_page(claims())
    assert PAGE.read_text(encoding="utf-8") == fresh, (
        "docs/claims.md is out of date: fedbandits privacy --all --markdown > docs/claims.md"
    )


@pytest.mark.parametrize(
    ("name", "parts", "world"),
    [
        ("feducb", {"local_view": "raw"}, Classification(agents=10, components=3)),
        ("feducb", {"epsilon": (1.0, 0.5, 2.0)}, Linear(agents=3, dim=3)),
        ("pfcb", {"outcomes": "late"}, None),
        ("pfcb-interactive", {"outcomes": "late"}, None),
        ("pfcb", {"privatizer": "continual"}, None),
        ("fclub-published", {"acts_on": "buffered"}, None),
        ("samba-egreedy", {"tie_breaking": "first", "cipher": "stream"}, Bernoulli(arms=2)),
        ("samba-egreedy", {"exploration_shortcut": "published-each"}, None),
    ],
)
@pytest.mark.parametrize("noise", ["secure", "simulated"])
def test_what_only_some_settings_say_is_said_in_plain_words(name, parts, world, noise):
    found, world = find_preset(name), world or claims_page.reference_world(find_preset(name))
    plan = fb.system(name, **parts).plan(world, 3000)
    stated = claim_under(found, plan, terms_of(found, plan, noise))
    require_plain_words(stated)
    assert stated.limits[0].startswith("everything") == (noise == "simulated")


@pytest.mark.parametrize("name", preset_names())
class TestClaim:
    def test_it_says_what_is_protected_from_whom(self, name):
        stated = claims()[name]
        assert stated.unit.strip()
        assert stated.from_whom.strip()
        assert stated.relation == "replace-one"

    def test_it_says_what_is_not_and_so_in_short(self, name):
        stated = claims()[name]
        assert stated.limits == tuple(limit.what for limit in stated.not_protected) != ()
        assert len(set(stated.limits)) == len(stated.limits)

    def test_it_can_be_understood_at_the_first_reading(self, name):
        """Claims are for a privacy officer."""
        require_plain_words(claims()[name])

    def test_one_record_is_not_taken_for_one_person(self, name):
        """Where noise protects one record, the claim says that several cost more."""
        stated = claims()[name]
        if 0.0 < stated.epsilon < math.inf:
            several = " ".join(map(str, stated.not_protected))
            assert re.search(r"cost k times μ", several)

    def test_it_says_whether_parties_share_a_noise(self, name):
        """Only where they release to secure sums; test_one_noise.py has the prices."""
        config = fb.system(name).config
        sums = isinstance(getattr(config, "aggregation", None), SecureSum)
        assert claims()[name].one_noise == sums

    def test_a_published_variant_says_what_its_paper_claims(self, name):
        published = name.endswith("-published")
        assert claims()[name].paper_claims == ((EPSILON, DELTA) if published else None)

    def test_a_sound_variant_spends_its_budget_and_no_more(self, name):
        """Unless it says nothing, or has no noise."""
        stated = claims()[name]
        if stated.paper_claims is None and 0.0 < stated.mu < math.inf:
            assert 0.99 * EPSILON <= stated.epsilon_contents <= EPSILON * (1 + 1e-12)
            assert stated.epsilon in (stated.epsilon_contents, math.inf)
            assert stated.delta == DELTA
        if not stated.events:
            assert stated.epsilon == stated.epsilon_contents == stated.mu == 0.0
        assert stated.epsilon >= stated.epsilon_contents

    def test_it_holds_for_something_where_its_epsilon_is_finite(self, name):
        stated = claims()[name]
        assert (stated.holds_for != "nothing") == math.isfinite(stated.epsilon)
        assert stated.is_private == math.isfinite(stated.epsilon)

    def test_its_figures_follow_from_its_events(self, name):
        stated = claims()[name]
        assert all(accounting.mu(event) >= 0.0 for event in stated.events)
        assert all(accounting.describe(event) for event in stated.events)
        if stated.encrypted:
            # Nothing is charged for encryption, and no ε comes of it.
            assert {type(event) for event in stated.events} == {Encrypted}
            assert accounting.total_mu(stated.events) == 0.0
            assert stated.mu == stated.epsilon_contents == math.inf
            return
        assert accounting.total_mu(stated.events) == stated.mu
        if stated.mu < math.inf and stated.delta:
            assert gaussian.epsilon_of(stated.mu, stated.delta) == stated.epsilon_contents

    def test_noise_is_stated_where_there_is_some(self, name):
        stated = claims()[name]
        assert (stated.noise > 0.0) == (0.0 < stated.mu < math.inf)
        if Clear() in stated.events:
            assert any(limit.what.startswith("any") for limit in stated.not_protected)

    def test_it_survives_the_results_file(self, name):
        """Claims travel with results as JSON, which has no infinity."""
        assert msgspec.convert(msgspec.to_builtins(claims()[name]), PrivacyClaim) == claims()[name]
        experiment = fb.Experiment(
            rounds=30,
            environment=claims_page.reference_world(find_preset(name)),
            systems=(fb.system(name),),
        )
        trace = ReplicateTrace.empty(0, 0, np.array([30]), experiment.environment.parties)
        dataset = build_dataset(experiment, [trace], interrupted=False)
        (stored,) = json.loads(dataset.attrs["claims"]).values()
        (stated,) = experiment.claims().values()
        assert msgspec.convert(stored, PrivacyClaim, strict=False) == stated
