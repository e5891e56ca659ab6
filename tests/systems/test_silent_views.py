"""What servers of silent SAMBA see could have been made of nothing, and 500 features agree."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy import stats

from fedbandits.crypto.kernels.comparison import OPENING_BITS, OPENINGS
from fedbandits.crypto.keystream import derive_key
from fedbandits.crypto.shares import comparisons, groups_of, pairs
from fedbandits.systems.samba.audit.views import open_first, open_second
from fedbandits.systems.samba.kernels import word_to_mask
from fedbandits.systems.samba.silent import make_turn
from tests.systems.silent_distinguisher import (
    FEATURES,
    Likeness,
    compare,
    features,
    first_channels,
    published_channels,
    second_channels,
)
from tests.systems.silent_reference import DEALT, Owners, play, uniform
from tests.systems.silent_simulator import simulate_first, simulate_second

RUNS, TURNS = 200, 10
KEY = bytes(range(32))
SERVERS = ("first", "second")
_CHANNELS = {"first": first_channels, "second": second_channels}
_OPEN = {"first": open_first, "second": open_second}
_SIMULATORS = {"first": simulate_first, "second": simulate_second}


def world(good: bool, arms: int) -> np.ndarray:
    """All arms poor, or one of them good."""
    means = np.full(arms, 0.1)
    means[0] = 0.9 if good else 0.1
    return means


@functools.cache
def seen(good: bool, arms: int, arity: int, algorithm: str, flaw: str, turns: int = TURNS):
    played = play(world(good, arms), RUNS, turns, arity, 20 + good, algorithm, flaw)
    return {
        who: features(_CHANNELS[who]([getattr(t, who) for t in played], arity)) for who in SERVERS
    }


@functools.cache
def made(who: str, arms: int, arity: int, turns: int = TURNS):
    keys = [derive_key(KEY, f"{who} {turn}") for turn in range(turns)]
    views = [_SIMULATORS[who](key, RUNS, arms, arity) for key in keys]
    return features(_CHANNELS[who](views, arity))


def alike(one, other) -> Likeness:
    """Two sets of runs, of the same features."""
    assert one[0] == other[0]
    return compare(one[0], one[1], other[1])


def published(good: bool, arms: int, turns: int):
    """What Comp sees of the published variant, UCB: rewards as they are, masks and orders too."""
    draws = np.random.default_rng(good)
    owners, lists = Owners("ucb", world(good, arms), RUNS, draws), []
    for _ in range(turns):
        words = owners.words()
        scores = words / 2.0**48
        masks = [word_to_mask(word) for word in uniform(draws, RUNS)]
        lists.append(draws.permuted(scores, axis=1) * np.array(masks)[:, None])
        owners.pull(words.argmax(axis=1))
    values = np.stack(lists, axis=1)
    return features(published_channels(values, values.argmax(axis=2)))


# -- nothing to see


@pytest.mark.parametrize("who", SERVERS)
@pytest.mark.parametrize(
    ("arms", "arity", "algorithm", "turns"),
    [(5, 2, "ucb", TURNS), (5, 4, "egreedy", TURNS), (5, 4, "thompson", TURNS), (50, 4, "ucb", 4)],
)
def test_two_worlds_that_differ_in_everything_look_alike(who, arms, arity, algorithm, turns):
    one, other = (seen(good, arms, arity, algorithm, "", turns)[who] for good in (False, True))
    assert alike(one, other).at_chance


@pytest.mark.parametrize("who", SERVERS)
@pytest.mark.parametrize(("arms", "arity"), [(5, 2), (5, 4), (7, 3)])
def test_a_view_made_of_nothing_looks_like_a_real_one(who, arms, arity):
    """Against the worst for the simulator: scores of which one is the largest in nearly all."""
    real = seen(True, arms, arity, "ucb", "")[who]
    assert alike(real, made(who, arms, arity)).at_chance


@pytest.mark.parametrize(("arms", "turns"), [(5, 100), (50, 400)])
def test_the_same_features_find_the_published_variant(arms, turns):
    found = alike(published(False, arms, turns), published(True, arms, turns))
    assert found.accuracy >= 0.99
    assert found.p_value < 1e-30


# -- mistakes are found

#: Who finds each mistake, and whether two worlds differ by it. All others are found by holding the
#: view against a made one.
FOUND = {
    "first order stands": ("second", True),
    "second order stands": ("first", True),
    "no shuffle": ("first", True),
    "orders kept": ("second", False),
    "triples again": ("first", True),
    "r again": ("first", True),
    "short r": ("second", False),
    "mask again": ("first", False),
    "one seed": ("first", False),
    "block again": ("second", True),
    "pads kept": ("first", False),
    "answer pad is the pad": ("first", False),
    "winner told": ("first", True),
    "ties equal": ("second", True),
}


@pytest.mark.parametrize("flaw", FOUND)
def test_a_mistake_is_found(flaw):
    who, between_worlds = FOUND[flaw]
    bad = seen(True, 5, 2, "egreedy", flaw)[who]
    other = seen(False, 5, 2, "egreedy", flaw)[who] if between_worlds else made(who, 5, 2)
    found = alike(bad, other)
    assert not found.at_chance
    assert found.p_value < 1e-6


def test_all_mistakes_in_what_is_dealt_are_tried():
    assert set(DEALT) <= set(FOUND)


def test_what_owners_are_told_names_the_winner_to_the_second_server():
    """So it is sealed from the second server, which knows the pads (and from nobody else's)."""
    for turn in play(world(True, 5), 20, 3, 2, seed=3):
        answers = turn.told - turn.second.answer_pads
        np.testing.assert_array_equal(answers, np.eye(5, dtype=np.uint64)[turn.winners])


# -- the simulators


def shapes(view) -> list:
    return [
        [(each.shape, each.dtype) for each in (field if isinstance(field, tuple) else [field])]
        for field in view
    ]


@pytest.mark.parametrize("who", SERVERS)
@pytest.mark.parametrize(("arms", "arity"), [(2, 2), (3, 2), (5, 4), (9, 3), (20, 16)])
def test_a_made_view_has_all_that_a_real_one_has(who, arms, arity):
    (turn,) = play(world(True, arms), 4, 1, arity, seed=5)
    simulated = _SIMULATORS[who](KEY, 4, arms, arity)
    assert shapes(getattr(turn, who)) == shapes(simulated)
    for real, fake, number in zip(
        getattr(turn, who).openings, simulated.openings, range(1000), strict=False
    ):
        bits = OPENING_BITS[number % OPENINGS]
        assert int(max(real.max(), fake.max())) < 2**bits
    assert len(simulated.openings) == make_turn(arms, arity).items


@pytest.mark.parametrize("who", SERVERS)
def test_a_made_view_is_one_that_the_protocol_could_have_shown(who):
    """The server plays on with it to the end: all openings fit, and somebody has won."""
    view = _SIMULATORS[who](KEY, 50, 11, 4)
    opened = _OPEN[who](view, 4)
    assert ((opened.won >= 0) & (opened.won < 11)).all()


@pytest.mark.parametrize("who", SERVERS)
@pytest.mark.parametrize(("arms", "arity"), [(3, 2), (5, 2), (6, 4), (7, 3)])
def test_results_have_the_distribution_of_a_uniformly_random_order(who, arms, arity):
    """All patterns of results, real ones and made ones, against an enumeration of orders."""
    runs = 4000
    real = play(world(True, arms), runs, 1, arity, seed=6)[0]
    expected = _patterns_of_orders(arms, arity)
    for view in (getattr(real, who), _SIMULATORS[who](KEY, runs, arms, arity)):
        counts = _patterns(view, arity, who)
        assert set(counts) <= set(expected)
        seen_, chances = zip(*((counts.get(p, 0), c) for p, c in expected.items()), strict=True)
        assert stats.chisquare(seen_, np.array(chances) * runs).pvalue > 1e-3


def _patterns(view, arity, who) -> dict[bytes, int]:
    """How often each pattern of results came."""
    opened = _OPEN[who](view, arity)
    bits = np.hstack(opened.values[OPENINGS - 1 :: OPENINGS]).astype(np.uint8)
    patterns, counts = np.unique(bits, axis=0, return_counts=True)
    return {p.tobytes(): int(c) for p, c in zip(patterns, counts, strict=True)}


@functools.cache
def _patterns_of_orders(arms, arity) -> dict[bytes, float]:
    """The chance of every pattern, by playing tournaments of plain numbers, all orders of them."""
    chances: dict[bytes, float] = {}
    orders = list(itertools.permutations(range(arms)))
    for order in orders:
        left, bits = list(order), []
        while len(left) > 1:
            lost = [left[i] < left[j] for i, j in pairs(len(left), arity).tolist()]
            bits += lost
            groups = groups_of(len(left), arity)
            ends = [g * len(left) // groups for g in range(groups + 1)]
            left = [max(left[a:b]) for a, b in itertools.pairwise(ends)]
        key = np.array(bits, np.uint8).tobytes()
        chances[key] = chances.get(key, 0.0) + 1 / len(orders)
    assert len(key) == comparisons(arms, arity)
    return chances


def test_views_are_made_of_the_key_alone():
    again, other = simulate_first(KEY, 3, 5, 2), simulate_first(KEY[::-1], 3, 5, 2)
    view = simulate_first(KEY, 3, 5, 2)
    np.testing.assert_array_equal(view.scores, again.scores)
    assert not (view.scores == other.scores).any()
    fields = np.hstack([view.words, *(view._asdict()[f] for f in ("scores", "ahead", "unit"))])
    assert len(np.unique(fields)) == fields.size  # no word is drawn twice


# -- the features


@pytest.mark.parametrize("who", SERVERS)
def test_there_are_500_features_which_do_not_depend_on_what_is_seen(who):
    names, values = made(who, 5, 2)
    assert len(set(names)) == FEATURES == 500
    assert values.shape == (RUNS, FEATURES)
    assert seen(True, 5, 2, "egreedy", "")[who][0] == names


def test_a_run_is_like_itself_and_one_feature_is_enough_to_tell():
    names, values = made("first", 5, 2)
    assert compare(names, values, values).p_value == 1.0
    other = values.copy()
    other[:, 77] += np.ptp(values[:, 77]) + 1.0
    for found in (compare(names, values, other), compare(names, other, values)):
        assert found.accuracy == 1.0
        assert found.feature == found.differs == names[77]
        assert not found.at_chance


def test_the_p_value_is_that_of_kolmogorov_and_smirnov():
    draws = np.random.default_rng(4)
    a, b = draws.integers(0, 9, (2, 100, 3)).astype(float)
    b[:, 1] += 1.0
    expected = [stats.ks_2samp(x, y, method="asymp").pvalue for x, y in zip(a.T, b.T, strict=True)]
    found = compare(("x", "y", "z"), a, b)
    assert found.differs == "y"
    assert found.p_value == pytest.approx(3 * min(expected))


def test_what_is_called_chance():
    assert Likeness(0.5, 200, "", 1.0, "").at_chance
    assert Likeness(0.58, 200, "", 0.02, "").at_chance
    assert not Likeness(0.6, 200, "", 1.0, "").at_chance  # 2.8 deviations
    assert not Likeness(0.4, 200, "", 1.0, "").at_chance
    assert not Likeness(0.5, 200, "", 0.009, "").at_chance
