"""A number without its planned noise is named; sound noise raises an alarm as rarely as stated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2

from fedbandits.privacy.continual import calibrated
from fedbandits.privacy.likelihood import covariance_of, decoder, stated_deviations
from fedbandits.privacy.noise_check import NoisyNumbers, check_noise, runs_needed
from fedbandits.systems.noisy_releases import StatedNoise

NUMBERS = 1000


def numbers(factors, seed=0, planned=None):
    """Noise of so many planned deviations; different runs have different draws."""
    factors = np.asarray(factors, dtype=np.float64)

    def noise(first, count):
        rng = np.random.default_rng([seed, first])
        return factors * rng.normal(size=(count, len(factors)))

    return NoisyNumbers("numbers", len(factors), planned or len(factors), noise, "number {}".format)


def all_right_but(place, factor):
    factors = np.ones(NUMBERS)
    factors[place] = factor
    return factors


@pytest.mark.parametrize("seed", range(5))
def test_sound_noise_is_found_right(seed):
    finding = check_noise(numbers(np.ones(NUMBERS), seed))
    assert finding.right
    assert (finding.missing, finding.excessive, finding.named) == (0, 0, ())
    assert finding.numbers == NUMBERS


@pytest.mark.parametrize("place", [0, 371, NUMBERS - 1])
@pytest.mark.parametrize("factor", [0.0, 1e-6, 0.5, 2**-0.5])
def test_a_single_number_with_too_little_noise_is_named(place, factor):
    finding = check_noise(numbers(all_right_but(place, factor)))
    assert (finding.missing, finding.excessive) == (1, 0)
    assert finding.named[0].startswith(f"number {place}: ")
    assert not finding.right


@pytest.mark.parametrize("factor", [2**0.5, 2.0, 1e9])
def test_a_single_number_with_too_much_noise_is_named(factor):
    finding = check_noise(numbers(all_right_but(7, factor)))
    assert (finding.missing, finding.excessive) == (0, 1)


def test_what_does_not_leave_in_every_run_is_named_apart():
    """What decides about that may be data: it is not less noise."""
    sound = numbers(np.ones(5))

    def some(first, count):
        drawn = sound.noise(first, count)
        drawn[(np.arange(first, first + count) % 2 == 0), 3] = np.nan
        return drawn

    finding = check_noise(sound._replace(noise=some))
    assert (finding.missing, finding.excessive, finding.unreleased) == (0, 0, 1)
    assert finding.bare
    assert not finding.right
    half = -(-finding.runs // 2)
    assert finding.named == (f"number 3: not released in {half} of {finding.runs} runs",)


@pytest.mark.parametrize("released", [np.nan, 0.0])
def test_noise_that_is_not_a_number_is_none(released):
    """In compiled releases, where every number is drawn."""
    steps, deviations = np.array([1]), np.ones((1, 1, 5))
    sound = numbers(np.ones(5))

    def draw(first, count):
        drawn = sound.noise(first, count)
        drawn[:, 3] = released
        return drawn.reshape(count, 1, 1, 5)

    stated = StatedNoise("a party", "party", deviations)
    finding = check_noise(stated.simulated(steps, 1, draw))
    assert (finding.missing, finding.unreleased) == (1, 0)


def test_noise_that_is_not_centred_is_found():
    """A number that is released off its true value by a deviation has too much."""
    shifted = numbers(np.ones(5))
    shifted = shifted._replace(
        noise=lambda first, count: 1.0 + numbers(np.ones(5)).noise(first, count)
    )
    assert check_noise(shifted).excessive == 5


def test_many_are_counted_and_few_named():
    finding = check_noise(numbers(np.zeros(NUMBERS)))
    assert finding.missing == NUMBERS
    assert len(finding.named) == 3


def test_the_alarm_is_as_rare_as_stated():
    alarm, checks = 0.1, 400
    alarms = sum(not check_noise(numbers(np.ones(20), 100 + i), alarm).right for i in range(checks))
    assert alarms <= binom.ppf(0.9999, checks, alarm)
    assert alarms >= binom.ppf(0.0001, checks, 0.8 * alarm)


@pytest.mark.parametrize("count", [1, 30, 26_000])
@pytest.mark.parametrize("alarm", [1e-6, 1e-2])
def test_so_many_runs_show_a_root_of_two_and_fewer_do_not(count, alarm):
    def overlooked(runs):
        law, share = chi2(runs), alarm / (2 * count)
        return max(law.sf(2 * law.ppf(share)), law.cdf(law.isf(share) / 2))

    runs = runs_needed(count, alarm)
    assert overlooked(runs) < 1e-3 <= overlooked(runs - 1)


def stated(mechanism="toeplitz", releases=16):
    """Two parties that release so often, and what their noise is made of."""
    plan = calibrated(mechanism, releases, 1.0, 1.0)
    steps = np.arange(1, releases + 1)
    deviations = np.tile(stated_deviations(plan, steps)[None, :, None], (2, 1, 3))
    return (
        plan,
        steps,
        StatedNoise("2 parties", "party", deviations, covariance=covariance_of(plan)),
    )


def of_draws(plan, steps, drawn):
    """The noise of all releases (runs, parties, releases, size), from draws of that shape."""
    return plan.scale * np.einsum("kj,rpjs->rpks", decoder(plan, steps), drawn)


@pytest.mark.parametrize("mechanism", ["toeplitz", "tree"])
def test_planned_noise_is_not_taken_for_noise_that_is_shared(mechanism):
    plan, steps, noise = stated(mechanism)

    def draw(first, count):
        rng = np.random.default_rng([1, first])
        return of_draws(plan, steps, rng.normal(size=(count, 2, 16, 3)))

    found = check_noise(noise.simulated(steps, 16, draw))
    assert found.right
    assert found.compared == 32


@pytest.mark.parametrize("mechanism", ["toeplitz", "tree"])
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_a_draw_that_comes_again_in_a_late_release_shows(mechanism, share):
    plan, steps, noise = stated(mechanism)

    def draw(first, count):
        drawn = np.random.default_rng([1, first]).normal(size=(count, 2, 16, 3))
        again = share * drawn[:, :, 2] + np.sqrt(1.0 - share**2) * drawn[:, :, 14]
        drawn[:, :, 14] = again
        return of_draws(plan, steps, drawn)

    found = check_noise(noise.simulated(steps, 16, draw))
    assert (found.missing, found.shared) == (0 if mechanism == "tree" else found.missing, 2)
    assert found.bare
    assert "party 0, release 3, number 0, and party 0, release 15, number 0" in found.named[-2]


def test_two_parties_with_the_same_draws_show():
    plan, steps, noise = stated()

    def draw(first, count):
        drawn = np.random.default_rng([1, first]).normal(size=(count, 2, 16, 3))
        drawn[:, 1] = drawn[:, 0]
        return of_draws(plan, steps, drawn)

    found = check_noise(noise.simulated(steps, 16, draw), scale=0.002)
    assert (found.missing, found.shared) == (0, 16)
