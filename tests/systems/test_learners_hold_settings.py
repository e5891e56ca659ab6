"""Settings of a learner are no place for what it learns: they are not saved, and not guarded."""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.errors import LearnerError
from fedbandits.systems import registry
from fedbandits.testing.replicates import federate

LINEAR = fb.environments.Linear(agents=2, dim=3, arms=4)


class Cooling(fb.Learner):
    """Explores less and less, and writes that into its setting."""

    explore: float = 0.5

    def decide(self, contexts, draws):
        self.explore *= 0.99
        return draws.integer(len(contexts))


class PrivateRewards(fb.PrivateLearner):
    """Shares rewards; acts on nothing."""

    largest: float = 0.001

    def record(self, context, arm, reward):
        return np.array([reward])

    def receive(self, total):
        pass

    def decide(self, contexts, draws):
        return draws.integer(len(contexts))


class PrivateScaling(PrivateRewards):
    """Its records depend on earlier ones, by way of a setting."""

    def record(self, context, arm, reward):
        self.largest = max(self.largest, reward)
        return np.array([reward / self.largest])


class PrivatePeeking(PrivateRewards):
    """Its decisions leave contexts behind, where its horizon stands."""

    def decide(self, contexts, draws):
        self.rounds = int(contexts[0, 0] > 0.0)
        return 0


class PrivateGossip(PrivateRewards):
    """Its agents meet in an attribute of the class."""

    seen = []  # noqa: RUF012 - what is to be refused

    def record(self, context, arm, reward):
        self.seen.append(reward)
        return np.array([reward])


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    for learner in (Cooling, PrivateRewards, PrivateScaling, PrivatePeeking, PrivateGossip):
        fb.register(learner)


def play(preset):
    run = federate(fb.system(preset).config, LINEAR, 40, 1, 0)
    run.advance(40)
    return run


def test_a_learner_that_leaves_its_settings_alone_plays():
    assert play("private-rewards").done == 40


@pytest.mark.parametrize("preset", ["private-scaling", "private-peeking", "private-gossip"])
def test_nothing_gets_around_the_guard_of_a_private_learner(preset):
    with pytest.raises(LearnerError, match=r"has changed|was changed after begin"):
        play(preset)


def test_a_setting_that_has_changed_is_not_saved_but_refused():
    (agent, *_) = play("cooling").of("agent")
    with pytest.raises(LearnerError, match=r"Cooling: a setting.*was changed after begin"):
        agent.dump()


def test_what_is_in_slots_would_not_be_saved():
    with pytest.raises(LearnerError, match=r"Slotted\.__slots__"):

        class Slotted(fb.Learner):
            """Keeps what it learns in a slot."""

            __slots__ = ("seen",)
