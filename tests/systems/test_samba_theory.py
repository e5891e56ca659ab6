"""Theorem 4 by hand and in runs: exact counts of operations and of messages."""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.crypto.aead import GcmCipher
from fedbandits.crypto.paillier import PrivateKey, PublicKey
from fedbandits.environments import Bernoulli
from fedbandits.experiments.plots.bounds import compare
from fedbandits.settings.experiment import Experiment
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.theory import Costs, Operations, messages, operations
from fedbandits.testing.replicates import plan_of, simulate
from tests.systems.samba_worlds import ALGORITHMS, customer_key, variant


def test_operations_by_hand():
    """K = 3, N = 5: two pulls are decided on; Pursuit compares twice for each."""
    # An iteration: 3 scores and 3 bits are sealed, and opened. Two pulls: 12. Pursuit: 24.
    assert operations(5, 3) == Operations(12, 12, 3, 1)
    assert operations(5, 3, 2) == Operations(24, 24, 3, 1)
    # One of two pulls explores, and no scores are sealed: 12 - 3.
    assert operations(5, 3, silent=1) == Operations(9, 9, 3, 1)
    # Nothing is decided on.
    assert operations(3, 3) == Operations(0, 0, 3, 1)


def test_operations_at_the_papers_scale():
    """N = 10⁵, K = 100: 99,900 pulls of 200 encryptions each."""
    assert operations(100_000, 100) == Operations(19_980_000, 19_980_000, 100, 1)


def test_messages_by_hand():
    """K = 3, N = 5: set up 1 + 1 + 3; each decision 3 + 1 + 1 + 3; at the end 3 + 1."""
    plan = plan_of(variant("ucb"), Bernoulli(arms=3), 5)
    np.testing.assert_array_equal(messages(plan, np.arange(6.0)), [0, 0, 0, 5, 13, 25])
    twice = plan_of(variant("pursuit"), Bernoulli(arms=3), 5)
    np.testing.assert_array_equal(messages(twice, np.array([4.0, 5.0])), [21, 41])
    large = plan_of(variant("ucb"), Bernoulli(arms=100), 100_000)
    assert messages(large, np.array([1e5]))[0] == 20_180_003  # docs/samba.md


def test_counts_are_linear():
    """Second differences vanish over N; over K, (N - K) K bends them by -2 a unit of 2 or 4."""
    over_n = np.array([operations(n, 10) for n in (1000, 2000, 3000)])
    assert not np.diff(over_n, 2, axis=0).any()
    over_k = np.array([operations(10**9, k) for k in (10, 20, 30)], dtype=float)
    bend = np.abs(np.diff(over_k, 2, axis=0)) / np.diff(over_k[:2], axis=0).clip(min=1)
    assert bend.max() < 1e-6


def test_seconds_are_operations_times_costs():
    assert Operations(10, 20, 3, 1).seconds(Costs(0.1, 0.2, 1.0, 5.0)) == pytest.approx(13.0)


@pytest.fixture
def counted(monkeypatch):
    """Every operation that really happens."""
    counts = dict.fromkeys(Operations._fields, 0)

    def count(owner, method, name, of):
        original = getattr(owner, method)

        def counting(self, *arguments):
            counts[name] += of(*arguments)
            return original(self, *arguments)

        monkeypatch.setattr(owner, method, counting)

    count(GcmCipher, "seal", "aes_encryptions", lambda positions, payloads: len(payloads))
    count(GcmCipher, "open", "aes_decryptions", lambda positions, sealed: len(sealed))
    count(PublicKey, "encrypt", "paillier_encryptions", lambda message: 1)
    count(PrivateKey, "decrypt", "paillier_decryptions", lambda message: 1)
    return counts


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("shortcut", ["empty", "none", "published"])
def test_a_run_takes_these_operations_and_no_others(algorithm, shortcut, counted):
    run = simulate(variant(algorithm, exploration_shortcut=shortcut), Bernoulli(arms=4), 60, 1, 0)
    run.customer_key = customer_key()
    counted.update(dict.fromkeys(counted, 0))
    run.advance(60)
    explored = int(run.state.clock.explored[0])
    assert (explored > 0) == ("egreedy" in algorithm)
    silent = 0 if shortcut == "none" else explored
    assert Operations(**counted) == operations(60, 4, 2 if algorithm == "pursuit" else 1, silent)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_bound_is_what_a_run_sends(algorithm):
    presets = [f"{kind}-{algorithm}" for kind in ("samba", "distributed", "plain")]
    systems = [
        fb.system(p, paillier_bits=2048, cipher="stream") if p.startswith("samba") else fb.system(p)
        for p in presets
    ]
    world = Bernoulli(arms=5)
    experiment = Experiment(
        rounds=50, environment=world, systems=tuple(systems), replicates=1, checkpoints=50
    )
    result = fb.run(experiment, jobs=1)
    plans = {entry.label: entry.plan(world, 50) for entry in systems}
    bounds = {label: SYSTEM.bounds(plan, world) for label, plan in plans.items()}
    assert bounds[presets[2]] == ()
    found = compare(result, bounds)
    assert [c.label for c in found] == presets[:2]
    rounds = result["round"].values.astype(float)
    for comparison in found:
        assert comparison.verdict == "holds"
        measured = result.messages.sel(system=comparison.label).isel(replicate=0).values
        np.testing.assert_array_equal(measured, comparison.bound.at(rounds))


def test_fewer_messages_where_the_controller_draws_scores():
    config = variant("egreedy", exploration_shortcut="published", cipher="stream")
    plan = plan_of(config, Bernoulli(arms=5), 200)
    run = simulate(config, Bernoulli(arms=5), 200, 0, 0)
    run.advance(200)
    (bound,) = SYSTEM.bounds(plan, Bernoulli(arms=5))
    explored = int(run.state.clock.explored[0])
    assert explored > 5
    assert bound.at(np.array([200.0]))[0] - run.messages == 5 * explored
    assert "K fewer in a step that explores" in bound.statement
