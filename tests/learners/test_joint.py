"""One estimate from own records and others' releases: its formulas again in numpy, its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Classification, Linear
from fedbandits.learners.kernels import joint as learner
from fedbandits.learners.kernels.joint import Joint, JointTerms, ReleasedNoise, one_joint
from fedbandits.learners.kernels.linucb import (
    best_arm,
    best_of_smaller,
    new_score_buffers,
    score_arms,
)
from fedbandits.learners.kernels.ridge import add_record, packed_size
from fedbandits.settings.experiment import system
from fedbandits.systems.agents import joint as shares
from fedbandits.testing.replicates import plan_of
from tests.learners.joint_reference import (
    WEIGHTS,
    Case,
    Derived,
    cost_of,
    derive,
    weights_of,
    width_of,
)

TERMS = JointTerms(
    ridge=3.0, martingale_ridge=5.0, own_log_term=11.0, others_log_term=15.0, reward_noise=0.5,
    parameter_bound=1.0, scale=1.0, gram_noise=0.8, norm_factor=4.0, bias_factor=6.0,
    second_bound=True,
)  # fmt: skip
NOBODY = ReleasedNoise(0.0, 0.0, 0.0)


def noise_of(deviation, terms=TERMS):
    return ReleasedNoise(deviation, terms.norm_factor * deviation, terms.bias_factor * deviation)


def fresh(terms, dimension, models=1) -> Joint:
    joint = one_joint(learner.empty_joint(1, models, dimension), 0)
    learner.begin_joint(terms, joint)
    return joint


def contexts_of(rng, count, dimension):
    """Contexts of length 1 at most, most of them in few directions, as a bandit chooses them."""
    found = rng.normal(size=(count, dimension)) / np.arange(1.0, dimension + 1.0)
    return found / np.maximum(np.linalg.norm(found, axis=1), 1.0)[:, None]


def drawn_case(seed, dimension, own, others, deviation, terms=TERMS):
    """Honest records and Gaussian noise."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=dimension)
    theta /= np.linalg.norm(theta)
    mine, theirs = contexts_of(rng, own, dimension), contexts_of(rng, others, dimension)
    raw = rng.normal(size=(dimension, dimension))
    gram_noise = terms.gram_noise * deviation * (raw + raw.T) / math.sqrt(2.0)
    return Case(
        mine,
        mine @ theta + rng.normal(size=own) * terms.reward_noise,
        theirs.T @ theirs + gram_noise,
        theirs.T @ (theirs @ theta + rng.normal(size=others) * terms.reward_noise)
        + deviation * rng.normal(size=dimension),
        noise_of(deviation, terms),
    )


def learned(terms, case, load_after, dimension):
    """What an agent knows that takes up the releases after so many of its own records."""
    joint, (gain, moved) = fresh(terms, dimension), np.empty((2, dimension))
    for number, (context, reward) in enumerate(zip(case.contexts, case.rewards, strict=True)):
        if number == load_after:
            learner.load_joint(terms, joint, case.sums, case.noise)
        learner.observe_joint(terms, joint, 0, context, float(reward), 0.0, gain, moved)
    if load_after >= len(case.contexts):
        learner.load_joint(terms, joint, case.sums, case.noise)
    return joint


def assert_is(joint, expected, tolerance=1e-8):
    for name in ("inverse", "own", "others", "shrinkage", "estimate"):
        mine, theirs = getattr(joint, name)[0], getattr(expected, name)
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance, err_msg=name)
    assert joint.growth[0] == pytest.approx(expected.growth, rel=1e-9, abs=1e-9)


cases = st.tuples(
    st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 60), st.integers(0, 3000),
    st.sampled_from([0.0, 0.3, 4.0, 60.0]),
)  # fmt: skip


@settings(max_examples=60)
@given(cases, st.floats(0.0, 1.0))
def test_what_is_kept_is_what_the_formulas_say(drawn, when):
    """Rank-one updates after a release, and everything inverted anew, are one."""
    seed, dimension, own, others, deviation = drawn
    case, loaded = drawn_case(seed, dimension, own, others, deviation), int(when * own)
    joint = learned(TERMS, case, loaded, dimension)
    tried = [derive(TERMS, case, weights_of(TERMS, case, w), loaded) for w in WEIGHTS]
    chosen = min(tried, key=lambda one: np.abs(one.inverse - joint.inverse[0]).max())
    assert_is(joint, chosen)


@settings(max_examples=40)
@given(cases)
def test_of_the_weights_the_one_that_costs_least_is_taken(drawn):
    seed, dimension, own, others, deviation = drawn
    case = drawn_case(seed, dimension, own, others, deviation)
    joint = learned(TERMS, case, own, dimension)
    tried = [derive(TERMS, case, weights_of(TERMS, case, w)) for w in WEIGHTS]
    costs = [cost_of(TERMS, case, one) for one in tried]
    best = tried[int(np.argmin(costs))]
    if sorted(costs)[1] > min(costs) * (1.0 + 1e-9):
        assert_is(joint, best)


@settings(max_examples=40)
@given(cases)
def test_a_release_that_is_taken_up_late_is_taken_up_as_one_that_came_at_once(drawn):
    """Own records stay when sums are loaded: what came before them is not counted twice."""
    seed, dimension, own, others, deviation = drawn
    case = drawn_case(seed, dimension, own, others, deviation)
    once, again = (learned(TERMS, case, own, dimension) for _ in range(2))
    for _ in range(3):
        learner.load_joint(TERMS, again, case.sums, case.noise)
    np.testing.assert_array_equal(once.statistic, again.statistic)
    for name in ("inverse", "own", "others", "shrinkage", "estimate", "width"):
        np.testing.assert_array_equal(getattr(once, name), getattr(again, name))


def test_models_do_not_touch_one_another():
    terms, dimension = TERMS, 3
    case = drawn_case(5, dimension, 30, 500, 2.0)
    both, (gain, moved) = fresh(terms, dimension, 2), np.empty((2, dimension))
    sums = np.zeros((2, packed_size(dimension)))
    sums[1] = case.sums[0]
    for context, reward in zip(case.contexts, case.rewards, strict=True):
        learner.observe_joint(terms, both, 1, context, float(reward), 0.0, gain, moved)
    learner.load_joint(terms, both, sums, case.noise)
    alone = learned(terms, case, len(case.contexts), dimension)
    for name in Joint._fields:
        np.testing.assert_array_equal(getattr(both, name)[1], getattr(alone, name)[0], name)
    nothing = learned(terms, case._replace(contexts=np.zeros((0, dimension)),
                      rewards=np.zeros(0), released=np.zeros((dimension, dimension)),
                      moment=np.zeros(dimension)), 0, dimension)  # fmt: skip
    np.testing.assert_array_equal(both.estimate[0], nothing.estimate[0])
    np.testing.assert_array_equal(both.width[0], nothing.width[0])


# --------------------------------------------------------------------------------------- weights


def upper_width(joint, x):
    """√(xᵀWx), as arms are scored."""
    width = joint.width[0].astype(np.float64)
    return math.sqrt(max(x @ np.triu(width) @ x, 0.0))


def kept_by(joint):
    """The matrices that an agent keeps."""
    return Derived(
        joint.estimate[0], joint.inverse[0], joint.own[0], joint.others[0], joint.shrinkage[0],
        float(joint.growth[0]), np.zeros(0),
    )  # fmt: skip


def roots(terms, expected, x):
    """The three roots of the bound that W replaces by one: own, others, shrinkage."""
    radius = terms.reward_noise * math.sqrt(terms.own_log_term + expected.growth)
    return (
        radius * math.sqrt(x @ expected.own @ x),
        math.sqrt(max(x @ expected.others @ x, 0.0)),
        terms.parameter_bound * terms.ridge * math.sqrt(x @ expected.shrinkage @ x),
    )


@settings(max_examples=40)
@given(cases, st.sampled_from([1.0, 0.1]))
def test_one_root_is_no_less_than_the_sum_of_roots(drawn, scale):
    seed, dimension, own, others, deviation = drawn
    terms = TERMS._replace(scale=scale)
    case = drawn_case(seed, dimension, own, others, deviation)
    joint = learned(terms, case, own // 2, dimension)
    kept = kept_by(joint)
    rng = np.random.default_rng(seed)
    width = width_of(terms, kept)
    entries = np.triu(joint.width[0].astype(np.float64))
    np.testing.assert_allclose(0.5 * (entries + entries.T), width, rtol=1e-5, atol=1e-6)
    for _ in range(20):
        x = rng.normal(size=dimension) * rng.choice([0.01, 1.0], size=dimension)
        assert upper_width(joint, x) >= scale * sum(roots(terms, kept, x)) * (1.0 - 1e-5)


def test_without_others_it_is_the_bound_of_own_records():
    """D = 0: ridge regression, and a width that knows nothing of releases."""
    dimension = 4
    case = drawn_case(1, dimension, 50, 0, 0.0)._replace(
        released=np.zeros((dimension, dimension)), moment=np.zeros(dimension)
    )
    loaded, alone = (learned(TERMS, case, when, dimension) for when in (25, 10_000))
    never, (gain, moved) = fresh(TERMS, dimension), np.empty((2, dimension))
    for context, reward in zip(case.contexts, case.rewards, strict=True):
        learner.observe_joint(TERMS, never, 0, context, float(reward), 0.0, gain, moved)
    expected = derive(TERMS, case, np.zeros((dimension, dimension)))
    assert not expected.others.any()
    for joint in (loaded, alone, never):
        assert_is(joint, expected)
        for x in contexts_of(np.random.default_rng(2), 20, dimension):
            assert upper_width(joint, x) >= sum(roots(TERMS, expected, x)) * (1.0 - 1e-5)
    np.testing.assert_allclose(loaded.width, never.width, rtol=1e-5)


@pytest.mark.parametrize("deviation", [3.0, 50.0, 1000.0])
def test_a_direction_that_may_be_noise_alone_says_nothing(deviation):
    """Nobody else has a record: all eigenvalues are noise, so only own records count."""
    case = drawn_case(3, 5, 40, 0, deviation)
    edge = 2.0 * math.sqrt(5) * TERMS.gram_noise * deviation
    drowned = case._replace(released=case.released * min(1.0, 0.99 * edge / np.linalg.norm(
        case.released, 2)))  # fmt: skip
    joint = learned(TERMS, drowned, 40, 5)
    assert_is(joint, derive(TERMS, drowned, np.zeros((5, 5))))
    assert not joint.others.any()


def test_a_direction_that_is_known_counts_and_the_others_do_not():
    gram = np.diag([1e6, 1.0, -3.0])
    case = drawn_case(4, 3, 10, 0, 2.0)._replace(released=gram, moment=np.array([5e5, 9.0, 9.0]))
    joint = learned(TERMS, case, 10, 3)
    z = joint.inverse[0]
    own = case.contexts.T @ case.contexts + TERMS.ridge * np.eye(3)
    others = np.linalg.inv(z) - own  # DṼ
    assert others[0, 0] > 1e5
    others[0, 0] = 0.0
    np.testing.assert_allclose(others, 0.0, atol=1e-6)
    assert joint.estimate[0, 0] == pytest.approx(0.5, abs=0.01)


# ---------------------------------------------------------------------------------- the guarantee


@settings(max_examples=80)
@given(
    st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 50), st.integers(0, 2000),
    st.sampled_from([0.0, 0.3, 4.0, 60.0]), st.sampled_from([0.0, 1.0]),
)  # fmt: skip
def test_the_bound_holds_whenever_its_parts_do(seed, dimension, own, others, deviation, when):
    """Noise at its very bounds, from whichever side hurts, cannot move an estimate further."""
    rng = np.random.default_rng(seed)
    terms, noise = TERMS, noise_of(deviation)
    theta = rng.normal(size=dimension)
    theta *= terms.parameter_bound / np.linalg.norm(theta)
    mine, theirs = contexts_of(rng, own, dimension), contexts_of(rng, others, dimension)
    shift = rng.normal(size=(dimension, dimension))
    shift = 0.5 * (shift + shift.T)
    shift *= noise.norm_bound / np.linalg.norm(shift, 2)  # N ⪰ -bI, as far as it goes
    released, gram = theirs.T @ theirs + shift, mine.T @ mine
    x = rng.normal(size=dimension)

    def worst(gram, ridge, radius, towards):
        """Xᵀη of the length that the martingale allows, in the direction that hurts most."""
        larger = gram + ridge * np.eye(dimension)
        size = math.sqrt(towards @ larger @ towards)
        return radius * larger @ towards / size if size > 0 else np.zeros(dimension)

    # What hurts depends on D, and D on Ṽ alone: so it is tried out, then done.
    growth = np.linalg.slogdet(np.eye(dimension) + gram / terms.martingale_ridge)[1]
    own_radius = terms.reward_noise * math.sqrt(terms.own_log_term + growth)
    ridge = max(noise.norm_bound, terms.martingale_ridge)
    spread = np.linalg.slogdet(np.eye(dimension) + theirs.T @ theirs / ridge)[1]
    their_radius = terms.reward_noise * math.sqrt(terms.others_log_term + spread)
    quiet = Case(mine, mine @ theta, released, np.zeros(dimension), noise)
    loaded = int(when * own)
    known = learned(terms, quiet, loaded, dimension)
    z = known.inverse[0] @ x
    chosen = np.linalg.inv(known.inverse[0]) - gram - terms.ridge * np.eye(dimension)
    values, vectors = np.linalg.eigh(released)
    diagonal = np.diag(vectors.T @ chosen @ vectors)
    counted = np.abs(diagonal) > 1e-7 * max(1.0, np.abs(values).max())
    weights = np.where(counted, diagonal / np.where(counted, values, 1.0), 0.0)
    moved = vectors @ (weights * (vectors.T @ z))  # Dz
    # h - Nθ* of length w along Dz, rewards of both sides along theirs.
    length = np.linalg.norm(moved)
    bias = noise.bias_bound * moved / length if length > 0 else np.zeros(dimension)
    noise_of_rewards = worst(gram, terms.martingale_ridge, own_radius, z)
    theirs_noise = worst(theirs.T @ theirs, ridge, their_radius, moved)
    # Rewards whose noise adds up to just that (least squares; own records span what they can).
    eta = np.linalg.lstsq(mine.T, noise_of_rewards, rcond=None)[0]
    for sign in (1.0, -1.0):
        case = Case(
            mine, mine @ theta + sign * eta, released,
            theirs.T @ theirs @ theta + shift @ theta + sign * (theirs_noise + bias), noise,
        )  # fmt: skip
        joint = learned(terms, case, loaded, dimension)
        error = abs(x @ (joint.estimate[0] - theta))
        assert error <= upper_width(joint, x) * (1.0 + 1e-5) + 1e-9


def test_the_bound_is_not_far_from_what_can_happen():
    """A guard against a bound that holds because it is huge: the worst noise comes near it."""
    dimension, rng = 3, np.random.default_rng(8)
    mine = contexts_of(rng, 400, dimension)
    theta = np.array([1.0, 0.0, 0.0])
    gram = mine.T @ mine
    larger = gram + TERMS.martingale_ridge * np.eye(dimension)
    z = np.linalg.solve(gram + TERMS.ridge * np.eye(dimension), theta)
    growth = np.linalg.slogdet(larger / TERMS.martingale_ridge)[1]
    radius = TERMS.reward_noise * math.sqrt(TERMS.own_log_term + growth)
    push = -radius * larger @ z / math.sqrt(z @ larger @ z)
    eta = np.linalg.lstsq(mine.T, push, rcond=None)[0]
    nothing = np.zeros((dimension, dimension))
    case = Case(mine, mine @ theta + eta, nothing, np.zeros(dimension), NOBODY)
    joint = learned(TERMS, case, 0, dimension)
    assert abs(theta @ joint.estimate[0] - 1.0) > 0.9 * upper_width(joint, theta)


# ----------------------------------------------------------------------------------- the settings


@pytest.mark.parametrize(
    ("preset", "parts"),
    [
        ("feducb-hybrid", {}),
        ("linucb-alone", {}),
        ("feducb-p2p-hybrid", {"graph": "line", "gamma": 2}),
        ("feducb-p2p-hybrid", {"graph": "star", "gamma": 1}),
    ],
)
@pytest.mark.parametrize("alpha", [0.01, 0.2])
def test_all_parts_of_alpha_add_up_to_alpha(preset, parts, alpha):
    """The probabilities that are spent, read off the terms: own, others' and the pooled bound."""
    world = Linear(agents=6, dim=3, arms=4)
    entry = system(preset, alpha=alpha, confidence="adaptive", **parts)
    plan = plan_of(entry.config, world, 500)
    terms, constants = plan.constants.joint, plan.constants
    own = 6 * math.exp(-0.5 * terms.own_log_term)
    if not constants.releases:
        assert own == pytest.approx(alpha)
        return
    # Of others: half for their rewards in every sum, a quarter for b and w each.
    each = (plan.peers.lag.max(axis=1) + 1).sum() if "graph" in parts else 6
    sums = constants.releases * int(each)  # each has a ridge parameter of its own
    rewards = sums * math.exp(-0.5 * terms.others_log_term)
    assert rewards == pytest.approx(0.5 * shares.OTHERS_SHARE * alpha)
    spent = shares.OWN_SHARE + shares.POOLED_SHARE + shares.OTHERS_SHARE
    assert spent <= 1.0 + 1e-12
    second = shares.POOLED_SHARE if not terms.second_bound else 0.0
    assert own == pytest.approx((shares.OWN_SHARE + second) * alpha)


@pytest.mark.parametrize("preset", ["feducb-hybrid", "feducb-p2p-hybrid"])
def test_a_sum_that_noise_hides_to_the_end_has_no_bound_that_counts(preset):
    """Public facts decide: more rounds bring it back, more records of a person take it away."""
    world = Classification(agents=40, dataset="wine", components=2, shards="shared")

    def counts(rounds, **parts):
        config = system(preset, delta=0.01, **parts).config
        return plan_of(config, world, rounds).constants.joint.second_bound

    assert counts(200)
    assert not counts(20)
    assert counts(200, unit="person", records_per_person=1)
    assert not counts(200, unit="person", records_per_person=50)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_the_arm_is_the_best_by_the_smaller_of_two_scores(shared, seed):
    """Against all scores computed; coarse numbers make many of them equal."""
    rng = np.random.default_rng(seed)
    arms, dim = int(rng.integers(1, 30)), 3
    models = 1 if shared else arms
    features = rng.integers(-2, 3, (dim, arms if shared else 1)).astype(np.float32)
    theta = rng.integers(-1, 2, (models, dim)).astype(np.float32)
    width = np.triu(rng.integers(0, 2, (models, dim, dim))).astype(np.float32)
    known = rng.integers(-1, 6, arms).astype(np.float32)
    if seed % 4 == 0:
        known[rng.integers(arms)] = np.nan
    first = int(rng.integers(arms))
    counts = rng.random(models) < 0.7
    arm = best_arm(known, first)
    if arm < 0:
        return
    others = np.empty(arms, np.float32)
    score_arms(features, theta, width, others, new_score_buffers(dim))
    applies = np.broadcast_to(counts, arms) if shared else counts
    smaller = np.where(applies & (others < known), others, known)
    order = (first + np.arange(arms)) % arms
    expected = order[np.nanargmax(smaller[order])]

    found = best_of_smaller(features, theta, width, counts, first, arm, known.copy())
    assert found == expected


def test_an_arm_that_cannot_win_is_not_scored_again():
    known = np.array([9.0, 3.0, 5.0], np.float32)
    features, theta = np.eye(3, dtype=np.float32), np.full((1, 3), 4.0, np.float32)
    width = np.zeros((1, 3, 3), np.float32)
    scores = known.copy()
    found = best_of_smaller(features, theta, width, np.ones(1, np.bool_), 1, 0, scores)
    assert found == 2  # the first of equals from arm 1 on: 4 with both
    np.testing.assert_array_equal(scores, [4.0, 3.0, 4.0])


def test_a_record_is_in_the_statistic_as_it_was_given():
    joint, (gain, moved) = fresh(TERMS, 2), np.empty((2, 2))
    expected, context = np.zeros((1, packed_size(2))), np.array([0.3, -0.6])
    for reward in (0.5, -1.0):
        learner.observe_joint(TERMS, joint, 0, context, reward, 0.0, gain, moved)
        add_record(expected, 0, context, reward, 0.0)
    np.testing.assert_array_equal(joint.statistic, expected)
