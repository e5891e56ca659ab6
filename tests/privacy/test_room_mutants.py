"""Mistakes outside what a small audit used to play: what it measures exactly must find each.

Each mechanism holds without its mistake. Attacks are left out: they would take minutes to see what
pairs of runs with the same noise, and the draws of all releases, show in seconds.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import fedbandits as fb
from fedbandits.errors import LearnerError
from fedbandits.experiments.audits.parts import parts_of
from fedbandits.experiments.audits.verdict import judge
from fedbandits.learners.held import Guard
from fedbandits.privacy.auditing import unheard
from fedbandits.privacy.noise_check import NoiseFinding
from fedbandits.privacy.sensitivity_check import SensitivityFinding
from fedbandits.systems import registry
from fedbandits.systems.agents import linear_agent
from fedbandits.systems.agents import system as agents_system
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.python_learners import application

LINEAR = fb.environments.Linear(agents=6, dim=3, arms=4)
LONGEST = [0.0]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    LONGEST[0] = 0.0


#: What is measured exactly. A mistake is looked for where it must show.
MOVES, NOISE = ("sensitivity",), ("noise",)


def judged(system, rounds=120, world=LINEAR, runs=3000, looks_at=MOVES + NOISE):
    """The verdict of what is measured exactly, or of some of it."""
    experiment = fb.Experiment(rounds=rounds, environment=world, systems=(system,))
    (entry,), (claim,) = experiment.systems, experiment.claims().values()
    exact = [
        part.play(unheard)
        for part in parts_of(experiment, entry, runs, 0.99, claim.delta)
        if part.shown.kind in looks_at
    ]
    noise = tuple(found for found in exact if isinstance(found, NoiseFinding))
    moved = tuple(found for found in exact if isinstance(found, SensitivityFinding))
    return judge(entry.label, claim, (), 0.99, noise, moved)


def holds(verdict):
    """Nothing was attacked here: what does not break a claim leaves it as it was."""
    return verdict.outcome == "not attacked"


# ---------------------------------------------------------------- learners that keep something


class Scaled(fb.PrivateLearner):
    """Contexts are scaled by the longest one so far, which is kept in the module."""

    def begin(self):
        self.sums = np.zeros(self.facts.dimension)

    def scaled(self, context):
        LONGEST[0] = max(LONGEST[0], float(np.linalg.norm(context)))
        return context / max(LONGEST[0], 1e-9)

    def record(self, context, arm, reward):
        return self.scaled(context) * min(abs(reward), 1.0)

    def receive(self, total):
        self.sums = total

    def decide(self, contexts, draws):
        return draws.integer(len(contexts))


class Standardised(Scaled):
    """Contexts are standardised by all of them so far, in a class attribute."""

    record_bound = 2.0
    scaler = StandardScaler()

    def scaled(self, context):
        self.scaler.partial_fit(context[None])
        return self.scaler.transform(context[None])[0]


class Sound(Scaled):
    """Contexts as they are."""

    def scaled(self, context):
        return context


class ByRawContexts(Sound):
    """It decides by raw contexts that it keeps, beside what it saves."""

    record_bound = 2**0.5

    def begin(self):
        self.sums, self.cache = np.zeros((2, self.facts.arms)), 0.0

    def record(self, context, arm, reward):
        added = np.zeros((2, self.facts.arms))
        added[:, arm] = 1.0, reward
        return added.ravel()

    def decide(self, contexts, draws):
        self.cache = self.cache + contexts.mean(axis=0)
        return int(self.cache[0] > 0)

    def dump(self):
        return np.asarray(self.sums).tobytes()

    def load(self, data):
        self.sums = np.frombuffer(data).copy()


@pytest.fixture
def unguarded(monkeypatch):
    """As if it were kept where no guard looks."""
    monkeypatch.setattr(Guard, "held", lambda self, thing: b"")


@pytest.mark.parametrize("learner", [Scaled, Standardised, ByRawContexts])
def test_a_guard_stops_them(learner):
    fb.register(learner)
    with pytest.raises(LearnerError, match="has changed"):
        judged(fb.system(learner.NAME))


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("learner", [Scaled, Standardised])
def test_without_a_guard_the_other_world_shows_in_what_comes_after_it(learner):
    Standardised.scaler = StandardScaler()
    fb.register(learner)
    verdict = judged(fb.system(learner.NAME), looks_at=MOVES)
    assert verdict.outcome == "broken"
    assert any(found.remembers for found in verdict.moved)
    assert "a run depends on runs before it" in verdict.line


@pytest.mark.usefixtures("unguarded")
def test_without_a_guard_a_record_that_ignores_contexts_still_moves_too_much():
    fb.register(ByRawContexts)
    verdict = judged(fb.system("by-raw-contexts"), looks_at=MOVES)
    assert verdict.outcome == "broken"
    assert any(found.too_far for found in verdict.moved)


def test_the_same_learner_without_it_holds():
    fb.register(Sound)
    assert holds(judged(fb.system("sound")))


# ---------------------------------------------------------------- linear agents


def test_agents_as_they_are_hold():
    assert holds(judged(fb.system("feducb", schedule="evenly(16)")))


def test_parties_that_do_not_clip_are_found(monkeypatch):
    def unclipped(context, reward, *bounds):
        return 0, reward

    monkeypatch.setattr(linear_agent, "record_fault", unclipped)
    verdict = judged(fb.system("feducb"), looks_at=MOVES)
    assert verdict.outcome == "broken"
    assert max(found.epsilon for found in verdict.moved) > 5.0


@pytest.mark.parametrize("wraps", [2, 3])
def test_budgets_by_an_index_that_wraps_are_found(monkeypatch, wraps):
    whole = AgentsPlan.of_agent
    monkeypatch.setattr(AgentsPlan, "of_agent", lambda self, agent: whole(self, agent % wraps))
    system = fb.system("feducb", epsilon=[8.0, 0.1, 0.1, 0.1, 0.1, 0.1])
    verdict = judged(system, looks_at=NOISE)
    assert verdict.outcome == "broken"
    assert any(found.missing for found in verdict.noise)


def repeating(whole):
    def noise(*named):
        *name, step = named
        return whole(*name, step if step < 7 else step - 6)

    return noise


@pytest.mark.parametrize("preset", ["feducb", "sound"])
def test_noise_that_repeats_late_is_found(monkeypatch, preset):
    fb.register(Sound)
    for module in (agents_system, application):
        monkeypatch.setattr(module, "simulated_noise", repeating(module.simulated_noise))
    verdict = judged(fb.system(preset, schedule="evenly(16)"), looks_at=NOISE)
    assert verdict.outcome == "broken"
    assert max(found.again for found in verdict.noise) >= 10
    assert "draws were used more than once" in verdict.line
