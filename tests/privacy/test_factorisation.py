"""The optimal factorisation of running sums, against other ways to find it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fedbandits.privacy.continual import (
    MOST_RELEASES,
    ContinualPlan,
    calibrated,
    differences,
    encoder,
    packed_decoder,
    sensitivities,
)

decays = st.floats(0.6, 1.0)


def decoder(releases, decay):
    """B, unpacked."""
    found = np.zeros((releases, releases))
    found[np.tril_indices(releases)] = packed_decoder(releases, decay)
    return found


def cost(matrix, decay):
    """Weighted variances of all releases, for any encoder, scaled to columns of norm 1."""
    releases = len(matrix)
    unit = matrix / np.linalg.norm(matrix, axis=0)
    noise = np.tril(np.ones((releases, releases))) @ np.linalg.inv(unit)
    return float(decay ** np.arange(releases) @ (noise**2).sum(axis=1))


@pytest.mark.parametrize(("releases", "decay"), [(2, 1.0), (4, 0.8), (7, 1.0), (7, 0.8)])
def test_a_search_over_all_encoders_finds_nothing_better(releases, decay):
    """L-BFGS over the entries of C knows nothing of the fixed point."""
    below = np.tril_indices(releases)

    def searched(entries):
        matrix = np.zeros((releases, releases))
        matrix[below] = entries
        return cost(matrix, decay)

    start = (np.eye(releases) + 0.3 * np.ones((releases, releases)))[below]
    found = minimize(searched, start, method="L-BFGS-B", options={"maxfun": 10**5})
    assert cost(encoder(releases, decay), decay) == pytest.approx(found.fun, rel=1e-6)


@given(st.integers(1, MOST_RELEASES), decays, st.integers(0, 2**32 - 1))
def test_nothing_near_it_is_better(releases, decay, seed):
    best, rng = encoder(releases, decay), np.random.default_rng(seed)
    for size in (1e-2, 0.3):
        other = best + np.tril(size * rng.normal(size=best.shape) / releases)
        other[np.diag_indices(releases)] = np.abs(np.diag(other)) + 1e-3
        assert cost(best, decay) <= cost(other, decay) * (1 + 1e-6)


@given(st.integers(1, MOST_RELEASES), decays)
def test_it_is_a_factorisation_and_all_columns_have_one_norm(releases, decay):
    matrix, ones = encoder(releases, decay), np.tril(np.ones((releases, releases)))
    np.testing.assert_allclose(decoder(releases, decay) @ matrix, ones, atol=1e-12)
    # Encoding uses differences: they are exact, so that what is proved of C holds.
    np.testing.assert_array_equal(differences(releases, decay) @ ones, matrix)
    assert not np.triu(matrix, 1).any()
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=0), 1.0, rtol=2.0**-38)
    # What a record that comes late may cost rests on columns without negative numbers.
    assert matrix.min() >= 0.0
    assert matrix.max() <= 1.0 + 2.0**-38
    moved = [np.linalg.norm(matrix[:k], axis=0).max() for k in range(1, releases + 1)]
    np.testing.assert_allclose(sensitivities(releases, decay), moved, rtol=1e-14)


@pytest.mark.parametrize("releases", [2, 8, 12, 40])
def test_releases_have_less_noise_than_with_square_root_toeplitz(releases):
    optimal, toeplitz = (calibrated(name, releases, 1.0, 1.0) for name in ("optimal", "toeplitz"))
    variances = [
        np.mean([plan.deviation(k) ** 2 for k in range(1, releases + 1)])
        for plan in (optimal, toeplitz)
    ]
    assert np.sqrt(variances[0] / variances[1]) < (0.97 if releases == 2 else 0.95)


def test_a_smaller_decay_moves_noise_to_later_releases():
    plans = [calibrated("optimal", 12, 1.0, 1.0, decay) for decay in (1.0, 0.8, 0.7)]
    early, late = ([plan.deviation(k) for plan in plans] for k in (2, 12))
    assert early == sorted(early, reverse=True)
    assert late == sorted(late)


@pytest.mark.parametrize(
    ("releases", "decay"),
    [(MOST_RELEASES + 1, 1.0), (3, 0.0), (3, 1.5), (3, float("nan")), (40, 0.3)],
)
def test_what_it_cannot_do_is_refused(releases, decay):
    with pytest.raises(ValueError, match=r"decay|at most 40 releases"):
        ContinualPlan("optimal", releases, 1.0, decay)
