"""Noise is compared with the draws that it is made of: 1% less of it shows in one run."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.privacy.continual import calibrated
from fedbandits.privacy.likelihood import covariance_of, decoder, drawn_steps, stated_deviations
from fedbandits.privacy.noise_check import NoisyNumbers, NoisyRun, check_noise, kept
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.systems.noisy_releases import StatedNoise, some_releases

RELEASES, PARTIES, SIZE = 16, 2, 3
MECHANISMS = pytest.mark.parametrize("mechanism", ["toeplitz", "tree", "optimal"])


def numbers(factors, seed=0, planned=None, deviation=1.0):
    """One party's numbers, each with so many planned deviations of noise of its own."""
    factors = np.asarray(factors, dtype=np.float64)[None, None]

    def play(run):
        draws = deviation * np.random.default_rng([seed, run]).normal(size=factors.shape)
        return NoisyRun(factors * draws, draws)

    size = factors.size
    return NoisyNumbers(
        "numbers", factors.shape, planned or size, play, lambda party, row, i: f"number {i}",
        np.eye(1),
    )  # fmt: skip


def stated(mechanism="toeplitz", change=lambda noise, draws: None, releases=RELEASES):
    """Two parties that release so often; ``change`` may spoil noise or draws, in place."""
    plan = calibrated(mechanism, releases, 1.0, 1.0)
    steps = np.arange(1, releases + 1)
    deviations = np.tile(stated_deviations(plan, steps)[None, :, None], (PARTIES, 1, SIZE))
    noise = StatedNoise("2 parties", "party", deviations, covariance=covariance_of(plan))
    weights = plan.scale * decoder(plan, steps)

    def draw(run):
        draws = np.random.default_rng([1, run]).normal(size=(PARTIES, releases, SIZE))
        change(None, draws)
        made = weights @ draws
        change(made, draws)
        return made, draws

    return noise.simulated(steps, releases, draw)


@MECHANISMS
def test_sound_noise_is_right(mechanism):
    found = check_noise(stated(mechanism))
    assert found.right
    assert found.named == ()
    assert (found.numbers, found.runs) == (PARTIES * RELEASES * SIZE, 3)


@MECHANISMS
@pytest.mark.parametrize("factor", [0.0, 0.9, 0.99, 1.01, 2.0])
def test_one_percent_in_one_number_shows_and_it_is_named(mechanism, factor):
    def change(noise, draws):
        if noise is not None:
            noise[1, 10, 2] *= factor

    found = check_noise(stated(mechanism, change))
    assert (found.missing, found.excessive) == (int(factor < 1.0), int(factor > 1.0))
    assert (found.foreign, found.shared) == (0, 0)
    assert found.named == (f"party 1, release 11, number 2: {factor:.4g} × planned",)
    assert found.bare == (factor < 1.0)


def test_all_noise_that_is_ten_percent_too_quiet_shows():
    def change(noise, draws):
        if noise is not None:
            noise *= 0.9

    found = check_noise(stated(change=change))
    assert found.missing == found.numbers
    assert len(found.named) == 3


@MECHANISMS
def test_a_number_with_the_noise_of_another_is_foreign(mechanism):
    def change(noise, draws):
        if noise is not None:
            noise[0, 4, 1] = noise[0, 4, 2]

    found = check_noise(stated(mechanism, change))
    assert (found.missing, found.foreign) == (0, 1)
    assert "party 0, release 5, number 1: noise of other draws than its own" in found.named[0]


def test_noise_that_two_releases_share_shows():
    """Each number has the planned deviation, and releases have a draw in common."""

    def change(noise, draws):
        if noise is not None:
            noise[:, 1] = noise[:, 0] * np.linalg.norm(stated_weights()[1]) / stated_weights()[0, 0]

    found = check_noise(stated(change=change))
    assert found.foreign == PARTIES * SIZE
    assert found.bare


def stated_weights():
    plan = calibrated("toeplitz", RELEASES, 1.0, 1.0)
    return plan.scale * decoder(plan, np.arange(1, RELEASES + 1))


@MECHANISMS
def test_a_draw_that_is_used_twice_shows(mechanism):
    def change(noise, draws):
        draws[:, 14] = draws[:, 2]

    found = check_noise(stated(mechanism, change))
    assert found.again >= PARTIES * SIZE
    assert found.bare


def test_two_parties_with_the_same_draws_show():
    def change(noise, draws):
        draws[1] = draws[0]

    assert check_noise(stated(change=change)).again >= RELEASES * SIZE


def test_draws_that_a_party_did_not_ask_for_are_not_quiet_ones():
    """Some parties ask for a second draw, whose release nobody looks at."""

    def play(run):
        draws = np.random.default_rng([2, run]).normal(size=(4, 2, 40))
        draws[:, 1][run % 2 :: 2] = np.nan
        return NoisyRun(draws[:, :1], draws)

    checked = NoisyNumbers(
        "numbers", (4, 1, 40), 160, play, lambda *at: "a number", covariance=np.eye(1)
    )
    found = check_noise(checked)
    assert found.right
    assert found.draws == 3 * 4 * 40 + 3 * 2 * 40


def test_a_party_that_asks_for_no_noise_has_none():
    def play(run):
        draws = np.random.default_rng([3, run]).normal(size=(4, 1, 40))
        draws[2] = np.nan
        return NoisyRun(np.nan_to_num(draws), draws)

    checked = NoisyNumbers(
        "numbers", (4, 1, 40), 160, play, lambda party, *at: f"party {party}", np.eye(1)
    )
    found = check_noise(checked)
    assert (found.missing, found.foreign, found.excessive) == (40, 0, 0)
    assert found.named[0].startswith("party 2:")


def test_other_weights_with_the_same_covariance_are_right():
    """Who mixes draws in another way, with the covariance that is stated, has the planned noise."""
    plan = calibrated("toeplitz", 8, 1.0, 1.0)
    steps = np.arange(1, 9)
    turned, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))
    deviations = np.tile(stated_deviations(plan, steps)[None, :, None], (PARTIES, 1, SIZE))
    noise = StatedNoise("2 parties", "party", deviations, covariance=covariance_of(plan))

    def drawing(weights):
        def draw(run):
            draws = np.random.default_rng([2, run]).normal(size=(PARTIES, 8, SIZE))
            return weights @ draws, draws

        return draw

    weights = plan.scale * decoder(plan, steps)
    assert check_noise(noise.simulated(steps, 8, drawing(weights @ turned))).right
    # The same deviations, each release with noise of its own.
    alone = np.diag(np.linalg.norm(weights, axis=1))
    found = check_noise(noise.simulated(steps, 8, drawing(alone @ turned)))
    assert found.shared > 0
    assert found.bare


def test_of_a_long_tree_some_releases_are_looked_at():
    plan = calibrated("tree", 700, 1.0, 1.0)
    steps = some_releases(700, PARTIES * SIZE, plan)
    assert len(steps) == 512
    assert steps.max() > 650
    names = drawn_steps(plan, steps)
    weights = plan.scale * decoder(plan, steps)
    assert weights.shape == (512, len(names))
    deviations = np.tile(stated_deviations(plan, steps)[None, :, None], (PARTIES, 1, SIZE))
    noise = StatedNoise(
        "2 parties", "party", deviations, covariance=covariance_of(plan, steps), weights=weights
    )

    def draw(run):
        draws = np.random.default_rng([3, run]).normal(size=(PARTIES, len(names), SIZE))
        return weights @ draws, draws

    assert check_noise(noise.simulated(steps, 700, draw), scale=0.0).right


@pytest.mark.parametrize("deviation", [0.8, 1.25])
def test_a_source_with_another_deviation_shows(deviation):
    found = check_noise(numbers(np.ones(1000), deviation=deviation))
    assert (found.missing, found.excessive) == (0, 0)
    assert found.uneven
    assert found.bare
    assert f"deviation {deviation:.1g}"[:13] in found.named[0]


def test_one_number_whose_draws_are_quiet_shows():
    """Its source gives it nothing: so nothing is missing but the draws."""
    sound = numbers(np.ones(50))

    def play(run):
        played = sound.play(run)
        draws = played.draws.copy()
        draws[0, 0, 7] *= 1e-9
        return NoisyRun(draws, draws)

    assert check_noise(sound._replace(play=play)).uneven


def test_the_alarm_of_a_sound_source_is_rare():
    alarms = sum(not check_noise(numbers(np.ones(20), seed), 0.05).right for seed in range(300))
    assert 1 <= alarms <= 35


def test_what_does_not_leave_in_every_run_is_named_apart():
    """What decides about that may be data: it is not less noise."""
    sound = numbers(np.ones(5))

    def play(run):
        played = sound.play(run)
        if run % 2 == 0:
            played.noise[0, 0, 3] = np.nan
        return played

    found = check_noise(sound._replace(play=play))
    assert (found.missing, found.excessive, found.unreleased) == (0, 0, 1)
    assert found.bare
    assert found.named == ("number 3: not released in every run",)


@pytest.mark.parametrize("released", [np.nan, 0.0])
def test_noise_that_is_not_a_number_is_none(released):
    """In compiled releases, where every number is drawn."""

    def draw(run):
        draws = np.random.default_rng(run).normal(size=(1, 1, 5))
        noise = draws.copy()
        noise[0, 0, 3] = released
        return noise, draws

    noise = StatedNoise("a party", "party", np.ones((1, 1, 5)), covariance=np.eye(1))
    found = check_noise(noise.simulated(np.array([1]), 1, draw))
    assert (found.missing, found.unreleased) == (1, 0)


def test_noise_that_is_not_centred_is_found():
    sound = numbers(np.ones(5))

    def play(run):
        played = sound.play(run)
        return played._replace(noise=played.noise + 1.0)

    assert check_noise(sound._replace(play=play)).foreign == 5


def test_many_are_counted_and_few_named():
    found = check_noise(numbers(np.zeros(1000)))
    assert found.missing == 1000
    assert len(found.named) == 3


class TestSources:
    """What a party asks for is kept, whatever kind of source it has."""

    def test_a_simulated_source_gives_what_it_gave(self):
        source = kept(lambda step: np.full(2, float(step)))
        assert not hasattr(source, "cover")
        assert source(2).tolist() == [2.0, 2.0]
        source(1)
        assert source.draws(2).tolist() == [[1.0, 1.0], [2.0, 2.0]]
        assert source.again == 0
        source(2)
        assert source.again == 1

    def test_a_secure_source_adds_what_is_kept(self):
        source = kept(SecureNoise())
        source.draw_ahead(3)
        values = np.array([0.0, 0.5, 3.0])
        covered = source.cover(1, values)
        assert covered - values == pytest.approx(source.draws(3)[0], abs=1e-12)

    def test_whole_noise_is_kept_in_its_deviations(self):
        source, deviations = kept(SecureNoise()), np.array([1e6, 1e9])
        source.draw_whole_ahead(deviations)
        covered = source.cover_whole(1, np.array([7.0, -7.0]), deviations)
        noise = covered - np.array([7.0, -7.0])
        assert np.array_equal(noise, np.rint(noise))
        assert noise / deviations == pytest.approx(source.draws(2)[0], abs=1e-12)
