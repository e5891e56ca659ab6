"""A silent run that parties play is the plain run: over any network, and after any restart."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Bernoulli
from fedbandits.federation.messages import Message
from fedbandits.random import Key, uniform
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba import silent as blocks
from fedbandits.systems.samba.messages import (
    Answer,
    Ask,
    DealtFirst,
    DealtSecond,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.testing.replicates import plan_of, simulate
from fedbandits.testing.restored import MortalParty
from tests.systems.samba_worlds import ALGORITHMS, customer_key, federated, silent


def plain(algorithm, arms, budget, seed, means="uniform"):
    """The arm of every round, the rewards of all arms, and the total."""
    run = simulate(silent(algorithm, "plain"), Bernoulli(arms=arms, means=means), budget, seed, 0)
    pulled = []
    for stop in range(1, budget + 1):
        before = run.state.owners.pulls.copy()
        run.advance(stop)
        pulled.append(int(np.flatnonzero(run.state.owners.pulls - before)[0]))
    return pulled, run.reward.tolist(), run.cumulative_reward


def found(run, budget):
    """The same of a run that parties play to its end."""
    run.advance(budget)
    assert {party.stage for party in run.parties} == {"done"}
    assert not [party for party in run.parties if any(link.held for link in party.links.values())]
    pulled = [arm for _, arm, _ in sorted(run.stage.pulled)]
    return pulled, run.reward.tolist(), run.one("customer").state.cumulative_reward


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("arms", "arity", "budget", "total"),
    [
        (2, 4, 2, "shares"), (2, 2, 30, "paillier"), (3, 2, 30, "shares"), (3, 4, 30, "paillier"),
        (5, 2, 35, "shares"), (5, 4, 30, "shares"), (7, 2, 30, "paillier"), (7, 3, 30, "shares"),
        (7, 8, 30, "shares"),
    ],
)  # fmt: skip
def test_the_parties_play_the_plain_run(algorithm, arms, arity, budget, total):
    run = federated(silent(algorithm, arity=arity, total=total), arms, budget, seed=arity)
    assert found(run, budget) == plain(algorithm, arms, budget, arity)


@settings(max_examples=12)
@given(
    st.sampled_from(ALGORITHMS), st.integers(2, 6), st.integers(0, 25), st.integers(2, 9),
    st.integers(0, 2**63 - 1), st.sampled_from(["aes-gcm", "stream"]),
    st.sampled_from(["samba", "distributed"]),
)  # fmt: skip
def test_the_parties_play_the_plain_run_at_random(
    algorithm, arms, more, arity, seed, cipher, execution
):
    parts = {"cipher": cipher} if execution == "samba" else {}
    config = silent(algorithm, execution, arity=arity, **parts)
    run = federated(config, arms, arms + more, seed)
    assert found(run, arms + more) == plain(algorithm, arms, arms + more, seed)


@pytest.mark.parametrize("algorithm", ["ucb", "egreedy", "pursuit"])
@pytest.mark.parametrize("cipher", ["aes-gcm", "stream"])
@pytest.mark.parametrize(("total", "arms", "arity"), [("shares", 5, 2), ("paillier", 4, 4)])
def test_the_loop_counts_what_parties_send(algorithm, cipher, total, arms, arity, small_blocks):
    config, budget = silent(algorithm, cipher=cipher, total=total, arity=arity), arms + 20
    compiled = simulate(config, Bernoulli(arms=arms), budget, 3, 0)
    compiled.customer_key = customer_key()
    parties = federated(config, arms, budget, 3)
    for run in (compiled, parties):
        run.advance(budget)
    for count in ("done", "syncs", "messages", "bytes"):
        assert getattr(compiled, count) == getattr(parties, count), count
    assert compiled.cumulative_reward == parties.one("customer").state.cumulative_reward


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few selections, so that a run has many."""
    blocks.make_turn.cache_clear()
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 300)


class Slow:
    """A route on which each message takes a while of its own; those of a kind longer.

    It reorders messages of different pairs, and those of one pair too.
    """

    def __init__(self, seed, kind=(), longer=0):
        self.key, self.kind, self.longer, self.sent = Key(seed, 0), kind, longer, 0

    def __call__(self, message):
        self.sent += 1
        ticks = int(9 * uniform(self.key, 0, self.sent, 0, 0))
        return ticks + self.longer * isinstance(message, self.kind)


@pytest.mark.parametrize("algorithm", ["thompson", "egreedy", "pursuit"])
@pytest.mark.parametrize(
    ("kind", "longer"),
    [((), 0), (DealtFirst, 3000), (DealtSecond, 3000), (ToFirst, 50), (Word, 50), (Ask, 3000)],
)
def test_a_slow_network_changes_nothing(algorithm, kind, longer, small_blocks):
    arms, budget = 5, 40
    for seed in (0, 1):
        run = federated(silent(algorithm), arms, budget, seed, route=Slow(seed, kind, longer))
        assert found(run, budget) == plain(algorithm, arms, budget, seed)
        assert run.network.clock > (9 * longer if kind in (DealtFirst, DealtSecond, Ask) else 50)


@pytest.mark.parametrize("algorithm", ["ucb", "egreedy", "pursuit"])
@pytest.mark.parametrize("total", ["shares", "paillier"])
def test_a_party_that_is_killed_at_any_event_goes_on(algorithm, total, small_blocks):
    arms, budget, events = 3, 30, Counter()
    config, world = silent(algorithm, total=total), Bernoulli(arms=arms)
    plan = plan_of(config, world, budget)
    assert budget > 9 * blocks.block_size(arms, config.arity)
    simulated = SYSTEM.simulated_supplies(plan, None, 2, 0)

    def supplies(role, place):
        brought = simulated(role, place)
        is_payer = hasattr(brought, "private_key")
        return brought._replace(private_key=customer_key()) if is_payer else brought

    run = PartiesReplicate(
        SYSTEM, plan, world, 2, 0, route=Slow(5), supplies=supplies,
        embody=lambda make: MortalParty(make, events),
    )  # fmt: skip
    assert found(run, budget) == plain(algorithm, arms, budget, 2)
    assert {name.partition(".")[0] for name in events} == {
        "SilentOwner", "SilentController", "SilentComp", "Dealer",
        "SharesCustomer" if total == "shares" else "Customer",
    }  # fmt: skip


@pytest.mark.parametrize(("arms", "arity", "messages"), [(2, 4, 8), (5, 4, 16), (5, 8, 8)])
def test_a_turn_takes_as_many_messages_as_stages_say(arms, arity, messages):
    """One message of every owner, one to every owner, and 7 a stage and 1 between the servers."""
    turns, run = 20, federated(silent("ucb", arity=arity), arms, arms + 20)
    run.advance(arms + turns)
    sent = Counter(type(message) for _, message in run.network.transcript.deliveries)
    assert sent[Word] == sent[Answer] == turns * arms
    assert sent[ToSecond] == turns * messages // 2
    assert sent[ToFirst] == turns * messages // 2 + 1  # what is made ahead of the first turn


def test_every_packet_is_as_long_in_steps_that_explore():
    config = silent("egreedy", algorithm="epsilon-greedy(0.5)")
    run = federated(config, 4, 60)
    run.advance(60)
    kinds = (Word, ToSecond, ToFirst, Answer)
    sizes = {}
    for _, message in run.network.transcript.deliveries:
        if isinstance(message, kinds):
            place = type(message), getattr(message, "part", 0), message.step == 60
            sizes.setdefault(place, set()).add(len(message.sealed))
    assert len(sizes) > 9
    assert all(len(found) == 1 for found in sizes.values())


def test_every_sealed_byte_is_counted(small_blocks):
    run = federated(silent("ucb"), 3, 20)
    run.advance(20)
    total = 0
    for _, message in run.network.transcript.deliveries:
        assert isinstance(message, Message)
        total += len(getattr(message, "sealed", b""))
    assert total == run.bytes
