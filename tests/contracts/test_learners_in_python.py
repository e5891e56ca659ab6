"""What every learner in plain Python promises; see :mod:`fedbandits.testing.learners`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import fedbandits as fb
from fedbandits.systems import registry
from fedbandits.testing import learners as suite
from tests.own_things import SharedRidge

TREE = fb.learners.from_sklearn(DecisionTreeRegressor(max_depth=3, random_state=0), name="tree")
LEARNERS = {
    "shared-ridge": SharedRidge,
    "sklearn-ridge": fb.learners.from_sklearn(Ridge(), name="sklearn-ridge"),
    "tree": TREE,
}


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner(name, check):
    check(LEARNERS[name])


def test_a_preset_will_do(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(AssertionError, match=r"fb\.register it first"):
        suite.says_what_it_is("shared-ridge")
    fb.register(SharedRidge)
    suite.says_what_it_is("shared-ridge")
    with pytest.raises(AssertionError, match="is no learner in plain Python"):
        suite.says_what_it_is("feducb")


class Means(fb.Learner):
    """Plays the arm that has paid best on average so far."""

    def begin(self):
        self.sums, self.seen = np.zeros((2, self.facts.arms)), []

    def decide(self, contexts, draws):
        return np.argmax(self.sums[1, : len(contexts)] / (self.sums[0, : len(contexts)] + 1.0))

    def observe(self, context, arm, reward):
        self.sums[:, arm] += 1.0, reward

    def release(self):
        return self.sums

    def receive(self, total):
        self.seen = [total]


class Clockwork(Means):
    """Plays by a clock that all of its kind share."""

    ticks = [0]  # noqa: RUF012 - what is wrong with it

    def decide(self, contexts, draws):
        self.ticks[0] += 1
        return self.ticks[0] % len(contexts)


class Hoarder(Means):
    """Keeps the very arrays that it is given."""

    def observe(self, context, arm, reward):
        self.seen = [*self.seen, context]


class Vandal(Means):
    """Writes to the decision set that it is given."""

    def decide(self, contexts, draws):
        contexts -= contexts.mean(axis=0)
        return 0


class Forgetful(Means):
    """Saves only half of what it keeps."""

    def load(self, data):
        super().load(data)
        self.sums[:] = 0.0


class Impatient(Means):
    """Takes for granted that a reward is of the last decision."""

    def decide(self, contexts, draws):
        self.last = super().decide(contexts, draws)
        return self.last

    def observe(self, context, arm, reward):
        super().observe(context, arm, reward)
        if self.last is None:
            raise RuntimeError("no decision is open")
        self.last = None


class Fixed(Means):
    """Plays the last arm, whether it is shown or not."""

    def decide(self, contexts, draws):
        return self.facts.arms - 1


class Growing(Means):
    """Tells more and more."""

    def release(self):
        return np.ones(1 + int(self.sums[0].sum()))


class Keeper(Means):
    """Goes on with the very array that it receives."""

    def receive(self, total):
        self.sums = total.reshape(2, -1)


class Family(Means):
    """Keeps what it has learned in its class."""

    known = [0]  # noqa: RUF012 - what is wrong with it

    def observe(self, context, arm, reward):
        self.known[0] += 1
        self.sums[0, arm] = self.known[0]


@pytest.mark.parametrize(
    ("check", "learner", "says"),
    [
        (suite.follows_from_what_it_is_given, Clockwork, "another arm was chosen"),
        (suite.goes_on_from_any_event, Clockwork, "after a restart"),
        (suite.goes_on_from_any_event, Forgetful, "is not restored as it was saved"),
        (suite.leaves_alone_what_it_is_given, Hoarder, "copy what you keep"),
        (suite.leaves_alone_what_it_is_given, Vandal, "read-only"),
        (suite.takes_rewards_late_and_in_any_order, Impatient, "no decision is open"),
        (suite.decides_for_a_row, Fixed, "there are 1 rows"),
        (suite.releases_as_many_numbers_each_time, Growing, "1 numbers at first, then 13"),
        (suite.releases_as_many_numbers_each_time, Keeper, "read-only"),
        (suite.follows_from_what_it_is_given, Family, "another state"),
    ],
)
def test_what_is_wrong_is_seen(check, learner, says):
    check(Means)
    with pytest.raises((AssertionError, ValueError, RuntimeError), match=says):
        check(learner)
