"""The contract suite for learners in plain Python: checks that every learner must pass.

Each check takes ``learner``: the class of a learner, or the name of its preset. It raises
AssertionError, or the error that the learner raises. Use the checks for your own learner, together
with those of :mod:`fedbandits.testing.systems`::

    @pytest.mark.parametrize("check", [*learners.CHECKS, *systems.CHECKS])
    def test_my_learner(check):
        check("my-learner")  # after fb.register(MyLearner)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.draws import Draws
from fedbandits.environments import Classification, ContextualEnvironment, Linear
from fedbandits.facts import ContextualFacts
from fedbandits.federation.events import Decision
from fedbandits.learners.learner import Learner
from fedbandits.random import Purpose, normals, replicate_key
from fedbandits.systems import find_preset
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.python_learners import LearnerSystem
from fedbandits.testing.restored import MortalParty

ROUNDS = 40
#: Worlds with one parameter vector for all arms, and with a vector for each arm.
WORLDS: tuple[ContextualEnvironment, ...] = (
    Linear(agents=3, dim=3, arms=4),
    Classification(agents=3, dataset="wine", components=3),
)
_KEY = replicate_key(5, 0)


def learner_of(learner: type[Learner] | str) -> type[Learner]:
    """Return the class of a learner, given by the class or by the name of its preset."""
    if isinstance(learner, type):
        return learner
    declared = find_preset(learner)
    assert declared is not None, f"no preset is called {learner!r}; fb.register it first"
    assert isinstance(declared, LearnerSystem), f"{learner!r} is no learner in plain Python"
    return declared.learner


def _learner(learner: type[Learner] | str, world: ContextualEnvironment, agent: int = 0) -> Learner:
    """Make the learner of an agent, as a run does."""
    system = LearnerSystem(learner_of(learner))
    plan = system.plan(system.config_type(), world.facts, ROUNDS)
    return plan.make(agent)


def _parties(
    learner: type[Learner] | str, world: ContextualEnvironment, events: Counter[str] | None = None
) -> PartiesReplicate:
    """Make a run of parties; with ``events``, agents are killed and restored at every event."""
    system = LearnerSystem(learner_of(learner))
    plan = system.plan(system.config_type(), world.facts, ROUNDS)
    if events is None:
        return PartiesReplicate(system, plan, world, 1, 0)
    return PartiesReplicate(
        system, plan, world, 1, 0, embody=lambda make: MortalParty(make, events)
    )


def _contexts(facts: ContextualFacts, number: int) -> Floats:
    """Make a read-only decision set, (arms, d), as a run gives it to a learner."""
    rows = normals(facts.arms * facts.dimension, _KEY, 0, number, Purpose.CONTEXT)
    contexts: Floats = rows.reshape(facts.arms, facts.dimension)
    contexts *= facts.context_norm / np.linalg.norm(contexts, axis=1, keepdims=True)
    if facts.models > 1:
        contexts = np.repeat(contexts[:1], facts.arms, axis=0)
    contexts.setflags(write=False)
    return contexts


def _draws(number: int) -> Draws:
    return Draws(_KEY, 0, number, Purpose.LEARNER)


def _reward(facts: ContextualFacts, arm: int) -> float:
    low, high = facts.reward_range
    return high if arm % 2 else low


def _taught(learner: Learner, count: int = 12) -> Learner:
    """Let a learner make some decisions, and learn their rewards."""
    for number in range(1, count + 1):
        contexts = _contexts(learner.facts, number)
        arm = int(learner.decide(contexts, _draws(number)))
        learner.observe(contexts[arm], arm, _reward(learner.facts, arm))
    return learner


def says_what_it_is(learner: type[Learner] | str) -> None:
    """Check that a learner has a name, and a docstring, which tables show."""
    kind = learner_of(learner)
    shown = (kind.__doc__ or "").strip().partition("\n")[0]
    assert len(shown) > 20, f"{kind.__name__}: the first line of its docstring says too little"
    assert kind.NAME


def plays_with_one_model_and_with_a_model_an_arm(learner: type[Learner] | str) -> None:
    """Check that a learner plays with one model for all arms, and with one model for each arm."""
    for world in WORLDS:
        run = _parties(learner, world)
        run.advance(ROUNDS)
        assert run.done == ROUNDS
        assert np.isfinite(run.reward).all()


def goes_on_from_any_event(learner: type[Learner] | str) -> None:
    """Check that a learner that is killed and restored at any event continues bit for bit.

    So a learner depends on its memory alone, and not on global variables, other agents or a clock.
    Both kinds of worlds are tested.
    """
    for world in WORLDS:
        events: Counter[str] = Counter()
        smooth, rough = _parties(learner, world), _parties(learner, world, events)
        for run in (smooth, rough):
            run.advance(ROUNDS)
        assert np.array_equal(smooth.regret, rough.regret)
        assert np.array_equal(smooth.reward, rough.reward)
        assert events.total() >= ROUNDS


def decides_for_a_row(learner: type[Learner] | str) -> None:
    """Check that a decision is the number of a row, also if fewer arms than usual are shown."""
    for world in WORLDS:
        agent = _taught(_learner(learner, world))
        some = (1, 2, world.arm_count) if world.models == 1 else (world.arm_count,)
        for number, arms in enumerate(some, 100):
            chosen = agent.decide(_contexts(world.facts, number)[:arms], _draws(number))
            assert isinstance(chosen, int | np.integer), f"decide returned {chosen!r}"
            assert not isinstance(chosen, bool)
            assert 0 <= chosen < arms, f"decide returned {chosen}, there are {arms} rows"


def follows_from_what_it_is_given(learner: type[Learner] | str) -> None:
    """Check that the same inputs give the same decisions; there is no clock or other randomness."""
    for world in WORLDS:
        one, two = _taught(_learner(learner, world)), _taught(_learner(learner, world))
        assert one.dump() == two.dump(), "the same was given, and another state has come of it"
        for number in range(50, 70):
            contexts = _contexts(world.facts, number)
            chosen = [int(twin.decide(contexts, _draws(number))) for twin in (one, two)]
            assert chosen[0] == chosen[1], "the same was given, and another arm was chosen"


def leaves_alone_what_it_is_given(learner: type[Learner] | str) -> None:
    """Check that a learner does not write to given arrays, and does not keep them."""
    for world in WORLDS:
        agent = _learner(learner, world)
        _taught(agent)  # contexts there cannot be written to
        contexts = np.array(_contexts(world.facts, 30))
        arm = int(agent.decide(contexts, _draws(30)))
        context = contexts[arm].copy()
        agent.observe(context, arm, _reward(world.facts, arm))
        before = agent.dump()
        contexts[:], context[:] = np.nan, np.nan
        assert agent.dump() == before, "it keeps an array of the caller's; copy what you keep"


def shares_no_memory(learner: type[Learner] | str) -> None:
    """Check that agents share no memory: nothing is stored in the class."""
    for world in WORLDS:
        fresh, other = _learner(learner, world, 1), _learner(learner, world, 1)
        before = fresh.dump()
        _taught(other)
        assert fresh.dump() == before, "another agent's learner has changed this one"
        assert _learner(learner, world, 1).dump() == before, "a new one begins where another ended"


def takes_rewards_late_and_in_any_order(learner: type[Learner] | str) -> None:
    """Check that rewards may come late, in any order, or not at all."""
    for world in WORLDS:
        run = _parties(learner, world)
        run.advance(3)
        (agent, *_) = run.of("agent")
        features = [np.ascontiguousarray(_contexts(world.facts, n).T) for n in range(20)]
        columns = world.facts.features_shape[1]
        waiting: list[Decision] = [
            agent.decide(rows[:, :columns].astype(np.float32)) for rows in features
        ]
        for decision in reversed(waiting[1::2]):
            agent.observe(decision, _reward(world.facts, decision.action))
        agent.observe(waiting[0], _reward(world.facts, waiting[0].action))
        agent.decide(features[0][:, :columns].astype(np.float32))
        run.advance(ROUNDS)
        assert run.done == ROUNDS


def releases_as_many_numbers_each_time(learner: type[Learner] | str) -> None:
    """Check that all releases have the same size, and each is a new array.

    A learner that shares nothing, and a private learner, release nothing themselves.
    """
    if learner_of(learner).release is Learner.release:
        return
    for world in WORLDS:
        agent = _learner(learner, world)
        first = np.array(agent.release(), np.float64).reshape(-1)
        _taught(agent)
        before = agent.dump()
        second = np.array(agent.release(), np.float64).reshape(-1)
        assert second.size == first.size > 0, f"{first.size} numbers at first, then {second.size}"
        assert np.isfinite(second).all()
        assert agent.dump() == before, "release has changed the learner"
        total = 2.0 * second
        total.setflags(write=False)
        agent.receive(total)
        _taught(agent, 3)  # a learner that keeps the received array cannot write to it


#: All checks of the suite.
CHECKS: tuple[Callable[[Any], None], ...] = (
    says_what_it_is,
    plays_with_one_model_and_with_a_model_an_arm,
    goes_on_from_any_event,
    decides_for_a_row,
    follows_from_what_it_is_given,
    leaves_alone_what_it_is_given,
    shares_no_memory,
    takes_rewards_late_and_in_any_order,
    releases_as_many_numbers_each_time,
)
