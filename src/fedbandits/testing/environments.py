"""The contract suite for environments: checks that every environment must pass.

Each check takes ``environment``, an environment of a configuration, and raises AssertionError. Use
the checks for your own environment::

    @pytest.mark.parametrize("check", CHECKS)
    def test_my_environment(check):
        check(MyEnvironment(agents=3))

A small environment is enough. It must be registered, and at least one system must be able to play
in it. Functions that are not checks also take ``key``, ``agent`` and ``round_``, which determine
random draws.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
import tomli_w

from fedbandits._typing import Floats, Floats32
from fedbandits.environments.base import ContextualEnvironment, Environment
from fedbandits.environments.kernels.worlds import NOBODY
from fedbandits.random import Key, replicate_key
from fedbandits.settings.experiment import environment_of, system
from fedbandits.settings.written import without_none
from fedbandits.systems import Simulation, System, systems
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.simulated import simulation_in

#: Rounds of a game, and rounds whose contexts alone are looked at.
ROUNDS, LOOKS = 40, 60
_KEY = replicate_key(11, 2)
#: Largest error of a norm by rounding to float32.
_ROUNDING = 1e-6
#: Largest error of a mean of rewards, in deviations: more in one of 10⁹ sound worlds.
_FAR = 6.0


class Shown(NamedTuple):
    """A decision set."""

    features: Floats32  # (d, arms), or (d, 1) with a model an arm
    expected: Floats32  # (arms,)
    best: int


def shown(environment: ContextualEnvironment, key: Key, agent: int, round_: int) -> Shown:
    """Show the decision set of an agent in a round, as compiled loops see it."""
    world = environment.open(key)
    best = world.fill(agent, round_)
    return Shown(world.features, world.expected, best)


def paid(environment: ContextualEnvironment, key: Key, agent: int, round_: int, arm: int) -> float:
    """Draw the reward of an arm, as compiled loops do."""
    world = environment.open(key)
    world.fill(agent, round_)
    return world.reward(arm, agent, round_)


def player_in(environment: Environment) -> tuple[System[Any], str]:
    """Find a system that can play in ``environment``, and one of its presets."""
    for declared in systems():
        if declared.plays_in(type(environment)):
            return declared, next(iter(declared.presets))
    raise AssertionError(
        f"no system plans from {environment.FACTS.__name__}: nobody can play in a "
        f"{type(environment).__name__}"
    )


def _begin(environment: Environment, replicate: int = 0, parties: bool = False) -> Simulation:
    """Begin a replicate of the first system that can play, compiled or played by ``parties``."""
    declared, preset = player_in(environment)
    plan = system(preset).plan(environment, ROUNDS)
    if parties and declared.roles(plan) is not None:
        return PartiesReplicate(declared, plan, environment, 1, replicate)
    return simulation_in(declared, plan, environment, 1, replicate)


def says_what_it_is(environment: Environment) -> None:
    """Check that the environment has a docstring, and constant facts of the right type."""
    assert (type(environment).__doc__ or "").strip(), "an environment without a docstring"
    facts = environment.facts
    assert isinstance(facts, environment.FACTS), f"facts are {type(facts).__name__}"
    assert facts == environment.facts, "facts are others when they are asked for again"
    count, acting = environment.parties, environment.acting
    assert facts.parties == count, f"facts say {facts.parties} parties, and there are {count}"
    assert 1 <= acting <= count, f"{acting} of {count} parties act in a round"
    assert all(environment.words)


def survives_a_file(environment: Environment) -> None:
    """Check that the environment is the same after it is written as TOML and read again."""
    table = without_none(msgspec.to_builtins(environment))
    read = environment_of(tomllib.loads(tomli_w.dumps(table)))
    assert read == environment, f"read as {read!r}"
    assert read.facts == environment.facts


def says_what_it_needs(environment: Environment) -> None:
    """Check that its memory and time are numbers that do not fall with more rounds."""
    few, many = environment.needs(10), environment.needs(10_000)
    assert 0.0 <= few.bytes <= many.bytes
    assert 0.0 <= few.operations <= many.operations
    for part in (*few.parts, *many.parts):
        assert part.what, "a part without a name"
        assert part.bytes >= 0.0


def is_determined_by_seed_and_replicate(environment: Environment) -> None:
    """Check that seed and replicate give one run, and another replicate gives another."""
    one, two, other = _begin(environment), _begin(environment), _begin(environment, 1)
    for run in (one, two, other):
        run.advance(ROUNDS)
    assert _booked(one) == _booked(two)
    assert _booked(one) != _booked(other), "all replicates are alike"


def books_no_negative_regret(environment: Environment) -> None:
    """Check that regret never falls, and that regret and reward are finite."""
    run, before = _begin(environment), np.zeros(environment.parties)
    for stop in (1, 2, 7, 20, ROUNDS):
        run.advance(stop)
        assert run.regret.shape == run.reward.shape == (environment.parties,)
        assert np.isfinite(run.regret).all()
        assert np.isfinite(run.reward).all()
        # Regret of a single party may fall if its gain is another's loss; the group's never does.
        assert run.regret.sum() >= before.sum() - 1e-9, "regret has fallen"
        before = run.regret.copy()


def is_played_alike_by_its_stage(environment: Environment) -> None:
    """Check that parties and compiled simulations see the same world, round by round."""
    compiled, parties = _begin(environment), _begin(environment, parties=True)
    for stop in (1, 2, 11, ROUNDS):
        for run in (compiled, parties):
            run.advance(stop)
        if compiled.done == parties.done:
            assert _booked(compiled) == _booked(parties)
    assert compiled.done == parties.done == ROUNDS


def _booked(run: Simulation) -> tuple[list[float], list[float]]:
    return run.regret.tolist(), run.reward.tolist()


def draws_depend_on_their_names_alone(environment: Environment) -> None:
    """Check that decision sets and rewards do not depend on the order of questions."""
    if not isinstance(environment, ContextualEnvironment):
        return
    names = [(agent, round_) for agent in _some_agents(environment) for round_ in range(1, 6)]

    def look(agent: int, round_: int) -> str:  # as text, because unobserved rewards are NaN
        seen = shown(environment, _KEY, agent, round_)
        reward = paid(environment, _KEY, agent, round_, 1)
        return repr((seen.features.tolist(), seen.expected.tolist(), seen.best, reward))

    forward = {name: look(*name) for name in names}
    backward = {name: look(*name) for name in reversed(names)}
    assert forward == backward, "what is shown depends on what was asked for before"


def tells_agents_and_replicates_apart(environment: Environment) -> None:
    """Check that different agents and replicates differ in decision sets or rewards."""
    if not isinstance(environment, ContextualEnvironment):
        return

    def seen(agent: int, replicate: int) -> Floats:
        key = replicate_key(11, replicate)
        arrays: list[Any] = []
        for round_ in range(1, LOOKS):
            look = shown(environment, key, agent, round_)
            reward = paid(environment, key, agent, round_, round_ % environment.arm_count)
            arrays += [look.features.ravel(), look.expected, np.array([reward])]
        return np.concatenate(arrays)

    base = seen(0, 0)
    assert not np.array_equal(base, seen(0, 1)), "all replicates see the same"
    if environment.parties > 1:
        assert not np.array_equal(base, seen(1, 0)), "all agents see and earn the same"


def names_persons_that_there_are(environment: Environment) -> None:
    """Check that each visit is of a known person or of nobody, if persons come several times."""
    if not isinstance(environment, ContextualEnvironment) or environment.facts.persons is None:
        return
    world, persons = environment.open(_KEY), environment.facts.persons
    for agent in _some_agents(environment):
        for round_ in range(1, LOOKS + 1):
            world.fill(agent, round_)
            person = world.person
            assert NOBODY <= person < persons, f"no person has the number {person}"
            world.fill(agent, round_)
            assert person == world.person


def keeps_its_bounds(environment: Environment) -> None:
    """Check that contexts, rewards and gaps are within the bounds of the facts."""
    if not isinstance(environment, ContextualEnvironment):
        return
    facts = environment.facts
    low, high = facts.reward_range
    agents = _some_agents(environment)
    for round_ in range(1, LOOKS):
        agent, arm = agents[round_ % len(agents)], round_ % facts.arms
        features, expected, best = shown(environment, _KEY, agent, round_)
        assert np.isfinite(features).all(), "a context with entries that are no numbers"
        norms = np.linalg.norm(features.astype(np.float64), axis=0)
        assert norms.max() <= facts.context_norm * (1.0 + _ROUNDING), "a context is too long"
        reward = paid(environment, _KEY, agent, round_, arm)
        assert low <= reward <= high or np.isnan(reward), "a reward out of range"
        if not environment.regret_is_known:  # unknown rewards are NaN
            expected = expected[np.isfinite(expected)]
        if len(expected):
            assert low <= expected.min() <= expected.max() <= high, (
                "an expected reward out of range"
            )
        if environment.regret_is_known:
            assert expected[best] == expected.max(), "the best arm is another one"
            gap = float(expected.max()) - float(expected.min())
            assert gap <= environment.largest_gap + _ROUNDING, "a gap is larger than largest_gap"


def pays_what_is_expected(environment: Environment) -> None:
    """Check that the means of rewards are the expected rewards (by Hoeffding's bound)."""
    if not isinstance(environment, ContextualEnvironment):
        return
    low, high = environment.facts.reward_range
    count, off, world = 20 * LOOKS, 0.0, environment.open(_KEY)
    for round_ in range(1, count + 1):
        agent, arm = round_ % environment.parties, round_ % environment.arm_count
        world.fill(agent, round_)
        expected, reward = float(world.expected[arm]), world.reward(arm, agent, round_)
        assert not np.isnan(expected) or np.isnan(reward), "a reward of what was not expected"
        off += 0.0 if np.isnan(reward) else reward - expected
    assert abs(off) <= _FAR * 0.5 * (high - low) * np.sqrt(count) + _ROUNDING * count, (
        f"mean rewards are off by {off / count:.3g} from what is expected"
    )


def explains_rewards_by_its_parameters(environment: Environment) -> None:
    """Check that the true parameters, if they are stated, give the expected rewards."""
    if not isinstance(environment, ContextualEnvironment):
        return
    truth = environment.true_parameters(environment.world(_KEY))
    if truth is None:
        return
    assert truth.shape == (environment.models, environment.dimension)
    for round_ in range(1, 6):
        features, expected, _ = shown(environment, _KEY, 0, round_)
        linear = truth[0] @ features if environment.models == 1 else (truth @ features)[:, 0]
        np.testing.assert_allclose(linear, expected, atol=3e-6)


def _some_agents(environment: ContextualEnvironment) -> list[int]:
    """Choose the first two agents and the last agent."""
    return sorted({0, min(1, environment.parties - 1), environment.parties - 1})


#: All checks of the suite.
CHECKS: tuple[Callable[[Environment], None], ...] = (
    says_what_it_is,
    survives_a_file,
    says_what_it_needs,
    is_determined_by_seed_and_replicate,
    books_no_negative_regret,
    is_played_alike_by_its_stage,
    draws_depend_on_their_names_alone,
    tells_agents_and_replicates_apart,
    names_persons_that_there_are,
    keeps_its_bounds,
    pays_what_is_expected,
    explains_rewards_by_its_parameters,
)
