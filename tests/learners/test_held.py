"""What a private learner keeps in secret, wherever it is, stops it."""

from __future__ import annotations

import functools
import json
import types
from collections import Counter, deque

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import fedbandits as fb
from fedbandits.errors import LearnerError
from fedbandits.learners.held import Guard
from fedbandits.systems import registry
from fedbandits.testing.replicates import federate
from tests.systems.private_learners import PrivateLinUCB

WORLD = fb.environments.Linear(agents=3, dim=3, arms=4)
LONGEST = [0.0]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    LONGEST[0] = 0.0


def scaled(context):
    LONGEST[0] = max(LONGEST[0], float(np.linalg.norm(context)))
    return context / LONGEST[0]


class Means(fb.PrivateLearner):
    """Noisy sums of contexts and rewards; the first arm, until something is said."""

    record_bound = 2.0

    def begin(self):
        self.sums = np.zeros(self.facts.dimension)

    def record(self, context, arm, reward):
        return context * reward

    def receive(self, total):
        self.sums = total

    def decide(self, contexts, draws):
        return int(np.argmax(contexts @ self.sums))


class OwnDump(Means):
    """Saves what it has received alone, and keeps raw contexts beside it."""

    def begin(self):
        super().begin()
        self.cache = np.zeros(self.facts.dimension)

    def decide(self, contexts, draws):
        self.cache = self.cache + contexts.mean(axis=0)
        return int(self.cache[0] > 0)

    def dump(self):
        return json.dumps(self.sums.tolist()).encode()

    def load(self, data):
        self.sums = np.array(json.loads(data))


class InTheModule(Means):
    def record(self, context, arm, reward):
        return scaled(context) * reward


class InAClass(Means):
    scaler = StandardScaler()

    def record(self, context, arm, reward):
        self.scaler.partial_fit(context[None])
        return self.scaler.transform(context[None])[0] * 0.0


class InADefault(Means):
    def decide(self, contexts, draws, seen=deque()):  # noqa: B006
        seen.append(contexts[0])
        return 0


class Cell:
    __slots__ = ("value",)

    def __init__(self):
        self.value = 0.0


class InSlots(OwnDump):
    def begin(self):
        Means.begin(self)
        self.cell = Cell()

    def decide(self, contexts, draws):
        self.cell.value += contexts[0, 0]
        return 0


def _closure():
    seen = Counter()

    class InAClosure(Means):
        def decide(self, contexts, draws):
            seen[float(contexts[0, 0])] += 1
            return 0

    return InAClosure


class NewInTheClass(Means):
    def decide(self, contexts, draws):
        type(self).last = contexts
        return 0


class InAFunction(OwnDump):
    def begin(self):
        Means.begin(self)
        seen = []
        self.note = lambda contexts: seen.append(contexts)

    def decide(self, contexts, draws):
        self.note(contexts)
        return 0


@pytest.mark.parametrize(
    ("learner", "method"),
    [(OwnDump, "decide"), (InTheModule, "record"), (InAClass, "record"), (InADefault, "decide"),
     (InSlots, "decide"), (_closure(), "decide"), (NewInTheClass, "decide"),
     (InAFunction, "decide")],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_what_is_kept_in_secret_is_refused(learner, method):
    fb.register(learner)
    with pytest.raises(LearnerError, match=rf"{learner.__name__}\.{method}: has changed"):
        federate(fb.system(learner.NAME, out_of_bounds="clip").config, WORLD, 30, 1, 0).advance(30)


class Harmless(Means):
    """Keeps much, and changes nothing of it."""

    TABLE = types.MappingProxyType({"a": 1})
    names = "a", "b"

    def begin(self):
        super().begin()
        self.itself, self.words, self.rng = self, {"a": {1, 2}}, np.random.default_rng(1)
        self.half = functools.partial(np.multiply, 0.5)
        self.tool = StandardScaler()

    def decide(self, contexts, draws):
        return int(np.argmax(self.half(contexts) @ self.sums)) if self.words["a"] else 0

    def dump(self):
        return self.sums.tobytes()

    def load(self, data):
        self.sums = np.frombuffer(data).copy()


@pytest.mark.parametrize("learner", [Harmless, Means, PrivateLinUCB])
def test_what_does_not_change_is_not_refused(learner):
    fb.register(learner)
    federate(fb.system(learner.NAME, out_of_bounds="clip").config, WORLD, 30, 1, 0).advance(30)


def test_an_equal_array_is_no_change():
    learner = PrivateLinUCB(WORLD.facts, 10, 0)
    guard = Guard(PrivateLinUCB)
    before = guard.held(learner)
    learner.theta = learner.theta.copy()
    assert guard.held(learner) == before
    learner.theta[0] += 1e-12
    assert guard.held(learner) != before


WRITTEN_ELSEWHERE = """
class Counting:
    seen = [0.0]

    def look(self):
        Counting.seen[0] += 1.0
"""


def test_a_class_without_a_module_is_looked_through():
    """As ``exec`` makes it, it says that it is one of Python's own."""
    space = {"__name__": "builtins"}
    exec(WRITTEN_ELSEWHERE, space)  # noqa: S102 - a class of this test
    thing = space["Counting"]()
    guard = Guard(space["Counting"])
    before = guard.held(thing)
    assert guard.held(thing) == before
    thing.look()
    assert guard.held(thing) != before
