"""Rewards that come late, or never: when each is observed, and that nothing else changes."""

from __future__ import annotations

import collections

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import (
    Bernoulli,
    Clustered,
    FixedDelay,
    GeometricDelay,
    Linear,
    Procurement,
    PythonEnvironment,
    UniformDelay,
)
from fedbandits.errors import ConfigError
from fedbandits.federation.messages import unpack
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import Experiment
from fedbandits.systems import registry
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.replicates import federate, simulate

LINEAR = Linear(agents=3, dim=3, arms=4)
ROUNDS, PLAYERS = 60, 3
KEY = replicate_key(4, 0)


class Witness(fb.Learner):
    """Plays any arm, and notes what it decides and observes, in order."""

    def begin(self):
        self.events = []

    def decide(self, contexts, draws):
        arm = draws.integer(len(contexts))
        self.events.append(("decided", contexts[arm].tolist(), arm, None))
        return arm

    def observe(self, context, arm, reward):
        self.events.append(("observed", context.tolist(), arm, reward))


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(Witness)


def late(environment, delay):
    return msgspec.structs.replace(environment, delay=delay)


def witnessed(delay, rounds=ROUNDS):
    run = federate(fb.system("witness").config, late(LINEAR, delay), rounds, 4, 0)
    run.advance(rounds)
    return run, [agent.learner.events for agent in run.run.of("agent")]


# --------------------------------------------------------------------------------- what is drawn

WAYS = [
    FixedDelay(5),
    UniformDelay(2, 9),
    GeometricDelay(6.0),
    GeometricDelay(4.0, lost=0.3),
    FixedDelay(3, lost=1.0),
]


def drawn(delay, count=4000):
    return [delay.rounds_of(KEY, 1, round_) for round_ in range(1, count + 1)]


def test_delays_have_their_distributions():
    assert set(drawn(FixedDelay(7), 50)) == {7}
    uniform = collections.Counter(drawn(UniformDelay(2, 5)))
    assert sorted(uniform) == [2, 3, 4, 5]
    assert max(abs(count / 4000 - 0.25) for count in uniform.values()) < 0.03
    geometric = np.array(drawn(GeometricDelay(6.0)))
    assert geometric.min() == 0
    for least in (1, 5, 20):  # P(delay ≥ k) = (6 / 7)^k
        assert np.mean(geometric >= least) == pytest.approx((6 / 7) ** least, abs=0.03)
    assert drawn(GeometricDelay(0.0), 20) == [0] * 20


def test_as_many_rewards_are_lost_as_was_asked_for():
    found = drawn(UniformDelay(2, 5, lost=0.3))
    assert sum(wait is None for wait in found) / 4000 == pytest.approx(0.3, abs=0.03)
    # Those that are not lost come when they would have come.
    kept = [a == b for a, b in zip(found, drawn(UniformDelay(2, 5)), strict=True) if a is not None]
    assert all(kept)
    # Whether one is lost tells nothing about how long it would have taken.
    waits = collections.Counter(wait for wait in found if wait is not None)
    assert max(abs(waits[wait] / waits.total() - 0.25) for wait in range(2, 6)) < 0.03
    assert None not in drawn(FixedDelay(1, lost=0.0), 50)


LATE_PRESETS = [
    "feducb", "feducb-p2p", "fedlinucb-async", "linucb-alone", "feducb-hybrid", "feducb-p2p-hybrid",
    "feducb-secure", "feducb-secure-hybrid",
]  # fmt: skip


# ------------------------------------------------------------------------- when what is observed


@pytest.mark.parametrize("delay", WAYS, ids=repr)
def test_each_reward_is_observed_once_in_its_round_before_the_decision_of_that_round(delay):
    """An oracle that replays the delays says what each agent sees, event by event."""
    _, all_events = witnessed(delay)
    _, prompt = witnessed(None)
    for agent, events in enumerate(all_events):
        decided = [event for event in events if event[0] == "decided"]
        rewards = [event for event in prompt[agent] if event[0] == "observed"]
        expected, due = [], collections.defaultdict(list)
        for round_ in range(1, ROUNDS + 1):
            expected += due.pop(round_, [])
            expected.append(decided[round_ - 1])
            wait = delay.rounds_of(KEY, agent, round_)
            if wait == 0:
                expected.append(rewards[round_ - 1])
            elif wait is not None:
                due[round_ + wait].append(rewards[round_ - 1])
        assert events == expected


def test_what_is_shown_and_booked_does_not_depend_on_delays():
    prompt, events = witnessed(None)
    slow, late_events = witnessed(GeometricDelay(9.0, lost=0.2))
    for one, other in zip(events, late_events, strict=True):
        assert [e for e in one if e[0] == "decided"] == [e for e in other if e[0] == "decided"]
    assert prompt.regret.tolist() == slow.regret.tolist()
    assert prompt.reward.tolist() == slow.reward.tolist()


def test_lost_rewards_leave_nothing_behind_in_the_run():
    run, events = witnessed(FixedDelay(3, lost=1.0))
    assert all(event[0] == "decided" for each in events for event in each)
    assert not run.late
    run, _ = witnessed(FixedDelay(3))
    assert {round_: len(due) for round_, due in run.late.items()} == {
        ROUNDS + wait: PLAYERS for wait in (1, 2, 3)
    }


def test_what_is_due_is_handed_out_once_in_the_order_of_decisions():
    run, told = federate(fb.system("witness").config, late(LINEAR, FixedDelay(2)), 9, 4, 0), []
    for place, player in enumerate(run.players):
        observe = player.observe

        def noted(decision, outcome, place=place, observe=observe):
            told.append((run.done + 1, place, decision.number))
            return observe(decision, outcome)

        player.observe = noted
    run.advance(9)
    assert told == [
        (number + 2, place, number) for number in range(1, 8) for place in range(PLAYERS)
    ]


@pytest.mark.parametrize("preset", LATE_PRESETS)
def test_a_delay_of_no_rounds_changes_nothing_bit_for_bit(preset):
    config = fb.system(preset).config
    prompt = federate(config, LINEAR, ROUNDS, 4, 0)
    slow = simulate(config, late(LINEAR, FixedDelay(0)), ROUNDS, 4, 0)
    assert isinstance(slow, PartiesReplicate)
    for run in (prompt, slow):
        run.advance(ROUNDS)
    assert prompt.regret.tolist() == slow.regret.tolist()
    assert prompt.reward.tolist() == slow.reward.tolist()
    for one, other in zip(prompt.run.players, slow.run.players, strict=True):
        assert one.dump() == other.dump()


@pytest.mark.parametrize("preset", LATE_PRESETS)
def test_linear_agents_learn_from_every_reward_that_comes(preset):
    delay = GeometricDelay(8.0, lost=0.2)
    run = federate(fb.system(preset).config, late(LINEAR, delay), ROUNDS, 4, 0)
    run.advance(ROUNDS)
    for agent, player in enumerate(run.run.players):
        waits = [delay.rounds_of(KEY, agent, round_) for round_ in range(1, ROUNDS + 1)]
        come = sum(w is not None and r + w <= ROUNDS for r, w in enumerate(waits, start=1))
        assert player.state.records == come
        # Those that are lost are closed, so that they take no memory.
        assert len(player.open_decisions) == ROUNDS - come - waits.count(None)


@pytest.mark.parametrize(
    ("preset", "environment", "settings"),
    [
        ("fclub", Clustered(users=6, clusters=2, servers=2, items=4), {}),
        ("fclub-published", Clustered(users=6, clusters=2, servers=2, items=4), {}),
        ("pfcb", Procurement(agents=2, producers=3, max_capacity=4), {"outcomes": "late"}),
    ],
)
def test_systems_without_linear_agents_take_late_outcomes_too(preset, environment, settings):
    if preset == "pfcb":
        settings = settings | {"window": (4, 40)}
    config = fb.system(preset, **settings).config
    run = simulate(config, late(environment, UniformDelay(0, 12, lost=0.1)), 80, 4, 0)
    run.advance(80)
    assert run.done == 80
    assert np.isfinite(run.regret).all()


# ---------------------------------------------------------------------------------------- privacy


class FixedLog(PythonEnvironment, frozen=True, kw_only=True, tag="fixed-log"):
    """All arms of a round are alike, so decisions change nothing; one reward may be another."""

    changed: int = 0

    @property
    def dimension(self):
        return 3

    @property
    def arm_count(self):
        return 2

    def decision_set(self, world, agent, round_, draws):
        context = draws.normal(3)
        context /= max(1.0, float(np.linalg.norm(context)))
        reward = 0.25 + 0.5 * draws.uniform()
        if agent == 0 and round_ == self.changed:
            reward = 0.0
        return np.tile(context, (2, 1)), np.full(2, reward)

    def draw_reward(self, world, expected, draws):
        return float(expected)


def released(preset, changed, delay):
    """The sums that agent 0 releases, one after the other; the noise is the same in all worlds."""
    environment = FixedLog(agents=2, changed=changed, delay=delay)
    config = fb.system(preset, schedule="every(4)", epsilon=1.0, delta=0.1).config
    run = federate(config, environment, ROUNDS, 4, 0)
    run.advance(ROUNDS)
    sums = {}
    for _, message in run.run.network.transcript.deliveries:
        mine = getattr(message, "origin", message.sender) == "agent-0"
        if mine and hasattr(message, "statistic") and hasattr(message, "release"):
            size = run.plan.constants.release_size
            sums[message.release] = unpack(message.statistic, size)
    return np.array([sums[number] for number in sorted(sums)])


@pytest.mark.parametrize(
    "preset",
    ["feducb", "feducb-published", "feducb-p2p", "feducb-hybrid", "feducb-p2p-hybrid"],
)
@pytest.mark.parametrize("delay", [FixedDelay(6), GeometricDelay(7.0)], ids=repr)
def test_a_late_record_enters_one_batch_once(preset, delay):
    """That is what noise is scaled to: the change of one record moves all sums from one on."""
    changed = 9
    first, second = (released(preset, round_, delay) for round_ in (0, changed))
    moved = second - first
    wait = delay.rounds_of(KEY, 0, changed)
    # Sums are released at the end of rounds 4, 8, …; what is observed in a round is in its sum.
    without = np.array([4 * k < changed + wait for k in range(1, len(moved) + 1)])
    assert 0 < without.sum() < len(moved)
    assert np.abs(moved[without]).max() < 1e-9
    assert np.abs(moved[~without]).max() > 1e-3
    np.testing.assert_allclose(moved[~without] - moved[~without][0], 0.0, atol=1e-9)


@pytest.mark.parametrize("preset", ["linucb-alone", "feducb-hybrid"])
@pytest.mark.parametrize("delay", [FixedDelay(0), FixedDelay(6), GeometricDelay(7.0, lost=0.2)])
def test_a_late_record_is_in_a_view_of_own_records_once(preset, delay):
    """In clear, nobody else is heard: V is the ridge parameter and all that was observed."""
    settings = {} if preset == "linucb-alone" else {"schedule": "every(4)", "epsilon": 1e-6}
    run = federate(fb.system(preset, **settings).config, late(LINEAR, delay), ROUNDS, 4, 0)
    seen = [np.zeros((3, 3)) for _ in run.run.players]

    def noting(place, observe):
        def note(decision, outcome):
            context = run.run.players[place].state.open[decision.number].context
            seen[place] += np.outer(context, context)
            return observe(decision, outcome)

        return note

    for place, agent in enumerate(run.run.players):
        agent.observe = noting(place, agent.observe)
    for round_ in range(1, ROUNDS + 1):
        run.advance(round_)
        for gram, agent in zip(seen, run.run.players, strict=True):
            view = np.linalg.inv(agent.state.view.inverse[0])
            # Noise that drowns all counts about a record in each direction.
            atol = 1e-8 if preset == "linucb-alone" else 1.5
            np.testing.assert_allclose(view, gram + np.eye(3), atol=atol)


# --------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("preset", "environment", "settings"),
    [
        ("samba-ucb", Bernoulli(arms=4), {}),
        ("samba-silent-ucb", Bernoulli(arms=4), {}),
        ("pfcb", Procurement(agents=2, producers=3), {}),
    ],
)
def test_who_cannot_take_late_rewards_is_refused_before_anything_runs(
    preset, environment, settings
):
    experiment = Experiment(
        rounds=20,
        environment=late(environment, FixedDelay(2)),
        systems=(fb.system(preset, **settings),),
    )
    with pytest.raises(ConfigError, match=r"systems\[0\].preset: .*environment.delay"):
        experiment.check()


@pytest.mark.parametrize(
    ("delay", "says"),
    [
        ("uniform(5, 2)", "low: given 5"),
        ("fixed(-1)", "Linear.delay.rounds"),
        ("fixed(1, 1.5)", "Linear.delay.lost"),
        ("sometimes", "fixed, uniform, geometric"),
    ],
)
def test_impossible_delays_are_refused(delay, says):
    with pytest.raises(ConfigError, match=says):
        Linear(delay=delay)


def test_a_run_with_late_rewards_resumes(tmp_path):
    """Parties are not saved, so a replicate that was interrupted is played again."""
    stop = fb.Stop()
    experiment = fb.Experiment(
        rounds=120, replicates=2, environment=late(LINEAR, GeometricDelay(5.0)),
        systems=(fb.system("linucb-alone"),), checkpoints=4,
    )  # fmt: skip
    whole = fb.run(experiment)

    def leave(event):
        if type(event).__name__ == "ReplicateFinished":
            stop.set()

    fb.run(experiment, out=tmp_path / "out", jobs=1, stop=stop, on_event=leave)
    resumed = fb.run(experiment, out=tmp_path / "out", jobs=1, resume=True)
    np.testing.assert_array_equal(resumed.regret.values, whole.regret.values)
