"""LinUCB with the variance of a new reward under its root, as River has it, beside ours.

One agent, 2,000 steps; replicates are shared by all rules. α is chosen on a fifth of them, and
differences are paired, on the others. *Plain* is ⟨x, θ⟩ + α √(xᵀV⁻¹x); *predictive* has 1 more
under the root; *shipped* is ``linucb-alone``. Prints Markdown.

    python benchmarks/predictive.py [--replicates 100]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import fedbandits as fb
from beside.worlds import SEED, WORLDS, draw_stream
from fedbandits.testing.replicates import simulate

STEPS = 2000
SETS = {"breast_cancer": 1.0, "wine": 1.0, "digits": 0.3}  # shares of the replicates
SCALES = (0.25, 0.5, 1.0, 2.0)
RULES = ("plain", "predictive", "shipped")
Regrets = np.ndarray[Any, np.dtype[np.float64]]


def played(stream: Any, scale: float, more: float) -> float:
    """Return the regret of LinUCB with a model for each arm, and so much more under the root."""
    contexts, arms = stream.contexts[:, :, 0].astype(np.float64), stream.rewards.shape[1]
    size = contexts.shape[1]
    inverse, sums = np.tile(np.eye(size), (arms, 1, 1)), np.zeros((arms, size))
    theta, lost = sums.copy(), 0.0
    for t, x in enumerate(contexts):
        gains = inverse @ x
        square = gains @ x
        arm = int(np.argmax(theta @ x + scale * np.sqrt(square + more)))
        lost += stream.expected[t].max() - stream.expected[t, arm]
        inverse[arm] -= np.outer(gains[arm], gains[arm]) / (1.0 + square[arm])
        sums[arm] += stream.rewards[t, arm] * x
        theta[arm] = inverse[arm] @ sums[arm]
    return lost


def shipped(world: Any, scale: float, replicate: int) -> float:
    """Return the regret of the preset."""
    config = fb.system("linucb-alone", exploration_scale=scale).config
    run = simulate(config, world, STEPS, SEED, replicate)
    run.advance(STEPS)
    return float(run.regret.sum())


def told(values: Regrets) -> str:
    """Return a mean and its standard error."""
    return f"{values.mean():.2f} ± {values.std(ddof=1) / len(values) ** 0.5:.2f}"


def main() -> None:
    """Play all, and print a line for each data set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--replicates", type=int, default=100)
    given = parser.parse_args()
    print("| data | rule | α = 0.25 / 0.5 / 1 / 2 | α chosen | less than predictive |")
    print("| --- | --- | --- | ---: | ---: |")
    for name, share in SETS.items():
        count = round(share * given.replicates)
        streams = [draw_stream(WORLDS[name], STEPS, replicate) for replicate in range(count)]
        found: dict[str, dict[float, Regrets]] = {rule: {} for rule in RULES}
        for scale in SCALES:
            for rule, more in (("plain", 0.0), ("predictive", 1.0)):
                found[rule][scale] = np.array([played(each, scale, more) for each in streams])
            regrets = [shipped(WORLDS[name], scale, each) for each in range(count)]
            found["shipped"][scale] = np.array(regrets)
        few = max(1, count // 5)
        chosen = {
            rule: min(SCALES, key=lambda scale, of=of: float(of[scale][:few].mean()))
            for rule, of in found.items()
        }
        best = {rule: of[chosen[rule]][few:] for rule, of in found.items()}
        for rule, of in found.items():
            means = " / ".join(f"{each[few:].mean():.1f}" for each in of.values())
            less = told(best["predictive"] - best[rule]) if rule != "predictive" else ""
            print(f"| `{name}` | {rule} | {means} | {chosen[rule]:g} | {less} |", flush=True)


if __name__ == "__main__":
    main()
