from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits import random as fr
from fedbandits.random import Purpose
from tests.strategies import parties, rounds, seeds, small_counts

KEY = fr.replicate_key(7, 3)


# Known answers of Philox4x32-10 published with the Random123 library (Salmon et al. 2011).
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_matches_the_published_known_answers(counter, key, expected):
    words = fr.philox4x32(*(np.uint64(word) for word in (*counter, *key)))
    assert " ".join(f"{int(word):08x}" for word in words) == expected


@given(seeds, st.integers(0, 2**32 - 1), parties, rounds, small_counts)
def test_any_draw_can_be_made_again_alone(seed, replicate, party, round_, size):
    key = fr.replicate_key(seed, replicate)
    name = (key, party, round_, int(Purpose.REWARD))
    uniforms = fr.uniforms(size, *name[:3], Purpose.REWARD)
    normals = fr.normals(size, *name[:3], Purpose.REWARD)
    for index in reversed(range(size)):
        assert fr.uniform(*name, index) == uniforms[index]
        assert fr.normal(*name, index) == normals[index]


@pytest.mark.parametrize("blocks", [1, 5, 15, 16, 17, 40])
def test_bulk_words_are_the_blocks_in_order(blocks):
    words = np.zeros((4, blocks), np.uint32)
    fr.fill_words(words, KEY, 11, 13, int(Purpose.CONTEXT))
    for block in range(blocks):
        counter = (block, 13, 11, int(Purpose.CONTEXT))
        alone = fr.philox4x32(*(np.uint64(word) for word in (*counter, *KEY)))
        assert tuple(int(word) for word in alone) == tuple(int(w) for w in words[:, block])


@pytest.mark.parametrize("change", ["seed", "replicate", "party", "round", "purpose"])
def test_every_part_of_a_name_matters(change):
    name = {"seed": 1, "replicate": 2, "party": 3, "round": 4, "purpose": Purpose.REWARD}
    other = name | {change: Purpose.CONTEXT if change == "purpose" else 99}

    def draw(n):
        key = fr.replicate_key(n["seed"], n["replicate"])
        return fr.uniforms(8, key, n["party"], n["round"], n["purpose"])

    assert not np.any(draw(name) == draw(other))


def test_purposes_are_distinct_and_fit_a_counter_word():
    values = [int(purpose) for purpose in Purpose]
    assert len(set(values)) == len(values)
    assert max(values) < 2**32


def test_uniforms_are_uniform_and_uncorrelated():
    draws = fr.uniforms(200_000, KEY, 0, 0, Purpose.REWARD)
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    assert stats.kstest(draws, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4 / np.sqrt(len(draws))


def test_neighbouring_names_are_uncorrelated():
    rounds_ = np.array([fr.uniforms(64, KEY, 0, t, Purpose.REWARD) for t in range(2000)])
    correlation = np.corrcoef(rounds_[:-1].ravel(), rounds_[1:].ravel())[0, 1]
    assert abs(correlation) < 4 / np.sqrt(rounds_[1:].size)


def test_normals_are_normal():
    draws = fr.normals(200_001, KEY, 0, 0, Purpose.PRIVACY_NOISE)
    assert stats.kstest(draws, "norm").pvalue > 1e-3
    assert abs(stats.kurtosis(draws)) < 0.05
    assert abs(np.corrcoef(draws[:-1:2], draws[1::2])[0, 1]) < 0.02


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_bernoulli_meets_its_probability(probability):
    draws = [fr.bernoulli(probability, KEY, 1, t, 3, 0) for t in range(20_000)]
    assert abs(np.mean(draws) - probability) <= 4 * np.sqrt(probability * (1 - probability) / 2e4)


@given(st.integers(1, 2**32), st.integers(0, 1000))
def test_integers_stay_below_their_bound(bound, index):
    assert 0 <= fr.integer(bound, KEY, 0, 0, 1, index) < bound


def test_integers_are_uniform():
    draws = [fr.integer(7, KEY, 0, 0, 1, i) for i in range(35_000)]
    assert stats.chisquare(np.bincount(draws, minlength=7)).pvalue > 1e-3


@given(small_counts, rounds)
def test_permutations_permute(size, round_):
    assert sorted(fr.permutation(size, KEY, 0, round_, Purpose.WORLD)) == list(range(size))


def test_permutations_are_uniform():
    seen = [tuple(fr.permutation(4, KEY, 0, t, Purpose.WORLD)) for t in range(12_000)]
    counts = np.unique(np.array(seen), axis=0, return_counts=True)[1]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(("seed", "replicate"), [(-1, 0), (2**64, 0), (0, -1), (0, 2**32)])
def test_impossible_names_are_refused(seed, replicate):
    with pytest.raises(ValueError, match="must be in"):
        fr.replicate_key(seed, replicate)


def test_binomial_draws_count_words_below_the_probability():
    key = fr.replicate_key(5, 1)
    for trials in (0, 1, 2, 3, 4, 5, 50, 203):
        words = np.zeros((4, 60), np.uint32)
        fr.fill_words(words, key, 3, 9, 2)  # index 0 begins at block 0
        flat = words.T.ravel()[:trials].astype(float) / 2.0**32
        for probability in (0.0, 0.3, 0.5, 1.0):
            drawn = fr.binomial(trials, probability, key, 3, 9, 2, 0)
            assert drawn == (flat < probability).sum()


def test_binomial_draws_grow_with_trials_and_probability_and_differ_by_index():
    key = fr.replicate_key(5, 1)
    table = np.array(
        [[fr.binomial(n, p, key, 0, 1, 2, 7) for p in np.linspace(0, 1, 21)] for n in range(60)]
    )
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all()
    many = np.array([fr.binomial(40, 0.3, key, 0, 1, 2, i) for i in range(4000)])
    assert many.mean() == pytest.approx(12.0, abs=4 * np.sqrt(40 * 0.21 / 4000))
    assert many.var() == pytest.approx(8.4, rel=0.1)
    assert abs(np.corrcoef(many[1:], many[:-1])[0, 1]) < 0.06
