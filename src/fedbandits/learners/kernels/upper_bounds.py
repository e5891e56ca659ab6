"""Upper bounds of UCB1-Tuned and KL-UCB on the mean of an arm whose rewards are 0 or 1."""

from __future__ import annotations

import math

from fedbandits._compile import compiled, fma

#: Newton's method has doubled its digits often enough by then.
_MOST_STEPS = 64


@compiled
def tuned_bound(mean: float, pulls: int, step: int) -> float:
    """Bound a mean by its own variance (UCB1-Tuned: Auer, Cesa-Bianchi & Fischer 2002, section 4).

    μ̂ + √(ln t / n · min(1/4, V)), where V = μ̂ (1 - μ̂) + √(2 ln t / n) bounds the variance.
    """
    share = math.log(step) / pulls
    variance = fma(mean, 1.0 - mean, math.sqrt(2.0 * share))
    return mean + math.sqrt(share * min(0.25, variance))


@compiled
def divergence_bound(mean: float, level: float) -> float:
    """Find the largest q with d(μ̂, q) ≤ level (KL-UCB: Garivier & Cappé 2011, Algorithm 1).

    d(p, q) = p ln(p/q) + (1 - p) ln((1 - p)/(1 - q)) is the divergence of two Bernoulli laws.
    Newton's method finds 1 - q. It begins at or below it: d(p, q) is at least 2 (q - p)², and at
    least -H(p) - (1 - p) ln(1 - q), H the entropy. From there d, which is convex, leads it upwards.

    Parameters
    ----------
    mean : float
        μ̂, from 0 to 1.
    level : float
        How large the divergence may be; more than 0.
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
