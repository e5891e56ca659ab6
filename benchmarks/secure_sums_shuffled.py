"""Secure sums beside local noise and the shuffle model: noise in a sum, and regret, by agents.

    python benchmarks/secure_sums_shuffled.py [--replicates 6] [--picture FILE]

Three ways to protect a record at ε = 1, δ = 1e-5 from whoever sees a sum, without trust in one
party:

* *local*: every agent's releases have the whole noise (Zhou & Chowdhury 2024, silo-level);
* *shuffled*: a trusted shuffler hides whose releases are whose, so each needs less noise (their
  scheme by amplification). How much less follows from the strongest theorem known to us: the clones
  of Feldman, McMillan & Talwar 2023, computed without a closed form. Here all releases of an agent
  count as one message, and the others' acts on totals are left out: both favour the shuffler;
* *secure sums*: nobody sees more than the sum.

Their other scheme, shuffled vector sums (Cheu et al. 2021), has more noise in a sum than one
mechanism has. That is the line *one mechanism*: no way has less.

Worlds: linear, d = 5, K = 10, T = 500. All have the best of four scales of exploration. All systems
act on own records beside sums.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from exploration import DELTA, EPSILON, SCALES, World, linear, regret
from fedbandits.privacy import gaussian

AGENTS = (20, 60, 200, 600, 2000)
#: The share of agents in a sum, and of those whose noise counts.
LEAST, HONEST = 0.8, 0.7
#: Tails beyond so many standard deviations of a binomial are added to δ, not summed up.
_WIDE = 9.0


def clones_delta(local: float, count: int, epsilon: float) -> float:
    """Return δ of ``count`` messages that were shuffled, each ``local``-private.

    The pair of distributions that dominates them is that of Feldman, McMillan & Talwar 2023: C of
    the others are clones of one of the two neighbours, C ~ Bin(n - 1, 2/(e^ε₀ + 1)), half of them
    of each. The message itself is as its own neighbour's with probability e^ε₀/(e^ε₀ + 1).
    """
    own = math.exp(local) / (math.exp(local) + 1.0)
    share = 2.0 / (math.exp(local) + 1.0)
    mean, wide = (count - 1) * share, _WIDE * math.sqrt((count - 1) * share * (1.0 - share)) + 1.0
    low, high = max(0, math.floor(mean - wide)), min(count - 1, math.ceil(mean + wide))
    clones = np.arange(low, high + 1)
    weights = binom.pmf(clones, count - 1, share)
    found = 1.0 - float(weights.sum())
    for number, weight in zip(clones, weights, strict=True):
        halves = np.arange(-1, number + 2)
        same = binom.pmf(halves, number, 0.5)  # k of the clones are of the one neighbour
        one = own * same[:-1] + (1.0 - own) * same[1:]  # the message is counted, too
        other = (1.0 - own) * same[:-1] + own * same[1:]
        found += weight * float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
    return max(found, 0.0)


class Budget(NamedTuple):
    """ε and δ of one agent's releases."""

    epsilon: float
    delta: float

    @property
    def mu(self) -> float:
        """The μ that noise is calibrated for."""
        return gaussian.mu_of(self.epsilon, self.delta)


def shuffled(agents: int) -> Budget:
    """Return the largest budget of an agent whose releases a shuffler hides, or the local one.

    Gaussian noise keeps ε₀ but for a δ₀, which costs n (e^ε + 1)(1 + e^(-ε₀)/2) δ₀.
    """
    whole = Budget(EPSILON, DELTA)
    delta = DELTA / (2.0 * agents * (math.exp(EPSILON) + 1.0) * 1.5)
    low, high = 0.0, 12.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        keeps = clones_delta(middle, agents, EPSILON) <= DELTA / 2.0
        low, high = (middle, high) if keeps else (low, middle)
    found = Budget(low, delta)
    return found if low > 0.0 and found.mu > whole.mu else whole


def noise(agents: int) -> dict[str, float]:
    """Return the deviation of a sum's noise, as a multiple of one mechanism's."""
    one = Budget(EPSILON, DELTA).mu
    return {
        "local": math.sqrt(agents),
        "shuffled": math.sqrt(agents) * one / shuffled(agents).mu,
        "secure sums": math.sqrt(agents / (math.ceil(LEAST * agents) - int(0.1 * agents))),
    }


def best(world: World, preset: str, replicates: int, **settings: Any) -> float:
    """Return the least mean regret over scales of exploration."""
    return min(float(np.mean(regret(world, preset, a, replicates, **settings))) for a in SCALES)


def regrets(agents: int, replicates: int) -> dict[str, float]:
    """Return the regret of an agent, each at its best scale of exploration."""
    world, less = linear(5, 10, agents, 500), shuffled(agents)
    whole = {"epsilon": EPSILON, "delta": DELTA}
    amplified = {"epsilon": less.epsilon, "delta": less.delta}
    return {
        "alone": best(world, "linucb-alone", replicates),
        "local": best(world, "feducb-hybrid", replicates, **whole),
        "shuffled": best(world, "feducb-hybrid", replicates, **amplified),
        "secure sums": best(world, "feducb-secure-hybrid", replicates, **whole),
        "pooled in clear": best(world, "linucb-pooled", replicates),
    }


def draw(noises: list[dict[str, float]], found: list[dict[str, float]], path: str) -> None:
    """Draw noise and regret by the number of agents."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
    colours = dict(zip(found[0], ("C7", "C3", "C1", "C0", "C2"), strict=True))
    for panel, rows in ((left, noises), (right, found)):
        for name in rows[0]:
            panel.plot(AGENTS, [row[name] for row in rows], "o-", color=colours[name], label=name)
        panel.set(xscale="log", yscale="log", xlabel="agents")
    left.axhline(1.0, color="0.4", ls="--", label="one mechanism")
    left.set(ylabel="noise of a sum ÷ one mechanism's", ylim=(0.8, None))
    right.set_ylabel("regret an agent, T = 500")
    shown = dict(zip(*reversed(right.get_legend_handles_labels()), strict=True))
    shown |= dict(zip(*reversed(left.get_legend_handles_labels()), strict=True))
    figure.legend(shown.values(), shown.keys(), loc="outside right center", frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Print the table, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=6)
    parser.add_argument("--picture")
    given = parser.parse_args()
    noises = [noise(agents) for agents in AGENTS]
    found = []
    heads = [f"noise: {name}" for name in noises[0]]
    for agents, row in zip(AGENTS, noises, strict=True):
        found.append(regrets(agents, given.replicates))
        if len(found) == 1:
            heads += [f"regret: {name}" for name in found[0]]
            print("| agents | " + " | ".join(heads) + " |\n| ---: |" + " ---: |" * len(heads))
        cells = [f"{value:.3g}" for value in (*row.values(), *found[-1].values())]
        print(f"| {agents:,} | " + " | ".join(cells) + " |", flush=True)
    if given.picture:
        draw(noises, found, given.picture)


if __name__ == "__main__":
    main()
