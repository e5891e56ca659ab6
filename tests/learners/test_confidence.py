from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.environments import Linear
from fedbandits.learners import confidence
from fedbandits.learners.kernels.confidence import adaptive_terms, choose_shift, radius
from fedbandits.systems.agents.config import Every, Growing, NoNoise, Tree
from fedbandits.systems.feducb import FedUCB
from fedbandits.testing.replicates import simulate


def symmetrised(rng, count, dimension):
    """Noise as the privatizer makes it: off-diagonal variance 1, diagonal 2."""
    raw = rng.normal(size=(count, dimension, dimension))
    return (raw + raw.transpose(0, 2, 1)) / math.sqrt(2.0)


@pytest.mark.parametrize("dimension", [1, 2, 10])
@pytest.mark.parametrize("alpha", [0.3, 0.01])
def test_noise_exceeds_its_bounds_as_rarely_as_promised(dimension, alpha):
    rng, count = np.random.default_rng(3), 40_000
    noise = symmetrised(rng, count, dimension)
    moment = rng.normal(size=(count, dimension))
    margin = 4.0 * math.sqrt(alpha / count)
    norms = np.abs(np.linalg.eigvalsh(noise)).max(axis=1)
    assert np.mean(norms > confidence.operator_norm_factor(dimension, alpha)) <= alpha + margin
    lengths = np.linalg.norm(moment, axis=1)
    assert np.mean(lengths > confidence.vector_norm_factor(dimension, alpha)) <= alpha + margin


@pytest.mark.parametrize("dimension", [1, 2, 10])
@pytest.mark.parametrize(("bound", "ratio"), [(0.5, 1.0), (1.0, 0.7), (3.0, 1.5)])
def test_the_bias_bound_is_the_exact_quantile(dimension, bound, ratio):
    rng, count, alpha = np.random.default_rng(4), 100_000, 0.05
    theta = rng.normal(size=dimension)
    theta *= bound / np.linalg.norm(theta)
    bias = ratio * symmetrised(rng, count, dimension) @ theta - rng.normal(size=(count, dimension))
    exceeded = np.mean(
        np.linalg.norm(bias, axis=1) > confidence.bias_norm_factor(dimension, bound, alpha, ratio)
    )
    assert exceeded == pytest.approx(alpha, abs=4.0 * math.sqrt(alpha / count))


def test_a_shorter_parameter_has_a_smaller_bias():
    factors = [confidence.bias_norm_factor(5, bound, 0.01) for bound in (0.1, 0.5, 1.0, 2.0)]
    assert factors == sorted(factors)


def test_published_bounds_by_hand():
    # m = 3, L = 1, d = 4, n = 4, M = 2, α = 0.5, ε = 2, δ = 0.1:
    # Λ = √32 · 3 · 2 · ln 40 · (8 + 2 ln 32) / 2, κ = √(6 (2 + 2 ln 32) / (2√2)).
    bounds = confidence.published_bounds(3, 4, 2, 4, 1.0, 2.0, 0.1, 0.5)
    assert bounds.rho_min == pytest.approx(934.8, rel=1e-3)
    assert bounds.rho_max == pytest.approx(3 * bounds.rho_min)
    assert bounds.kappa == pytest.approx(4.353, rel=1e-3)


@given(
    st.lists(st.floats(-50.0, 5000.0), min_size=1, max_size=10),
    st.floats(1.0, 300.0),
    st.floats(0.1, 300.0),
    st.floats(0.1, 300.0),
)
def test_the_chosen_shift_keeps_v_positive_and_beats_the_paper_s_habit(values, base, norm, bias):
    spectrum = np.sort(np.array(values))
    log_term = 10.0 - len(values) * math.log(base)

    def width(shift):
        inflation, correction, extra = adaptive_terms(spectrum, shift, base, norm, bias, 1.0)
        log_det = np.log(spectrum + shift + correction).sum()
        beta = radius(inflation, 0.5, log_term, log_det, extra)
        return beta**2 * np.sum(1.0 / (spectrum + shift))

    shift = choose_shift(spectrum, base, norm, bias, 1.0, 0.5, log_term)
    assert spectrum[0] + shift >= base * (1 - 1e-12)
    habit = 2.0 * max(base + norm, base - spectrum[0])  # the paper shifts by 2Λ
    assert width(shift) <= width(habit) * (1 + 1e-9)


def test_the_radius_is_the_root_of_both_logarithms():
    """β = c R √(log term + log det V) + bias; a sum of logarithms below 0 counts as 0."""
    assert radius(2.0, 0.5, 3.0, 6.0, 0.25) == 3.25
    assert radius(2.0, 0.5, 3.0, -6.0, 0.25) == 0.25


def test_without_noise_the_shift_is_the_ridge_parameter():
    spectrum = np.array([0.0, 3.0])
    assert choose_shift(spectrum, 2.5, 0.0, 0.0, 1.0, 0.5, 0.0) == 2.5


def failures(config: FedUCB, environment: Linear, rounds: int, replicates: int) -> int:
    """In how many replicates ‖θ* - θ̃‖_V ever exceeded β, looking after every sync."""
    count = 0
    for replicate in range(replicates):
        simulation = simulate(config, environment, rounds, 17, replicate)
        truth = environment.true_parameters(simulation.world)
        worst = 0.0
        for sync in [*simulation.sync_rounds(), rounds]:
            simulation.advance(int(sync))
            worst = max(worst, simulation.confidence_ratio(truth))
        count += worst > 1.0
    return count


@pytest.mark.parametrize(
    "config",
    [
        FedUCB(confidence="adaptive", delta=0.1, alpha=0.2),
        FedUCB(confidence="adaptive", delta=0.1, alpha=0.2, epsilon=50.0),
        FedUCB(confidence="adaptive", delta=0.1, alpha=0.2, local_view="raw"),
        FedUCB(
            confidence="adaptive",
            delta=0.1,
            alpha=0.2,
            regularization=0.01,
            schedule=Growing(2.0, 3),
        ),
        FedUCB(confidence="adaptive", delta=0.1, alpha=0.2, privatizer=Tree(), schedule=Every(40)),
        FedUCB(confidence="adaptive", alpha=0.2, privatizer=NoNoise()),
    ],
    ids=["toeplitz", "little noise", "raw view", "small ridge", "tree", "no noise"],
)
def test_the_bound_fails_at_most_as_often_as_alpha(config):
    environment = Linear(agents=3, dim=3, arms=4)
    replicates = 200
    failed = failures(config, environment, 400, replicates)
    margin = 3.0 * math.sqrt(config.alpha * (1 - config.alpha) / replicates)
    assert failed / replicates <= config.alpha + margin


def test_the_coverage_test_would_notice_a_radius_that_is_too_small():
    """A guard against a test that cannot fail: at a tenth of the bound, most runs do."""
    environment = Linear(agents=3, dim=3, arms=4)
    config = FedUCB(confidence="adaptive", delta=0.1, alpha=0.2)
    exceeded = 0
    for replicate in range(50):
        simulation = simulate(config, environment, 400, 17, replicate)
        truth = environment.true_parameters(simulation.world)
        simulation.advance(400)
        exceeded += simulation.confidence_ratio(truth) > 0.1
    assert exceeded > 25
