"""The claim of a silent run: servers learn nothing, on conditions that are named."""

from __future__ import annotations

import re

import pytest

from fedbandits.environments import Bernoulli
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.claim import COMP_LEARNS, claim
from fedbandits.systems.samba.config import EpsilonGreedy, Pursuit, Samba, Thompson


def claimed(arms: int = 5, **parts):
    config = Samba(comparison="silent", **parts)
    return claim(SYSTEM.plan(config, Bernoulli(arms=arms).facts, 100))


def limits(made) -> str:
    return " ".join(f"{limit.what} {limit.why}" for limit in made.not_protected)


def words_of(text: str) -> list[int]:
    return [len(re.findall(r"[A-Za-z]{2,}|[aI]\b", each)) for each in re.split(r"[.!?]\s+", text)]


@pytest.mark.parametrize("algorithm", [Thompson(), EpsilonGreedy(), Pursuit()])
def test_servers_learn_nothing_and_the_conditions_are_named(algorithm):
    made = claimed(algorithm=algorithm, total="shares")
    assert made.encrypted.endswith("Comp and Controller learn nothing")
    conditions = " ".join(made.conditional_on)
    for word in ("learn nothing", "dealer", "beat", "sealed", "older", "pool", "N", "K"):
        assert word in conditions
    assert not any(text in limits(made) for text in COMP_LEARNS.values())
    assert "Paillier" not in made.encrypted
    assert "composite" not in conditions


def test_who_could_pool_is_named():
    text = limits(claimed())
    for who in ("Comp and the Controller together", "the dealer and one server", "that owner"):
        assert who in text


def test_what_depends_on_settings_is_named_where_it_holds():
    assert "explore" in limits(claimed(algorithm=EpsilonGreedy()))
    assert "explore" not in limits(claimed())
    assert "as there are two" in limits(claimed(arms=2))
    assert "as there are two" not in limits(claimed(arms=3))
    assert "listens between owners" in limits(claimed(total="paillier"))
    assert "listens between owners" not in limits(claimed(total="shares"))
    assert "stream cipher" in limits(claimed(cipher="stream"))


def test_runs_that_hide_nothing_claim_nothing():
    for execution in ("plain", "distributed"):
        made = claimed(execution=execution)
        assert not made.encrypted
        assert not made.conditional_on
        assert "in clear" in limits(made)


def test_the_claim_is_in_plain_words():
    made = claimed(arms=2, algorithm=EpsilonGreedy(), cipher="stream")
    texts = [*made.conditional_on, *(limit.why for limit in made.not_protected)]
    assert max(count for text in texts for count in words_of(text)) <= 30
