"""Noise as a deployed party draws it: the same releases as in a simulation, and no more revealed.

A secure source is given values before anything is released of them, and covers them. What can leave
is a function of covered values, so a guarantee is that of these: no record moves all of them
together, in deviations of the noise, by more than the claimed μ.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fedbandits.environments import Classification, Clustered, Linear, Procurement
from fedbandits.environments.clustered import Arrival
from fedbandits.experiments.claims_page import reference_claims
from fedbandits.federation.memory import MemoryNetwork
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import system
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.agents.noise import gram_noise
from fedbandits.systems.games import opposite_records
from fedbandits.systems.pfcb.roles.buying import BuyerSupply
from fedbandits.systems.terms import terms_of
from fedbandits.testing.replicates import federate, plan_of, system_of
from tests import strategies as own

DELTA = 1e-3
LINEAR = Linear(agents=2, dim=2, arms=4)
CLASSES = Classification(agents=2, dataset="wine", components=2)
CLUSTERED = Clustered(users=6, clusters=2, servers=2, dim=2, items=4)
BUYERS = Procurement(agents=2, producers=3, max_capacity=6, quality_threshold=0.3)


class Named:
    """A simulated source that keeps by which names it was asked, one after another."""

    def __init__(self, noise):
        self.noise, self.names = noise, []

    def __call__(self, *name):
        self.names.append(name)
        return self.noise(*name)


class Covering:
    """Adds what a simulated source gives where a secure one covers; keeps what it was given.

    A secure source is asked step after step, a simulated one by the names of draws; ``names`` has
    the name that each step has in a simulation, if it is another.
    """

    def __init__(self, noise, names=None):
        self.noise, self.names, self.seen = noise, names, {}

    def cover(self, step, values):
        assert step not in self.seen, "a step was asked for twice"
        self.seen[step] = values.copy()
        name = (step,) if self.names is None else self.names[step - 1]
        drawn = np.reshape(self.noise(*name), -1)[: values.size]
        return values + drawn.reshape(values.shape)


def with_noise(config, environment, rounds, seed, noise):
    """What parties bring: ``noise`` makes the source of each of its simulated one."""
    plan = plan_of(config, environment, rounds)
    world = environment.stage(replicate_key(seed, 0)).world
    simulated = system_of(config).simulated_supplies(plan, world, seed, 0)

    def supply(role, place):
        brought = simulated(role, place)
        return (
            brought._replace(noise=noise(brought.noise)) if hasattr(brought, "noise") else brought
        )

    return supply


class Variant(NamedTuple):
    """How a variant is played."""

    preset: str
    parts: dict[str, Any]
    environment: Any
    rounds: int = 60

    def config(self, **more):
        return system(self.preset, **{"epsilon": 1.0, "delta": DELTA, **self.parts, **more}).config

    def begin(self, seed=0, noise=None, **more):
        """A run; ``noise`` makes the source of every party of its simulated one."""
        supplies = noise and with_noise(
            self.config(**more), self.environment, self.rounds, seed, noise
        )
        return federate(
            self.config(**more), self.environment, self.rounds, seed, 0, supplies=supplies
        )

    def claim(self, **more):
        config = self.config(**more)
        return system_of(config).claim(plan_of(config, self.environment, self.rounds))


PEERS = {"graph": "complete"}
VARIANTS = {
    "agents": Variant("feducb", {}, LINEAR),
    "agents, a model an arm": Variant("feducb", {}, CLASSES),
    "agents, own records too": Variant("feducb-hybrid", {}, LINEAR),
    "agents, trees": Variant("ldp-silo", {}, LINEAR),
    "agents, as published": Variant(
        "feducb-published", {"schedule": "determinant(3)"}, LINEAR
    ),
    "agents, by draws, own records too": Variant("lints-hybrid", {}, LINEAR),
    "peers": Variant("feducb-p2p", PEERS, LINEAR),
    "peers, own records too": Variant("feducb-p2p-hybrid", PEERS, LINEAR),
    "peers, raw": Variant("feducb-p2p", PEERS | {"local_view": "raw"}, LINEAR),
    "peers, as published": Variant(
        "feducb-p2p-published", PEERS | {"schedule": "determinant(3)", "gamma": 2},
        LINEAR,
    ),
    "buyers": Variant("pfcb", {}, BUYERS),
    "buyers, one draw a number": Variant(
        "pfcb", {"privatizer": "independent"}, BUYERS
    ),
    "buyers, running sums": Variant(
        "pfcb", {"privatizer": "continual"}, BUYERS
    ),
    "buyers, as published": Variant("pfcb-published", {}, BUYERS),
    "buyers, on releases": Variant("pfcb-interactive", {}, BUYERS),
    "servers": Variant("fclub", {}, CLUSTERED),
    "servers, on releases": Variant("fclub-released", {}, CLUSTERED),
    "servers, by cluster": Variant("fclub-clusters", {}, CLUSTERED),
}  # fmt: skip
every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)


#: What releases shifted sums and public counts, in another order than it takes noise, has tests of
#: its own: ``tests/systems/test_fclub_published_noise.py``. Shares of secure sums leave masked:
#: ``tests/privacy/test_shares.py`` and ``tests/systems/test_secure_audits.py``.
ELSEWHERE = {"fclub-published", "feducb-secure", "feducb-secure-hybrid", "pfcb-secure"}


def test_every_preset_that_adds_noise_is_here():
    """A system that joins the registry is asked for its variant."""
    noisy = {name for name, claim in reference_claims().items() if 0.0 < claim.mu < math.inf}
    assert noisy - ELSEWHERE == {variant.preset for variant in VARIANTS.values()}


def contents(message):
    """All numbers in a message."""
    fields = (getattr(message, name) for name in message.__struct_fields__)
    return np.concatenate(
        [np.zeros(0), *(np.frombuffer(f) for f in fields if isinstance(f, bytes))]
    )


def sent(run):
    return [message for _, message in run.network.transcript.deliveries]


def played(run):
    """What was decided, round after round, as far as a driver shows it."""
    steps = []
    for stop in range(1, run.rounds + 1):
        run.advance(stop)
        steps.append((run.regret.copy(), run.reward.copy()))
    return np.array(steps)


@every_variant
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_noise_gives_the_same_releases_and_decisions(variant, seed):
    added = variant.begin(seed)
    for party in added.players:
        party._noise = Named(party._noise)
    decisions = played(added)
    asked = iter([party._noise.names for party in added.players])
    covered = variant.begin(seed, lambda noise: Covering(noise, next(asked)))
    np.testing.assert_array_equal(decisions, played(covered))
    ours, theirs = sent(added), sent(covered)
    assert len(ours) == len(theirs)
    compared = 0
    for one, other in zip(ours, theirs, strict=True):
        assert type(one) is type(other)
        assert one.sender == other.sender
        mine, yours = contents(one), contents(other)
        size = np.abs(mine).max(initial=1.0)
        np.testing.assert_allclose(yours, mine, rtol=1e-9, atol=1e-9 * size)
        compared += mine.size
    assert compared > 0


class Silent(Covering):
    """Tells nothing of what it was given, and adds nothing."""

    def cover(self, step, values):
        super().cover(step, values)
        return np.zeros_like(values)


@every_variant
def test_all_that_is_released_is_made_of_covered_values(variant):
    """Where the source says zero, every number that leaves is zero: nothing goes past it."""
    run = variant.begin(0, Silent)
    run.advance(run.rounds)
    assert all((contents(message) == 0.0).all() for message in sent(run))
    for party in run.players:
        assert any(np.abs(values).max() > 0.0 for values in party._noise.seen.values())


@every_variant
def test_secure_noise_plays_a_whole_run_that_nobody_can_foresee(variant):
    """Nor from another process: tests/privacy/test_process_check.py."""
    seen = []
    for _ in range(2):
        run = variant.begin(0, lambda _: SecureNoise())
        decisions = played(run)
        assert run.done == run.rounds
        assert run.syncs > 0
        seen.append((decisions, [contents(m) for m in sent(run)]))
    first = [next(c for c in messages if c.size) for _, messages in seen]
    assert (first[0] != first[1]).any()


@pytest.mark.parametrize("name", ["agents", "peers", "buyers, on releases", "servers, on releases"])
def test_decisions_follow_the_noise(name):
    """Where all that is acted on is noisy, runs part ways."""
    runs = [VARIANTS[name].begin(0, lambda _: SecureNoise()) for _ in range(4)]
    decided = [played(run) for run in runs]
    assert any((decided[0] != other).any() for other in decided[1:])


# ------------------------------------------------- no record moves more than the claim says


class Log(NamedTuple):
    """Records of all parties in all rounds, of which the first party's in one round is replaced."""

    rng: np.random.Generator
    round_: int
    record: tuple[np.ndarray, float]

    def taken(self, party, round_):
        """A context and a reward in [-1, 1]."""
        context, reward = unit(self.rng), self.rng.uniform(-1.0, 1.0)
        return self.record if (party, round_) == (0, self.round_) else (context, reward)


def unit(rng, length=1.0):
    drawn = rng.normal(size=2)
    return (1.0 - 1e-6) * length * drawn / np.linalg.norm(drawn)


def play_agents(run, log):
    for round_ in range(1, run.rounds + 1):
        for index, agent in enumerate(run.players):
            context, reward = log.taken(index, round_)
            decision = agent.decide(np.tile(context[:, None], LINEAR.arms).astype(np.float32))
            run.network.send(agent.observe(decision, reward))
        run.end_round(round_)


def play_buyers(run, log):
    """A record is (units bought of the first producer, units found good)."""
    for round_ in range(1, run.rounds + 1):
        for index, buyer in enumerate(run.players):
            decision = buyer.decide(None)
            bought = log.rng.integers(0, run.stage.world.capacity[index] + 1)
            good = log.rng.integers(0, bought + 1)
            if (index, round_) == (0, log.round_):
                bought[0], good[0] = log.record
            run.network.send(buyer.observe(replace(decision, action=bought), good))
        run.end_round(round_)


def play_servers(run, log):
    """The first party is a user; all items of a round are alike."""
    for round_ in range(1, run.rounds + 1):
        user = 0 if round_ == log.round_ else int(log.rng.integers(CLUSTERED.users))
        context, reward = log.taken(user, round_)
        server = run.players[run.plan.facts.home[user]]
        items = np.tile(context[:, None], CLUSTERED.items).astype(np.float32)
        decision = server.decide(Arrival(round_, user, items))
        run.network.send(server.observe(decision, abs(reward)))
        for other in run.players:
            run.network.send(other.end_round(round_))
        run.network.settle()


PLAYS = {Linear: play_agents, Procurement: play_buyers, Clustered: play_servers}


@functools.cache
def capacity() -> int:
    """Of the first buyer for what the first producer sells."""
    return int(VARIANTS["buyers"].begin(0).stage.world.capacity[0, 0])


#: A trigger or a partition may move with a record: claims of contents are for those that stay.
STAYS = {
    "agents, as published": {"schedule": "every(7)"},
    "peers, as published": {"schedule": "every(7)", "gamma": 1},
    "servers, by cluster": {"clustering": "population"},
}
ON_A_LOG = {name: variant for name, variant in VARIANTS.items() if variant.environment != CLASSES}


def moved(name, seed, round_, pair):
    """How far the first party's covered values lie apart, and those of all others; and μ."""
    variant, more = ON_A_LOG[name], STAYS.get(name, {})
    seen = []
    for record in pair:
        run = variant.begin(0, Covering, **more)
        PLAYS[type(variant.environment)](run, Log(np.random.default_rng(seed), round_, record))
        parties = run.players
        seen.append([party._noise.seen for party in parties])
    apart = [
        np.sqrt(sum(np.sum((one[step] - other[step]) ** 2) for step in one | other))
        for one, other in zip(*seen, strict=True)
    ]
    return apart[0], max(apart[1:]), variant.claim(**more).mu


@st.composite
def pairs(draw, buyers):
    """Two records within bounds."""
    rng = np.random.default_rng(draw(own.seeds))
    if buyers:
        bought = [draw(st.integers(0, capacity())) for _ in range(2)]
        return [(b, draw(st.integers(0, b))) for b in bought]
    lengths = [draw(st.sampled_from([1.0, 0.0, 0.5])) for _ in range(2)]
    return [(unit(rng, length), draw(st.sampled_from([-1.0, 0.0, 1.0]))) for length in lengths]


@pytest.mark.parametrize("name", ON_A_LOG)
@settings(max_examples=12)
@given(data=st.data())
def test_no_record_moves_what_is_covered_by_more_than_is_claimed(name, data):
    variant = ON_A_LOG[name]
    seed, round_ = data.draw(own.seeds), data.draw(st.integers(1, variant.rounds))
    pair = data.draw(pairs(variant.environment == BUYERS))
    own_move, others_move, mu = moved(name, seed, round_, pair)
    assert own_move <= mu * (1 + 1e-6)
    assert others_move == 0.0


def covered_when_late(variant, log, late):
    """What agents cover, where the first one's reward of one round comes ``late`` rounds later."""
    run, waiting = variant.begin(0, Covering), None
    for round_ in range(1, run.rounds + 1):
        for index, agent in enumerate(run.players):
            context, reward = log.taken(index, round_)
            decision = agent.decide(np.tile(context[:, None], LINEAR.arms).astype(np.float32))
            if (index, round_) == (0, log.round_):
                waiting = decision, reward
            else:
                run.network.send(agent.observe(decision, reward))
        if waiting is not None and round_ == log.round_ + late:
            run.network.send(run.players[0].observe(*waiting))
        run.end_round(round_)
    return [party._noise.seen for party in run.players]


@pytest.mark.parametrize("name", ["agents", "agents, trees"])
@settings(max_examples=15)
@given(data=st.data())
def test_a_record_that_moves_to_another_batch_costs_no_more(name, data):
    """In a running sum: the delay of a reward may differ between neighbours, at no price."""
    variant = VARIANTS[name]
    seed, round_ = data.draw(own.seeds), data.draw(st.integers(1, 30))
    pair = data.draw(pairs(buyers=False))
    one, other = (
        covered_when_late(
            variant, Log(np.random.default_rng(seed), round_, record),
            data.draw(st.sampled_from([0, 1, 7, 25])),
        )
        for record in pair
    )  # fmt: skip
    apart = [
        np.sqrt(sum(np.sum((a[step] - b[step]) ** 2) for step in a | b))
        for a, b in zip(one, other, strict=True)
    ]
    assert apart[0] <= variant.claim().mu * (1 + 1e-6)
    assert apart[1] == 0.0


@pytest.mark.parametrize("name", ON_A_LOG)
def test_some_record_moves_it_as_far(name):
    """Claims are tight: the furthest pair, in the batch that is in all releases."""
    variant = ON_A_LOG[name]
    # The noise of a linear agent's sums is unequal: that decides which pair is the furthest.
    config = variant.config(**STAYS.get(name, {}))
    ratio = gram_noise(config) if isinstance(config, AgentsConfig) else 1.0
    far = [(r.context, r.reward) for r in opposite_records(2, 1.0, 1.0, ratio)]
    if variant.environment == CLUSTERED:  # rewards enter less ½
        one, other = opposite_records(2, 1.0, 0.5)
        far = [(one.context, 1.0), (other.context, 1.0)]
    if variant.environment == BUYERS:
        far = [(0, 0), (capacity(), capacity())]
    own_move, _, mu = moved(name, 3, 1, far)
    assert own_move <= mu * (1 + 1e-6)
    assert own_move >= 0.99 * mu


@pytest.mark.parametrize("privatizer", ["correlated", "independent", "continual", "published"])
def test_a_producer_of_no_capacity_is_reported_as_nothing(privatizer):
    """Noise comes in capacities: of nothing there is none, and nothing to hide."""
    config = VARIANTS["buyers"].config(privatizer=privatizer)
    plan = plan_of(config, BUYERS, 60)
    roles, capacities = system_of(config).roles(plan), np.array([[0, 5, 0], [4, 0, 0]])
    terms, names = terms_of(system_of(config), plan, "secure"), roles.acting.parties
    buyers = {}
    for place, name in enumerate(names):
        rng = np.random.default_rng(place)
        noise = Covering(lambda _, rng=rng: rng.normal(size=6))
        supply = BuyerSupply(noise, np.full(3, 0.1), capacities)
        buyers[name] = roles.make(roles.acting, place, terms, supply)
    network = MemoryNetwork(buyers, roles.codec)
    for round_ in range(1, 61):
        for buyer in buyers.values():
            decision = buyer.decide(None)
            network.send(buyer.observe(decision, decision.action // 2))
        for buyer in buyers.values():
            network.send(buyer.end_round(round_) if buyer.next_end == round_ else [])
        network.settle()
    reports = [(m.sender, contents(m).reshape(2, -1)) for _, m in network.transcript.deliveries]
    assert len(reports) == 2 * plan.constants.releases > 0
    for sender, report in reports:
        empty = capacities[names.index(sender)] == 0
        assert (report[:, empty] == 0.0).all()
        assert (report[:, ~empty] != 0.0).all()
