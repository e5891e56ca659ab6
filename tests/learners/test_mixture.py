"""Users in unknown clusters: memberships, splits, merges, spreads."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fedbandits.learners.clustering import fit_mixture, one_cluster
from fedbandits.learners.kernels.evidence import (
    SPREADS,
    Mixture,
    decompose,
    memberships,
    read_evidence,
)
from tests.learners.test_evidence import VARIANCE, log_density, of_records, records

CENTRES = np.array([[0.6, 0.0, 0.3], [-0.5, 0.4, 0.3], [0.0, -0.7, 0.3]])


def users(rng, labels, count, spread=0.0):
    thetas = CENTRES[labels] + np.sqrt(spread) * rng.normal(size=(len(labels), 3))
    data = [records(rng, count, 3, theta) for theta in thetas]
    rows = np.stack([of_records(x, y) for x, y in data])
    return thetas, data, read_evidence(decompose(rows), VARIANCE, 0.0, 0.0)


def fit(evidence, strictness=1.0, most=16):
    return fit_mixture(evidence, one_cluster(3), strictness, most)


def test_memberships_are_those_of_bayes():
    rng = np.random.default_rng(0)
    _, data, evidence = users(rng, [0, 1, 2, 2], 15)
    mixture = Mixture(
        CENTRES, np.array([0.01, 0.2, 0.0]), np.array([0.5, 0.3, 0.2]), np.ones((3, 3, 3))
    )
    member = np.zeros((4, 3))
    memberships(evidence, mixture, member)
    for j, (x, y) in enumerate(data):
        logs = [
            np.log(mixture.share[c]) + log_density(x, y, CENTRES[c], mixture.spread[c])
            for c in range(3)
        ]
        expected = np.exp(logs - np.max(logs))
        np.testing.assert_allclose(member[j], expected / expected.sum(), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_that_lie_apart_are_found(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 60)
    _, _, evidence = users(rng, labels, 200)
    found = fit(evidence)
    assert adjusted_rand_score(labels, found.member.argmax(axis=1)) == 1.0
    assert len(found.mixture.share) == 3
    assert (found.mixture.spread < 0.01).all()


@pytest.mark.parametrize("seed", range(5))
def test_users_that_are_alike_stay_together(seed):
    rng = np.random.default_rng(seed)
    _, _, evidence = users(rng, np.zeros(50, int), 100)
    assert len(fit(evidence).mixture.share) == 1


def test_clusters_are_merged_again_when_they_turn_out_to_be_one():
    rng = np.random.default_rng(3)
    _, _, evidence = users(rng, np.zeros(50, int), 200)
    apart = Mixture(
        CENTRES[0] + np.array([[0.05, 0.0, 0.0], [-0.05, 0.0, 0.0]]), np.full(2, 1e-3),
        np.full(2, 0.5), np.repeat(100.0 * np.eye(3)[None], 2, axis=0),
    )  # fmt: skip
    assert len(fit_mixture(evidence, apart, 1.0, 16).mixture.share) == 1


def test_no_more_clusters_than_allowed():
    rng = np.random.default_rng(4)
    _, _, evidence = users(rng, np.arange(60) % 3, 200)
    assert len(fit(evidence, most=2).mixture.share) == 2
    assert len(fit(evidence, most=1).mixture.share) == 1


def test_where_data_are_few_users_are_not_taken_for_alike():
    """The spread begins wide and narrows as evidence comes."""
    rng = np.random.default_rng(5)
    spreads = [
        fit(users(rng, np.zeros(8, int), count)[2], most=1).mixture.spread[0] for count in (2, 2000)
    ]
    assert spreads[0] >= 0.04
    assert spreads[1] <= 0.001


@pytest.mark.parametrize("spread", [0.003, 0.04])
def test_the_spread_is_hardly_ever_far_below_the_true_one(spread):
    below = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        _, _, evidence = users(rng, np.zeros(12, int), 60, spread)
        below += fit(evidence, most=1).mixture.spread[0] < 0.5 * spread
    assert below <= 2
    assert SPREADS.max() >= 0.04


def test_a_fit_leaves_its_start_as_it_is():
    rng = np.random.default_rng(6)
    _, _, evidence = users(rng, np.arange(30) % 3, 100)
    start = one_cluster(3)
    fit_mixture(evidence, start, 1.0, 16)
    for field, fresh in zip(start, one_cluster(3), strict=True):
        np.testing.assert_array_equal(field, fresh)
