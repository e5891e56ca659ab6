"""Mistakes in the privacy of persons that an audit must find; without them the claim holds."""

from __future__ import annotations

import msgspec
import pytest

from fedbandits.environments import Classification
from fedbandits.privacy.auditing import audit
from fedbandits.settings.experiment import system
from fedbandits.systems.agents import audit as agents_audit
from fedbandits.systems.agents.audit_releases import contents_games
from fedbandits.systems.agents.linear_agent import LinearAgent
from fedbandits.systems.feducb.roles import Agent
from fedbandits.testing.replicates import plan_of, system_of

#: So few suffice: what is broken here is broken thoroughly.
RUNS, TRAINING = 60, 40
DELTA = 0.01
VARIANTS = {
    "feducb": {},
    "ldp-silo": {},
    "feducb-p2p": {"graph": "complete"},
    "feducb-hybrid": {},
    "feducb-p2p-hybrid": {"graph": "complete"},
}

#: Of a later record they show what two others do.
ALIKE = ("ldp-silo", "feducb-p2p", "feducb-hybrid")


def config_of(name, most):
    parts = {"preset": name, "schedule": "every(2)", "delta": DELTA, **VARIANTS[name]}
    return system(parts.pop("preset"), unit="person", records_per_person=most, **parts).config


def found(game, runs=RUNS, training=TRAINING):
    return audit(game, runs, DELTA, training=training)


def messages(name, most, which):
    config = config_of(name, most)
    return agents_audit.messages_games(system_of(config), config)[which]


FIXED_LOG, LATE = 0, 2


@pytest.fixture(autouse=True)
def few_releases(monkeypatch):
    monkeypatch.setattr(agents_audit, "_HORIZONS", (10,))


@pytest.mark.parametrize(
    ("name", "which"),
    [
        *((name, FIXED_LOG) for name in VARIANTS),
        ("feducb", LATE),
        ("feducb-p2p-hybrid", LATE),
        *(pytest.param(name, LATE, marks=pytest.mark.slow) for name in ALIKE),
    ],
)
def test_without_a_mistake_the_claim_holds(name, which, monkeypatch):
    monkeypatch.setattr(agents_audit, "_HORIZONS", (8,))
    game = messages(name, 3, which)
    assert "all records of a person" in game.looks_at
    assert found(game).epsilon_low <= 1.0


@pytest.mark.parametrize("name", ["feducb", "feducb-p2p"])
def test_records_beyond_the_first_are_found_if_they_count(name, monkeypatch):
    monkeypatch.setattr(agents_audit, "_HORIZONS", (16,))  # so that there are many of them
    monkeypatch.setattr(LinearAgent, "_counts", lambda self, event: True)
    assert found(messages(name, 1, FIXED_LOG), 100, 100).epsilon_low > 1.0


def test_a_release_of_all_that_a_joint_view_learned_from_is_found(monkeypatch):
    """Its own sum has records that do not count; what leaves must be the other one."""
    release = Agent._release

    def leaks(self, **changed):
        learned = self._state.statistic + self._state.uncounted
        self._state = msgspec.structs.replace(self._state, statistic=learned)
        return release(self, **changed)

    monkeypatch.setattr(Agent, "_release", leaks)
    assert found(messages("feducb-hybrid", 1, FIXED_LOG)).epsilon_low > 1.0


@pytest.mark.parametrize(("name", "runs"), [("feducb", 2 * RUNS), ("ldp-silo", 4 * RUNS)])
def test_noise_for_one_record_is_found(name, runs, monkeypatch):
    config = config_of(name, 4)
    monkeypatch.setattr(type(config), "records_at_once", 1)
    game = agents_audit.messages_games(system_of(config), config)[FIXED_LOG]
    assert found(game, runs).epsilon_low > 1.0


class TestContents:
    """Releases as configured, in which k records are replaced at once, or one after another."""

    @staticmethod
    def plan():
        world = Classification(agents=3, dataset="wine", components=2)
        return plan_of(config_of("feducb", 5), world, 60)

    @pytest.mark.parametrize("which", [0, 1])
    def test_the_claim_holds_and_is_tight_where_all_records_are_in_one_batch(self, which):
        finding = found(contents_games(self.plan())[which], 20_000, 1000)
        assert finding.epsilon_low <= 1.0
        assert finding.epsilon_low > 0.7 or which

    def test_noise_for_one_record_is_found(self):
        plan = self.plan()
        deviation = plan.constants.noise_deviation / 5
        thin = msgspec.structs.replace(
            plan, constants=plan.constants._replace(noise_deviation=deviation)
        )
        assert found(contents_games(thin)[0], 2000, 1000).epsilon_low > 1.0
