"""Users in unknown clusters: memberships, splits, merges, spreads, and what a user learns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fedbandits.learners.attachment import attach, estimates
from fedbandits.learners.evidence import Evidence, decompose, weigh
from fedbandits.learners.mixture import (
    SPREADS,
    Fitted,
    Mixture,
    fit_mixture,
    memberships,
    one_cluster,
)
from tests.learners.test_evidence import VARIANCE, log_density, of_records, records

CENTRES = np.array([[0.6, 0.0, 0.3], [-0.5, 0.4, 0.3], [0.0, -0.7, 0.3]])


def users(rng, labels, count, spread=0.0):
    thetas = CENTRES[labels] + np.sqrt(spread) * rng.normal(size=(len(labels), 3))
    data = [records(rng, count, 3, theta) for theta in thetas]
    rows = np.stack([of_records(x, y) for x, y in data])
    return thetas, data, weigh(decompose(rows), VARIANCE, 0.0, 0.0)


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


def test_estimates_are_those_of_the_joint_normal_model():
    """One cluster with a known spread: θⱼ = c + e, against dense linear algebra over all users."""
    rng, n, d, spread = np.random.default_rng(7), 6, 3, 0.04
    _, data, evidence = users(rng, np.zeros(n, int), 9, spread)
    precision = np.zeros((1, d, d))
    prior = 8.0
    joint, score = np.kron(np.eye(n), np.eye(d) / spread), np.zeros((n, d))
    for j, (x, y) in enumerate(data):
        joint[j * d : (j + 1) * d, j * d : (j + 1) * d] += x.T @ x / VARIANCE
        score[j] = x.T @ y / VARIANCE
    link = np.kron(np.ones((1, n)), np.eye(d) / spread)
    whole = np.block([[joint, -link.T], [-link, (n / spread + prior) * np.eye(d)]])
    covariance = np.linalg.inv(whole)
    mean = covariance @ np.append(score.ravel(), np.zeros(d))
    precision[0] = np.linalg.inv(covariance[-d:, -d:])
    mixture = Mixture(mean[-d:][None], np.array([spread]), np.ones(1), precision)
    found = estimates(evidence, mixture, np.ones((n, 1)))
    np.testing.assert_allclose(found.mean.ravel(), mean[:-d], atol=1e-9)
    for j in range(n):
        block = covariance[j * d : (j + 1) * d, j * d : (j + 1) * d]
        np.testing.assert_allclose(found.covariance[j], block, atol=1e-9)


def test_estimates_between_two_clusters_have_the_moments_of_the_mixture():
    mixture = Mixture(
        np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2), np.full(2, 0.5),
        np.repeat(1e12 * np.eye(2)[None], 2, axis=0),
    )  # fmt: skip
    nothing = Evidence(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 2)))
    found = estimates(nothing, mixture, np.array([[0.75, 0.25]]))
    np.testing.assert_allclose(found.mean, [[0.5, 0.0]])
    np.testing.assert_allclose(found.covariance, [[[0.75, 0.0], [0.0, 0.0]]], atol=1e-9)


def errors(thetas, evidence, fitted):
    found = estimates(evidence, fitted.mixture, fitted.member)
    off = found.mean - thetas
    worth = np.einsum("ni,nij,nj->n", off, np.linalg.inv(found.covariance), off)
    return float((off**2).sum()), float(worth.mean())


def test_others_help_and_it_is_known_how_much():
    gains, worth = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        thetas, _, evidence = users(rng, np.arange(45) % 3, 80)
        pooled = fit(evidence)
        alone = Fitted(
            Mixture(np.zeros((1, 3)), np.array([10.0]), np.ones(1), 1e9 * np.eye(3)[None]),
            np.ones((45, 1)), 0.0,
        )  # fmt: skip
        error, stated = errors(thetas, evidence, pooled)
        gains.append(error / errors(thetas, evidence, alone)[0])
        worth.append(stated / 3.0)
    assert np.mean(gains) < 0.25
    assert 0.3 < np.mean(worth) < 1.5


class TestAttaching:
    def world(self, seed, labels):
        rng = np.random.default_rng(seed)
        thetas, _, own = users(rng, [0, 0, 1, 1], 40)
        return thetas, own, users(rng, labels, 120)[2], fit(own)

    def test_others_that_fit_sharpen_clusters(self):
        ratio = []
        for seed in range(8):
            thetas, own, others, fitted = self.world(seed, [0] * 20 + [1] * 20)
            joined = attach(own, others, fitted, 1.0)
            ratio.append(errors(thetas, own, joined)[0] / errors(thetas, own, fitted)[0])
        assert np.median(ratio) < 0.5

    def test_strangers_do_not_move_them(self):
        for seed in range(4):
            thetas, own, others, fitted = self.world(seed, [2] * 40)
            joined = attach(own, others, fitted, 1.0)
            assert errors(thetas, own, joined)[0] < 1.1 * errors(thetas, own, fitted)[0] + 1e-3

    def test_others_do_not_make_users_more_alike_than_they_are(self):
        """Others exactly at the centre must not pull one's own users onto it."""
        ratio = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            thetas, _, own = users(rng, np.zeros(8, int), 400, 0.04)
            others = users(rng, np.zeros(200, int), 400)[2]
            fitted = fit(own, most=1)
            joined = attach(own, others, fitted, 1.0)
            ratio.append(errors(thetas, own, joined)[0] / errors(thetas, own, fitted)[0])
        assert np.median(ratio) < 1.3

    def test_without_trust_nothing_changes(self):
        _, own, others, fitted = self.world(0, [0] * 20)
        joined = attach(own, others, fitted, 0.0)
        np.testing.assert_array_equal(joined.mixture.centre, fitted.mixture.centre)
        np.testing.assert_array_equal(joined.mixture.spread, fitted.mixture.spread)

    def test_without_others_nothing_changes(self):
        _, own, _, fitted = self.world(0, [0])
        assert attach(own, Evidence(*(field[:0] for field in own)), fitted, 1.0) is fitted

    def test_what_was_fitted_is_left_as_it_is(self):
        _, own, others, fitted = self.world(1, [0] * 20)
        before = [field.copy() for field in fitted.mixture]
        attach(own, others, fitted, 1.0)
        for field, copy in zip(fitted.mixture, before, strict=True):
            np.testing.assert_array_equal(field, copy)
