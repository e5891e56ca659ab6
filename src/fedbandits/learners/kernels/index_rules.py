"""Index rules for stochastic bandits: every arm gets a score from its own records alone.

A rule is a named tuple of its parameters. :func:`declare` adds the functions with which a rule
scores an arm, updates its memory, and explores. Their arguments are one arm's own records, so a
score cannot depend on anything else. That is the *arm score locality* of Ciucanu et al. (2022),
Theorem 1.

Scores are compared in one or more iterations a step: by the largest, or in proportion (see
:mod:`.largest_scores`). The plain run and SAMBA's parties call the same functions, in the form of
:mod:`.rule_handles`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from fedbandits._compile import compiled, fma
from fedbandits._typing import Words64
from fedbandits.random import Key, Purpose, normal, uniform, word_pair

_POSTERIOR = int(Purpose.POSTERIOR)
#: Draws set aside for one gamma variable; each attempt takes three draws and succeeds with over
#: 95%.
_SPAN = 1 << 16
#: Comparisons of scores in an iteration.
LARGEST, IN_PROPORTION = 0, 1
#: Probabilities below this bound count as zero, so that masking them stays exact.
_LEAST = 2.0**-500


@compiled
def _draw_gamma(shape: float, key: Key, party: int, round_: int, offset: int) -> float:
    """Draw a gamma variable of shape ≥ 1, scale 1, by rejection (Marsaglia & Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    for attempt in range(_SPAN // 4):
        place = offset + 4 * attempt
        x = normal(key, party, round_, _POSTERIOR, place)
        v = (1.0 + c * x) ** 3
        if v <= 0.0:
            continue
        u = 1.0 - uniform(key, party, round_, _POSTERIOR, place + 2)
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v
    return d


@compiled
def draw_beta(a: float, b: float, key: Key, party: int, round_: int) -> float:
    """Draw a Beta(a, b) variable, a and b at least 1, as a ratio of two gamma variables."""
    x = _draw_gamma(a, key, party, round_, 0)
    y = _draw_gamma(b, key, party, round_, _SPAN)
    return x / (x + y)


class Arm(NamedTuple):
    """Knowledge of one arm: its own records, and the key of its own draws."""

    pulls: int
    rewards: float  # sum of rewards
    key: Key


class UCB(NamedTuple):
    """μ̂ + √(scale · ln t / n); Figure 4 has scale 2 (Auer, Cesa-Bianchi & Fischer 2002)."""

    scale: float = 2.0


class UCBTuned(NamedTuple):
    """An upper bound by the arm's own variance, see :func:`.upper_bounds.tuned_bound`."""


class KLUCB(NamedTuple):
    """The largest q with n · d(μ̂, q) ≤ ln t + c ln ln t, see :func:`.divergence_bound`."""

    c: float = 0.0


class Thompson(NamedTuple):
    """A draw from the posterior Beta(s + 1, n - s + 1) (Thompson 1933)."""


class EpsilonGreedy(NamedTuple):
    """μ̂, or with probability ε a random arm."""

    epsilon: float = 0.1


class DecreasingEpsilonGreedy(NamedTuple):
    """μ̂, or at step t with probability min(1, (scale · f)^power) a random arm.

    f is K / t, or 1 / log₂ t if ``logarithmic``. The paper states no schedule ("a time-depending
    function", section 4.1.2). With power 1, K / t is the schedule of Auer et al. (2002), Figure 3,
    with their c/d² as ``scale``; 1 / log₂ t is the schedule of the authors' code.
    """

    scale: float = 1.0
    power: float = 1.0
    logarithmic: bool = False


class Softmax(NamedTuple):
    """A rule that plays in proportion to e^(μ̂ / τ)."""

    temperature: float = 0.06


class Pursuit(NamedTuple):
    """A rule of probabilities that move towards the arm with the largest μ̂."""

    rate: float = 0.1


@compiled
def empirical_mean(arm: Arm) -> float:
    """Compute μ̂ of an arm with at least one pull."""
    return arm.rewards / arm.pulls


def mean(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    """Score an arm by μ̂."""
    return empirical_mean(arm)


@compiled
def divergence_level(rule: Any, pulls: int, step: int) -> float:
    """Return the divergence that KL-UCB allows an arm; ln ln t is counted from t = e on."""
    logarithm = math.log(step)
    return float((logarithm + rule.c * math.log(max(logarithm, 1.0))) / pulls)


def _ucb(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return empirical_mean(arm) + math.sqrt(rule.scale * math.log(step) / arm.pulls)


def _tuned(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return tuned_bound(empirical_mean(arm), arm.pulls, step)


def _kl_ucb(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return divergence_bound(empirical_mean(arm), divergence_level(rule, arm.pulls, step))


def _thompson(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return draw_beta(arm.rewards + 1.0, arm.pulls - arm.rewards + 1.0, arm.key, 0, step)


def _fixed(rule: Any, step: Any, arms: Any) -> Any:
    return rule.epsilon


def _decreasing(rule: Any, step: Any, arms: Any) -> Any:
    if rule.logarithmic:
        return min(1.0, (rule.scale / max(1.0, math.log2(step))) ** rule.power)
    return min(1.0, (rule.scale * arms / step) ** rule.power)


def _softmax(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return math.exp(empirical_mean(arm) / rule.temperature)


def _pursuit(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return empirical_mean(arm) if iteration == 1 else memory[0]


def _pursue(rule: Any, iteration: Any, chosen: Any, memory: Any) -> Any:
    if iteration == 1:
        target = 1.0 if chosen else 0.0
        moved = memory[0] + rule.rate * (target - memory[0])
        memory[0] = moved if moved > _LEAST else 0.0


class Declared(NamedTuple):
    """Functions of a rule, see :func:`declare`."""

    iterations: tuple[int, ...]
    score: Callable[..., Any]
    keep: Callable[..., Any] | None
    explore: Callable[..., Any] | None


#: All rules, by the type of their parameters.
RULES: dict[type, Declared] = {}


def declare(
    rule: type,
    iterations: tuple[int, ...],
    score: Callable[..., Any],
    keep: Callable[..., Any] | None = None,
    explore: Callable[..., Any] | None = None,
) -> None:
    """Add a rule, given by functions that Numba can compile.

    Parameters
    ----------
    rule
        The type of the rule's parameters.
    iterations
        The comparison of scores in each iteration of a step, first to last; the last iteration
        decides.
    score
        ``score(rule, iteration, step, arm, memory)`` returns the score of one :class:`Arm`. It is
        finite, and at least 0 where the iteration compares in proportion. ``iteration`` counts from
        1 within its step; ``step`` is t, the number of the next pull, from 1.
        ``memory`` (1,) is the arm's own number that the rule keeps, 1 / K before the first step.
    keep
        ``keep(rule, iteration, chosen, memory)`` updates the memory; ``chosen`` tells whether an
        iteration chose this arm. By default nothing is kept.
    explore
        ``explore(rule, step, arms)`` returns the probability with which a step plays a uniformly
        random
        arm, regardless of scores. By default it is 0.
    """
    RULES[rule] = Declared(iterations, score, keep, explore)


declare(UCB, (LARGEST,), _ucb)
declare(UCBTuned, (LARGEST,), _tuned)
declare(KLUCB, (LARGEST,), _kl_ucb)
declare(Thompson, (LARGEST,), _thompson)
declare(EpsilonGreedy, (LARGEST,), mean, explore=_fixed)
declare(DecreasingEpsilonGreedy, (LARGEST,), mean, explore=_decreasing)
declare(Softmax, (IN_PROPORTION,), _softmax)
declare(Pursuit, (LARGEST, IN_PROPORTION), _pursuit, _pursue)


@compiled
def fill_arm_keys(key: Key, keys: Words64) -> None:
    """Derive a key for every arm, (arms, 2), from a simulation's key."""
    for i in range(keys.shape[0]):
        keys[i, 0], keys[i, 1] = word_pair(key, i, 0, _POSTERIOR, 0)


#: Largest number of Newton steps, enough for all digits.
_MOST_STEPS = 64


@compiled
def tuned_bound(mean: float, pulls: int, step: int) -> float:
    """Bound a mean by its own variance (UCB1-Tuned: Auer, Cesa-Bianchi & Fischer 2002, section 4).

    The bound is μ̂ + √(ln t / n · min(1/4, V)), where V = μ̂ (1 - μ̂) + √(2 ln t / n) bounds the
    variance.
    """
    share = math.log(step) / pulls
    variance = fma(mean, 1.0 - mean, math.sqrt(2.0 * share))
    return mean + math.sqrt(share * min(0.25, variance))


@compiled
def divergence_bound(mean: float, level: float) -> float:
    """Find the largest q with d(μ̂, q) ≤ level (KL-UCB: Garivier & Cappé 2011, Algorithm 1).

    d(p, q) = p ln(p/q) + (1 - p) ln((1 - p)/(1 - q)) is the divergence of two Bernoulli laws.
    Newton's method finds 1 - q. It begins at or below 1 - q: d(p, q) is at least 2 (q - p)², and at
    least -H(p) - (1 - p) ln(1 - q), H the entropy. d is convex, so the steps lead upwards.

    Parameters
    ----------
    mean : float
        μ̂, from 0 to 1.
    level : float
        Largest divergence, above 0.
    """
    rest = 1.0 - mean
    if rest <= 0.0:
        return 1.0
    negentropy = rest * math.log(rest)
    if mean > 0.0:
        negentropy = fma(mean, math.log(mean), negentropy)
    above = max(rest - math.sqrt(0.5 * level), math.exp((negentropy - level) / rest))
    for _ in range(_MOST_STEPS):
        excess = fma(-rest, math.log(above), fma(-mean, math.log1p(-above), negentropy - level))
        moved = above + excess / (rest / above - mean / (1.0 - above))
        if not above < moved < rest:
            break
        above = moved
    return 1.0 - above
