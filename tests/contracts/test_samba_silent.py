"""A silent run is its plain run, arm for arm, however it is executed; what it sends is counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.crypto.aead import GcmCipher
from fedbandits.environments import Bernoulli
from fedbandits.systems.samba.ciphers import TotalError, opened_total
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.theory import Counts
from fedbandits.testing.replicates import plan_of, simulate
from tests.contracts.test_samba import means
from tests.systems.samba_worlds import ALGORITHMS, customer_key, federated, variant

#: Ways to execute a silent run.
EXECUTIONS = (
    {"execution": "distributed"}, {"cipher": "stream"}, {"cipher": "aes-gcm"},
)  # fmt: skip


def silent(algorithm, **parts) -> Samba:
    published = variant(algorithm)
    shared = {"algorithm": published.algorithm, "comparison": "silent", "total": "shares"}
    return Samba(**(shared | {"paillier_bits": 2048} | parts))


def played(config, environment, budget, seed=0, replicate=0):
    run = simulate(config, environment, budget, seed, replicate)
    run.customer_key = customer_key()
    return run


def same(run, plain):
    np.testing.assert_array_equal(run.state.owners.pulls, plain.state.owners.pulls)
    np.testing.assert_array_equal(run.reward, plain.reward)
    np.testing.assert_array_equal(run.state.owners.memory, plain.state.owners.memory)
    assert run.cumulative_reward == plain.cumulative_reward == plain.reward.sum()


@settings(max_examples=40)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(
    means, st.integers(2, 6), st.integers(0, 30), st.integers(0, 2**63 - 1), st.integers(0, 9),
    st.integers(2, 16), st.sampled_from(EXECUTIONS),
)  # fmt: skip
def test_random_runs_equal_their_plain_run(
    algorithm, given_means, arms, more, seed, replicate, arity, own
):
    """Nothing that hides the scores changes a draw; parties: ``test_samba_silent_parties``."""
    environment, budget = Bernoulli(means=given_means, arms=arms), arms + more
    runs = [
        played(silent(algorithm, arity=arity, **each), environment, budget, seed, replicate)
        for each in ({"execution": "plain"}, own)
    ]
    for run in runs:
        run.advance(budget)
    same(runs[1], runs[0])


@pytest.mark.parametrize("algorithm", ["ucb", "pursuit"])
@pytest.mark.parametrize("own", EXECUTIONS)
def test_the_customer_gets_the_same_either_way(algorithm, own):
    totals = []
    for total in ("paillier", "shares"):
        run = played(silent(algorithm, total=total, **own), Bernoulli(arms=4), 30, 1)
        run.advance(30)
        totals.append(run.cumulative_reward)
        assert run.cumulative_reward == run.reward.sum() > 0
    assert totals[0] == totals[1]


def test_a_total_that_no_run_can_have_is_refused():
    assert opened_total(2**64 - 3, 10, 7) == 7
    for first in (2**64 - 4, 2**64 - 2):
        with pytest.raises(TotalError, match="no reward of 1 pulls"):
            opened_total(first, 1, 1)


@pytest.mark.parametrize("algorithm", ["thompson", "pursuit", "egreedy"])
@pytest.mark.parametrize("stops", [(3, 7, 8, 40), (23, 24, 25), (39,)])
def test_a_run_goes_on_from_its_state(algorithm, stops):
    """Another object with the state of the first plays what the first would have played."""
    config, environment = silent(algorithm), Bernoulli(arms=7)
    whole = played(config, environment, 40)
    whole.advance(40)
    run = played(config, environment, 40)
    for stop in stops:
        run.advance(stop)
        again = played(config, environment, 40)
        for here, there in zip(arrays(again.state), arrays(run.state), strict=True):
            here[...] = there
        run = again
    run.advance(40)
    same(run, whole)
    assert (run.messages, run.bytes, run.syncs) == (whole.messages, whole.bytes, whole.syncs)


def arrays(state):
    return [*state.clock, *state.owners, state.total]


@pytest.fixture
def counted(monkeypatch):
    """Packets that parties really seal, and their bytes."""
    counts = dict.fromkeys(("sealed", "bytes"), 0)

    def seal(self, positions, payloads, original=GcmCipher.seal):
        sealed = original(self, positions, payloads)
        counts["sealed"] += len(sealed)
        counts["bytes"] += sum(map(len, sealed))
        return sealed

    monkeypatch.setattr(GcmCipher, "seal", seal)
    return counts


@pytest.mark.parametrize("algorithm", ["ucb", "pursuit"])
@pytest.mark.parametrize("total", ["paillier", "shares"])
@pytest.mark.parametrize(("arms", "arity"), [(2, 2), (3, 2), (5, 4), (9, 3)])
def test_what_is_counted_is_what_is_sealed(algorithm, total, arms, arity, counted):
    """The simulation counts, by its plan, the packets that parties seal."""
    config, budget = silent(algorithm, total=total, arity=arity), arms + 20
    run = played(config, Bernoulli(arms=arms), budget, 1)
    run.advance(budget)
    assert counted["sealed"] == 0
    federated(config, arms, budget, 1).advance(budget)
    plan = plan_of(config, Bernoulli(arms=arms), budget)
    counts = Counts(plan)
    assert counted["sealed"] == counts.seals
    sums = (arms + 1) * 512 if total == "paillier" else 0
    assert run.bytes == counted["bytes"] + sums
    assert run.messages == counts.messages(run.syncs, True).all


def test_counts_by_hand():
    """K = 5, arity 4, N = 7: two stages of 3 + 1 and one comparisons, so 14 openings."""
    run = played(silent("ucb", execution="distributed", arity=4), Bernoulli(arms=5), 7)
    run.advance(6)
    # Order, dealing, start and 5 setups; Comp's first; one block for either; 10 words and answers;
    # 16 between the servers.
    assert run.messages == 8 + 1 + 2 + 10 + 16
    openings = 2 * ((64 * 4 + 48 * 4 + 24 * 4 + 12 * 4 + 6 * 4 + 2 * 4 + 4 + 4) // 8)
    small = 2 * (8 + 6 + 3 + 2 + 1 + 1 + 1)
    block = 2 * (2 * 40 + 40 + 20 * 5)
    assert run.bytes == 40 + block + 80 + 40 + openings + small + 120
    run.advance(7)
    assert run.messages == 11 + 2 * 26 + 5 + 2
    assert run.bytes == 40 + block + 2 * (80 + 40 + openings + small + 80) + 40 + 7 * 8
