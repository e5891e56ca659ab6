"""Edge tests, merge tests and components, against brute force and networkx."""

from __future__ import annotations

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import adjusted_rand_score

from fedbandits.learners import clustering
from fedbandits.learners.kernels import clustering as kernels
from fedbandits.learners.kernels.ridge import factorise, invert_statistic
from tests.strategies import positive_definite


@st.composite
def crowds(draw):
    n = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.normal(size=(n, 3)), rng.choice([0.0, 1.0, 7.0, 300.0], size=n), rng


def complete(n):
    return np.ones((n, n), np.uint8) - np.eye(n, dtype=np.uint8)


def different(theta, counts, i, j, alpha):
    bars = sum(math.sqrt((1 + math.log(1 + x)) / (1 + x)) for x in (counts[i], counts[j]))
    return np.linalg.norm(theta[i] - theta[j]) > alpha * bars


def graph(edges):
    return nx.from_numpy_array(edges)


def test_error_bars_shrink_from_1():
    bars = [kernels.error_bar(float(x)) for x in (0, 1, 2, 10, 1e3, 1e6)]
    assert bars[0] == 1.0
    assert bars == sorted(bars, reverse=True)
    assert bars[-1] == pytest.approx(math.sqrt((1 + math.log(1e6 + 1)) / (1e6 + 1)))


@given(crowds(), st.sampled_from([0.2, 0.7, 1.5]))
def test_edges_between_different_users_are_deleted_and_no_others(crowd, alpha):
    theta, counts, _ = crowd
    n, edges = len(theta), complete(len(theta))
    deleted = kernels.delete_edges(theta, counts, alpha, edges)
    for i, j in combinations(range(n), 2):
        seen = counts[i] > 0 and counts[j] > 0
        kept = not (seen and different(theta, counts, i, j, alpha))
        assert edges[i, j] == edges[j, i] == kept
    assert deleted == (complete(n).sum() - edges.sum()) // 2


@given(crowds(), st.sampled_from([0.2, 0.7]), st.integers(0, 8))
def test_one_users_edges_leave_the_others_alone(crowd, alpha, user):
    theta, counts, rng = crowd
    n = len(theta)
    user %= n
    edges = np.triu(rng.integers(0, 2, size=(n, n)), 1).astype(np.uint8)
    edges += edges.T
    all_of_them, before = edges.copy(), edges.copy()
    kernels.delete_edges(theta, counts, alpha, all_of_them)
    kernels.delete_edges_of(user, theta, counts, alpha, edges)
    np.testing.assert_array_equal(edges[user], all_of_them[user])
    rest = np.arange(n) != user
    np.testing.assert_array_equal(edges[np.ix_(rest, rest)], before[np.ix_(rest, rest)])


@given(crowds(), st.sampled_from([0.3, 1.0, 2.0]))
def test_clusters_of_different_servers_merge_where_they_are_the_same(crowd, alpha):
    theta, counts, rng = crowd
    n = len(theta)
    where, edges = rng.integers(0, 3, size=n), np.full((n, n), 7, np.uint8)
    kernels.connect_same(theta, counts, where, alpha, edges)
    for i, j in combinations(range(n), 2):
        bars = kernels.error_bar(counts[i]) + kernels.error_bar(counts[j])
        same = np.linalg.norm(theta[i] - theta[j]) < alpha * bars
        assert edges[i, j] == edges[j, i] == (same and where[i] != where[j])
    assert not np.diag(edges).any()


graphs = st.integers(0, 12).flatmap(
    lambda n: hnp.arrays(np.uint8, (n, n), elements=st.integers(0, 9))
)


@given(graphs, st.integers(0, 9))
def test_components_are_those_of_networkx(raw, threshold):
    edges = np.triu(raw > threshold, 1).astype(np.uint8)
    edges += edges.T
    labels = clustering.components(edges)
    seen, found = np.zeros(len(edges), np.uint8), np.zeros(len(edges), np.int64)
    for part in nx.connected_components(graph(edges)):
        for node in part:
            assert labels[node] == min(part)
            assert set(found[: kernels.reach(node, edges, found, seen)]) == part
            assert set(np.flatnonzero(seen)) == part
            assert found[0] == node
    assert labels.dtype == np.int64


def test_the_adjusted_rand_index_knows_right_from_guessed():
    truth = np.repeat(np.arange(5), 8)
    assert clustering.adjusted_rand_index((truth + 3) % 5 * 7, truth) == 1.0
    assert clustering.adjusted_rand_index(np.zeros(40, int), truth) == 0.0
    guessed = np.random.default_rng(0).integers(0, 5, size=40)
    assert abs(clustering.adjusted_rand_index(guessed, truth)) < 0.1


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40))
def test_the_adjusted_rand_index_is_scikit_learns_to_the_last_bit(labels):
    found, truth = np.array(labels).T
    assert clustering.adjusted_rand_index(found, truth) == adjusted_rand_score(truth, found)


@given(st.integers(1, 8).flatmap(positive_definite), st.floats(0.0, 5.0), st.integers(0, 2**31))
def test_packed_statistics_are_inverted(matrix, shift, seed):
    d = len(matrix)
    moment = np.random.default_rng(seed).normal(size=d)
    packed = np.concatenate([matrix[np.triu_indices(d)], moment, [99.0]])
    factor, inverse, theta = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    log_det = invert_statistic(packed, shift, factor, inverse, theta)
    whole = matrix + shift * np.eye(d)
    assert log_det == pytest.approx(np.linalg.slogdet(whole)[1], abs=1e-9)
    assert factorise(packed, shift, factor) == log_det
    upper = np.triu(factor)  # D Lᵀ, and the whole is L D Lᵀ
    np.testing.assert_allclose((upper.T / np.diag(upper)) @ upper, whole, atol=1e-9)
    np.testing.assert_allclose(inverse @ whole, np.eye(d), atol=1e-7)
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(theta, np.linalg.solve(whole, moment), atol=1e-7)


def test_what_is_not_positive_definite_has_no_inverse():
    packed, factor = np.array([1.0, 2.0, 1.0, 0.0, 0.0]), np.zeros((2, 2))
    assert math.isnan(factorise(packed, 0.0, factor))
    assert math.isnan(factorise(np.array([np.nan, 0, 1.0, 0, 0]), 0.0, factor))
    assert not math.isnan(factorise(packed, 1.5, factor))
