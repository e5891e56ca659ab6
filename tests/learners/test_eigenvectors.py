"""Eigenvectors of many matrices at once, against LAPACK, and evidence side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits._compile import LANES
from fedbandits.learners.kernels.eigenvectors import eigenvectors
from fedbandits.learners.kernels.evidence import (
    Evidence,
    across,
    log_evidence,
    log_evidence_of_all,
    look_from,
)


def decomposed(matrices):
    n, d = matrices.shape[:2]
    basis, values = np.empty((n, d, d)), np.empty((n, d))
    eigenvectors(matrices, basis, values)
    return basis, values


def matrices_of(d, n, seed):
    """Of every rank and scale; the first are 0, the identity, of one direction, and negative."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n, d, d)) * (np.arange(d) < rng.integers(1, d + 1, (n, 1, 1)))
    matrices = roots @ roots.transpose(0, 2, 1) * 10.0 ** rng.uniform(-6, 6, (n, 1, 1))
    special = [np.zeros((d, d)), np.eye(d), np.ones((d, d)), -np.diag(np.arange(d) + 1.0)]
    matrices[:4] = special
    return matrices


@given(st.integers(1, 20), st.integers(4, 3 * LANES), st.integers(0, 99))
def test_eigenvectors_are_those_of_lapack(d, n, seed):
    matrices = matrices_of(d, n, seed)
    basis, values = decomposed(matrices)
    size = np.abs(matrices).max(axis=(1, 2)) + 1e-300
    again = np.einsum("nia,ni,nib->nab", basis, values, basis)
    assert (np.abs(again - matrices).max(axis=(1, 2)) / size).max() < 1e-13
    assert np.abs(basis @ basis.transpose(0, 2, 1) - np.eye(d)).max() < 1e-13
    known = np.linalg.eigvalsh(matrices)
    assert (np.abs(np.sort(values) - known).max(axis=1) / size).max() < 1e-13


def test_only_the_lower_triangle_counts():
    matrices = matrices_of(5, 9, 1)
    for one, other in zip(decomposed(matrices), decomposed(np.tril(matrices)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("d", [2, 10])
def test_what_becomes_of_a_matrix_does_not_depend_on_its_neighbours(d):
    """Parties decompose what one server told, or several: the bits must be the same."""
    matrices = matrices_of(d, 2 * LANES + 3, 2)
    basis, values = decomposed(matrices)
    for j in range(len(matrices)):
        alone = decomposed(matrices[j : j + 1])
        np.testing.assert_array_equal(alone[0][0], basis[j])
        np.testing.assert_array_equal(alone[1][0], values[j])


@pytest.mark.parametrize("d", [1, 10, 17, 40])
def test_evidence_side_by_side_is_that_of_each_alone(d):
    rng, n = np.random.default_rng(d), LANES + 5
    basis = np.linalg.qr(rng.normal(size=(n, d, d)))[0]
    precision = 10.0 ** rng.uniform(-3, 9, (n, d))
    evidence = Evidence(basis, precision, precision * rng.normal(size=(n, d)))
    centre, table = rng.normal(size=d), across(evidence)
    look_from(evidence, centre, table)
    for variance in (1e-5, 0.1):
        log_evidence_of_all(table, variance)
        for j in range(n):
            known = log_evidence(precision[j], evidence.score[j], basis[j] @ centre, variance)
            assert table.likely[j] == pytest.approx(known, rel=1e-11)
