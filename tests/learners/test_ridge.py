from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.learners.kernels import ridge
from tests.strategies import positive_definite


@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_the_packed_statistic_is_the_gram_matrix_and_the_moment(dimension, count, seed):
    rng = np.random.default_rng(seed)
    contexts, rewards = rng.normal(size=(count, dimension)), rng.normal(size=count)
    packed = np.zeros((2, ridge.packed_size(dimension)))
    for context, reward in zip(contexts, rewards, strict=True):
        ridge.add_record(packed, 1, context, reward, 0.0)
    gram, moment = np.empty((dimension, dimension)), np.empty(dimension)
    ridge.unpack(packed[1], gram, moment)
    np.testing.assert_allclose(gram, contexts.T @ contexts, atol=1e-9)
    np.testing.assert_allclose(moment, contexts.T @ rewards, atol=1e-9)
    assert not packed[0].any()


@given(st.data(), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_a_rank_one_update_is_the_inverse_of_the_sum(data, dimension, seed):
    matrix = data.draw(positive_definite(dimension))
    context = np.random.default_rng(seed).normal(size=dimension)
    inverses, gain = np.linalg.inv(matrix)[None].copy(), np.empty(dimension)
    growth = ridge.add_rank_one(inverses, 0, context, gain)
    updated = matrix + np.outer(context, context)
    np.testing.assert_allclose(inverses[0], np.linalg.inv(updated), atol=1e-9)
    np.testing.assert_allclose(gain, np.linalg.solve(updated, context), atol=1e-9)
    logs = [np.linalg.slogdet(m)[1] for m in (updated, matrix)]
    assert growth == pytest.approx(logs[0] - logs[1], abs=1e-9)


def test_many_updates_do_not_drift():
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(100_000, 6)) / 6
    inverses, gain, log_det = np.eye(6)[None].copy(), np.empty(6), 0.0
    for context in contexts:
        log_det += ridge.add_rank_one(inverses, 0, context, gain)
    exact = np.eye(6) + contexts.T @ contexts
    np.testing.assert_allclose(inverses[0], np.linalg.inv(exact), rtol=1e-7, atol=1e-12)
    assert log_det == pytest.approx(np.linalg.slogdet(exact)[1], rel=1e-10)


@given(st.data(), st.integers(1, 8))
def test_spectra_give_inverses_and_determinants(data, dimension):
    matrix = data.draw(positive_definite(dimension))
    values, vectors = np.linalg.eigh(matrix)
    inverse = np.empty_like(matrix)
    ridge.invert_spectrum(values, vectors, inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), atol=1e-9)
    np.testing.assert_array_equal(inverse, inverse.T)
    shifted = np.linalg.slogdet(matrix + 0.5 * np.eye(dimension))[1]
    assert ridge.log_determinant(values, 0.5) == pytest.approx(shifted, abs=1e-9)


@given(st.data(), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_a_symmetric_matrix_is_applied(data, dimension, seed):
    matrix = data.draw(positive_definite(dimension))
    vector, out = np.random.default_rng(seed).normal(size=dimension), np.empty(dimension)
    ridge.apply_symmetric(np.stack([np.zeros_like(matrix), matrix]), 1, vector, out)
    np.testing.assert_allclose(out, matrix @ vector, rtol=1e-12, atol=1e-12)
