"""What a noisy sum tells is as good as it says, whatever the spectrum of its Gram matrix."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.learners.kernels.released_sum import (
    Reading,
    find_directions,
    guess_spectrum,
    learn_from_sum,
    read_sum,
)
from tests.systems.deviations_reference import guessed_spectrum

VARIANCE, BOUND = 0.25, 1.0
SPECTRA = ("isotropic", "one large", "power law")
seeds = st.integers(0, 2**32 - 1)
scales = st.floats(-4.0, 4.0).map(lambda power: 10.0**power)


def spectrum(kind, d):
    """Mean squares of contexts along directions, the largest first; their sum is 0.55."""
    shares = {
        "isotropic": np.ones(d),
        "one large": np.where(np.arange(d) == 0, 9.0, 1.0 / d),
        "power law": (1.0 + np.arange(d)) ** -1.5,
    }[kind]
    return 0.55 * shares / shares.sum()


class Sum:
    """A sum of n records whose directions are drawn, with noise; θ has a length of 0.9."""

    def __init__(self, rng, kind, d, n, deviation, large=False):
        basis, squares = np.linalg.qr(rng.normal(size=(d, d)))[0], n * spectrum(kind, d)
        self.gram = (basis * squares) @ basis.T
        theta = basis[:, 0].copy() if large else rng.normal(size=d)
        self.theta = 0.9 * theta / np.linalg.norm(theta)
        noise = deviation / math.sqrt(2.0) * rng.normal(size=(d, d))
        rewards = basis @ (np.sqrt(VARIANCE * squares) * rng.normal(size=d))
        gram = self.gram + (noise + noise.T) / math.sqrt(2.0)
        moment = self.gram @ self.theta + rewards + deviation * rng.normal(size=d)
        self.statistic = np.concatenate([gram[np.triu_indices(d)], moment])
        self.reading = Reading(deviation**2 / 2.0, deviation**2, VARIANCE, BOUND)

    def read(self):
        d = len(self.theta)
        values, rows, g, z = np.empty((1, d)), np.empty((1, d, d)), np.empty(d), np.empty(d)
        find_directions(self.statistic[None], values, rows)
        read_sum(self.statistic, self.reading, values[0], rows[0], g, z)
        return rows[0], g, z

    def error(self):
        """Mean square of what rewards are predicted wrong by, with the ridge that fits θ."""
        rows, g, z = self.read()
        ridge = VARIANCE * len(g) / 0.9**2
        missed = rows.T @ (z / (ridge + g)) - self.theta
        return missed @ self.gram @ missed / np.trace(self.gram)


def guess(values, noise):
    found = np.empty(len(values)), np.empty(len(values))
    guess_spectrum(np.asarray(values, float), noise, *found)
    return found


@st.composite
def spectra(draw):
    rng = np.random.default_rng(draw(seeds))
    d = draw(st.integers(1, 31))
    values = rng.normal(size=d) * 10.0 ** rng.uniform(-2, 4, d) + draw(st.sampled_from([0.0, 99.0]))
    return np.sort(values), draw(scales)


@pytest.mark.parametrize("kind", SPECTRA)
@pytest.mark.parametrize("d", [3, 6, 11, 31])
def test_stated_precision_covers_the_error(d, kind):
    """Along each direction, in nine sums of ten at least, by two stated deviations."""
    rng = np.random.default_rng(d)
    for n in (300, 1000, 3000, 10_000, 30_000):
        within = []
        for _ in range(120):
            one = Sum(rng, kind, d, n, 14.0)
            rows, g, z = one.read()
            within.append(abs(z - g * (rows @ one.theta)) <= 2.0 * np.sqrt(VARIANCE * g) + 1e-12)
        shares = np.mean(within, axis=0)
        assert shares.min() > 0.9 - 2.0 * math.sqrt(0.09 / 120)
        assert shares.mean() > 0.9


@pytest.mark.parametrize(("n", "most"), [(1000, 1.12), (3000, 1.04), (10_000, 1.01)])
def test_a_large_eigenvalue_beside_many_small_ones_is_read_as_it_is(n, most):
    """As with a constant column, along which θ lies: its estimate is no multiple of the truth."""
    rng, ratios, within = np.random.default_rng(5), [], []
    for _ in range(60):
        one = Sum(rng, "one large", 31, n, 14.0, large=True)
        rows, g, z = one.read()
        true = rows[-1] @ one.theta
        ratios.append(z[-1] / g[-1] / true)
        within.append(abs(z[-1] / g[-1] - true) <= 2.0 * math.sqrt(VARIANCE / g[-1]))
    assert 1.0 / most < np.median(ratios) < most
    assert n < 3000 or np.mean(within) > 0.85


@pytest.mark.parametrize("kind", SPECTRA)
@pytest.mark.parametrize("d", [3, 11, 31])
def test_less_noise_never_hurts(d, kind):
    errors = []
    for deviation in (100.0, 30.0, 10.0, 3.0, 1.0):
        rng = np.random.default_rng(11)
        drawn = [Sum(rng, kind, d, 2000, deviation).error() for _ in range(100)]
        errors.append((np.mean(drawn), np.std(drawn) / 10.0))
    for (more, _), (less, spread) in itertools.pairwise(errors):
        assert less < more + 2.0 * spread
    assert errors[-1][0] < 0.25 * errors[0][0]


@given(spectra())
def test_a_guess_has_the_trace_of_the_sum_and_is_that_of_numpy(drawn):
    values, noise = drawn
    found, missed = guess(values, noise)
    size = abs(values).max()
    assert found.min() >= 0.0
    assert missed.min() >= 0.0
    assert np.diff(found, prepend=0.0).min() >= -1e-9 * size
    assert found.sum() == pytest.approx(max(values.sum(), 0.0), rel=1e-9, abs=1e-9 * size)
    expected = guessed_spectrum(values, noise)
    np.testing.assert_allclose(found, expected[0], rtol=1e-6, atol=1e-6 * size)


@given(spectra(), scales)
def test_a_guess_is_in_the_unit_of_records(drawn, unit):
    values, noise = drawn
    one, other = guess(values, noise), guess(unit * values, unit**2 * noise)
    for power, (here, there) in enumerate(zip(one, other, strict=True), 1):
        size = abs(here).max() + 1e-300
        np.testing.assert_allclose(there / unit**power, here, rtol=1e-5, atol=1e-5 * size)


@given(seeds, st.integers(2, 9))
def test_turning_a_sum_turns_what_it_tells(seed, d):
    rng = np.random.default_rng(seed)
    one, turn = Sum(rng, "power law", d, 500, 9.0), np.linalg.qr(rng.normal(size=(d, d)))[0]
    gram = np.zeros((d, d))
    gram[np.triu_indices(d)] = one.statistic[:-d]
    gram = np.triu(gram) + np.triu(gram, 1).T
    turned = (turn @ gram @ turn.T)[np.triu_indices(d)]
    told = np.empty((d, d)), np.empty(d)
    found = np.empty((d, d)), np.empty(d)
    learn_from_sum(one.statistic, one.reading, *told)
    learn_from_sum(
        np.concatenate([turned, turn @ one.statistic[-d:]]), one.reading, *found
    )  # fmt: skip
    size = abs(told[0]).max() + abs(told[1]).max()
    np.testing.assert_allclose(found[0], turn @ told[0] @ turn.T, atol=1e-6 * size)
    np.testing.assert_allclose(found[1], turn @ told[1], atol=1e-6 * size)


@given(seeds, st.integers(1, 31))
def test_without_noise_the_eigenvalues_are_the_guess(seed, d):
    values = np.sort(np.random.default_rng(seed).uniform(1.0, 100.0, d))
    found, missed = guess(values, 1e-14)
    np.testing.assert_allclose(found, values, rtol=1e-6)
    assert missed.max() < 1e-12


@pytest.mark.parametrize(
    "values",
    [[0.0, 0.0], [-3.0, -2.0], [-1e300, 1e300], [1e160, 1e200], [1e308, 1e308], [1e-200, 1e-190]],
)
@pytest.mark.parametrize("noise", [1e-300, 1.0, 1e300])
def test_no_spectrum_makes_a_guess_that_is_not_a_number(values, noise):
    assert all(np.isfinite(numbers).all() for numbers in guess(values, noise))
