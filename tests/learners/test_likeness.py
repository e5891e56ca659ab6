"""What users learn from one another: as much as their records say that they are alike."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fedbandits.learners.clustering import Fitted, attach, fit_mixture, one_cluster
from fedbandits.learners.kernels.evidence import Evidence, Mixture, decompose, read_evidence
from fedbandits.learners.kernels.likeness import CORRELATIONS, OtherUsers, averaged
from tests.learners.test_evidence import VARIANCE, of_records, records

D, PRIOR = 3, 0.3
CENTRES = np.array([[0.6, 0.0, 0.3], [-0.5, 0.4, 0.3], [0.0, -0.7, 0.3]])


def say(data):
    return read_evidence(
        decompose(np.stack([of_records(x, y) for x, y in data])), VARIANCE, 0.0, 0.0
    )


def users(rng, labels, count, spread=0.0):
    thetas = CENTRES[labels] + np.sqrt(spread) * rng.normal(size=(len(labels), D))
    data = [records(rng, count, D, theta) for theta in thetas]
    return thetas, data, say(data)


def nobody(clusters):
    evidence = Evidence(np.zeros((0, D, D)), np.zeros((0, D)), np.zeros((0, D)))
    return OtherUsers(evidence, np.zeros((0, clusters)), -math.inf)


def together(data, correlation):
    """All users' records as one normal model, densely: log-likelihood, means, covariances."""
    n = len(data)
    prior = PRIOR * np.kron(
        (1.0 - correlation) * np.eye(n) + correlation * np.ones((n, n)), np.eye(D)
    )
    precision, score = np.linalg.inv(prior), np.zeros(n * D)
    for j, (x, y) in enumerate(data):
        own = slice(j * D, (j + 1) * D)
        precision[own, own] += x.T @ x / VARIANCE
        score[own] = x.T @ y / VARIANCE
    covariance = np.linalg.inv(precision)
    mean = covariance @ score
    log = 0.5 * score @ mean - 0.5 * np.linalg.slogdet(prior @ precision)[1]
    return log, mean.reshape(n, D), covariance


def by_hand(data, labels, member, own_weights=None):
    """The averages of the module's model, from joint models of whole clusters."""
    n = len(data)
    log_alpha = math.lgamma(n) / max(n - 1, 1)
    if max(labels) > 0:
        log_alpha = max(log_alpha, math.log(12.0))
    means, covariances = np.zeros((n, D)), np.zeros((n, D, D))
    for j in range(n):
        alone, mean, covariance = together([data[j]], 0.0)
        found = [(0.0, mean[0], covariance)]
        for c in range(member.shape[1]):
            rest = [data[i] for i in range(n) if labels[i] == c and i != j]
            if not rest or (labels[j] != c and member[j, c] < 1e-4):
                continue
            apart = sum(together([one], 0.0)[0] for one in rest)
            price = math.lgamma(len(rest)) - (len(rest) - 1) * log_alpha
            price -= math.log(len(CORRELATIONS))
            logs = [together(rest, r)[0] - apart + price for r in CORRELATIONS]
            # The likelihood of a rest of one is the same under every hypothesis.
            total = np.logaddexp.reduce([*logs, *([0.0] if len(rest) > 1 else [])])
            for log, r in zip(logs, CORRELATIONS, strict=True):
                both, mean, covariance = together([*rest, data[j]], r)
                gained = both - together(rest, r)[0] - alone
                weight = log - total + gained + math.log(len(rest)) - log_alpha
                found.append((weight, mean[-1], covariance[-D:, -D:]))
        weights = np.exp(np.array([w for w, _, _ in found]))
        weights /= weights.sum()
        means[j] = sum(w * m for w, (_, m, _) in zip(weights, found, strict=True))
        covariances[j] = sum(
            w * (c + np.outer(m - means[j], m - means[j]))
            for w, (_, m, c) in zip(weights, found, strict=True)
        )
    return means, covariances


@pytest.mark.parametrize("labels", [(0, 0, 0), (0, 0, 1), (0, 1, 2), (0, 1, 0, 1, 1)])
def test_estimates_are_those_of_bayes_over_joint_normal_models(labels):
    rng = np.random.default_rng(len(labels))
    _, data, evidence = users(rng, np.array(labels) // 2, 6)
    member = rng.dirichlet(np.ones(max(labels) + 1), len(labels)) * 0.2
    member[np.arange(len(labels)), labels] += 0.8
    found = averaged(evidence, member, nobody(member.shape[1]), PRIOR)
    means, covariances = by_hand(data, labels, member)
    np.testing.assert_allclose(found.mean, means, atol=1e-8)
    np.testing.assert_allclose(found.covariance, covariances, atol=1e-8)


def test_others_who_surely_belong_are_users_of_the_cluster():
    """With a correlation that the data settle, others are as good as users of one's own."""
    rng = np.random.default_rng(8)
    _, data, _ = users(rng, np.zeros(6, int), 400)
    own, theirs = say(data[:3]), say(data[3:])
    one = np.ones((3, 1))
    with_them = averaged(own, one, OtherUsers(theirs, one, 50.0), PRIOR)
    pooled = averaged(say(data), np.ones((6, 1)), nobody(1), PRIOR)
    np.testing.assert_allclose(with_them.mean, pooled.mean[:3], atol=2e-3)
    without = averaged(own, one, nobody(1), PRIOR)
    assert (np.trace(with_them.covariance.T) < 0.8 * np.trace(without.covariance.T)).all()


def test_a_user_who_is_alone_on_its_server_learns_from_others():
    rng = np.random.default_rng(12)
    gains = []
    for _ in range(8):
        thetas, _, own = users(rng, np.zeros(1, int), 40)
        _, _, others = users(rng, np.zeros(10, int), 200)
        found = averaged(own, np.ones((1, 1)), OtherUsers(others, np.ones((10, 1)), 0.0), PRIOR)
        alone = averaged(own, np.ones((1, 1)), nobody(1), PRIOR)
        gains.append(((found.mean - thetas) ** 2).sum() / ((alone.mean - thetas) ** 2).sum())
        assert found.alone[0] < 1.0
    assert np.median(gains) < 0.5


def test_a_user_without_company_has_its_own_posterior():
    rng = np.random.default_rng(9)
    _, data, evidence = users(rng, np.zeros(1, int), 5)
    found = averaged(evidence, np.ones((1, 1)), nobody(1), PRIOR)
    _, mean, covariance = together(data, 0.0)
    np.testing.assert_allclose(found.mean, mean, atol=1e-9)
    np.testing.assert_allclose(found.covariance[0], covariance, atol=1e-9)
    assert found.alone[0] == 1.0


def fit(evidence, most=16):
    return fit_mixture(evidence, one_cluster(D), 0.75, most)


def learned(own, others, fitted, trust=1.0):
    return averaged(own, fitted.member, attach(others, fitted, trust), PRIOR)


def errors(thetas, found):
    off = found.mean - thetas
    worth = np.einsum("ni,nij,nj->n", off, np.linalg.inv(found.covariance), off)
    return float((off**2).sum()), float(worth.mean()) / D


NOBODY = nobody(1).evidence


def test_users_who_are_alike_learn_from_one_another_and_know_how_much():
    gains, worth = [], []
    for seed in range(8):
        thetas, _, evidence = users(np.random.default_rng(seed), np.arange(30) % 3, 80)
        found = learned(evidence, NOBODY, fit(evidence))
        alone = averaged(evidence, np.eye(30), nobody(30), PRIOR)
        error, stated = errors(thetas, found)
        gains.append(error / errors(thetas, alone)[0])
        worth.append(stated)
    assert np.mean(gains) < 0.35
    assert 0.3 < np.mean(worth) < 1.6


@pytest.mark.parametrize("count", [5, 20, 80])
def test_users_who_are_not_alike_lose_little(count):
    """Whatever clusters say: here all are said to be in one."""
    ratio = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        thetas = np.sqrt(PRIOR) * rng.normal(size=(8, D))
        evidence = say([records(rng, count, D, theta) for theta in thetas])
        found = learned(evidence, NOBODY, fit(evidence, most=1))
        alone = averaged(evidence, np.eye(8), nobody(8), PRIOR)
        ratio.append(errors(thetas, found)[0] / errors(thetas, alone)[0])
    assert np.mean(ratio) < 1.1


class TestOthers:
    def world(self, seed, labels):
        rng = np.random.default_rng(seed)
        thetas, _, own = users(rng, [0, 0, 1, 1], 40)
        return thetas, own, users(rng, labels, 120)[2], fit(own)

    def ratio(self, seed, labels):
        thetas, own, others, fitted = self.world(seed, labels)
        with_them = learned(own, others, fitted)
        return errors(thetas, with_them)[0] / errors(thetas, learned(own, NOBODY, fitted))[0]

    def test_others_that_fit_sharpen_clusters(self):
        assert np.median([self.ratio(seed, [0] * 20 + [1] * 20) for seed in range(8)]) < 0.7

    def test_strangers_do_not_move_them(self):
        assert max(self.ratio(seed, [2] * 40) for seed in range(4)) < 1.1

    def test_others_do_not_make_users_more_alike_than_they_are(self):
        """Others exactly at the centre must not pull one's own users onto it."""
        ratio = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            thetas, _, own = users(rng, np.zeros(8, int), 400, 0.04)
            others = users(rng, np.zeros(200, int), 400)[2]
            fitted = fit(own, most=1)
            error = errors(thetas, learned(own, others, fitted))[0]
            ratio.append(error / errors(thetas, learned(own, NOBODY, fitted))[0])
        assert np.median(ratio) < 1.2

    def test_without_trust_or_others_nothing_changes(self):
        _, own, others, fitted = self.world(0, [0] * 20)
        ignored = learned(own, others, fitted, 0.0)
        for field, alone in zip(ignored, learned(own, NOBODY, fitted), strict=True):
            np.testing.assert_array_equal(field, alone)

    def test_what_was_fitted_is_left_as_it_is(self):
        _, own, others, fitted = self.world(1, [0] * 20)
        before = [field.copy() for field in (*fitted.mixture, fitted.member)]
        learned(own, others, fitted)
        for field, copy in zip((*fitted.mixture, fitted.member), before, strict=True):
            np.testing.assert_array_equal(field, copy)


def test_the_weight_of_being_alone_falls_as_evidence_comes():
    weights = []
    for count in (2, 20, 200):
        _, _, evidence = users(np.random.default_rng(10), np.zeros(8, int), count)
        weights.append(averaged(evidence, np.ones((8, 1)), nobody(1), PRIOR).alone.mean())
    assert all(b < a for a, b in itertools.pairwise(weights))
    assert weights[-1] < 0.01


def test_members_are_weighed_where_they_are_likeliest():
    """A fitted mixture is only a proposal: of probabilities no more than the order counts."""
    rng = np.random.default_rng(11)
    _, _, evidence = users(rng, np.arange(6) % 2, 30)
    sure = np.eye(2)[np.arange(6) % 2] * 0.8 + 0.1
    less = np.eye(2)[np.arange(6) % 2] * 0.2 + 0.4
    mixture = Mixture(CENTRES[:2], np.ones(2), np.full(2, 0.5), np.tile(np.eye(D), (2, 1, 1)))
    one, other = (learned(evidence, NOBODY, Fitted(mixture, m, 0.0)) for m in (sure, less))
    np.testing.assert_array_equal(one.mean, other.mean)
