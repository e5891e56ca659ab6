"""Whether sharing ever costs a buyer of P-FCB: ``pfcb`` against the buyers that learn alone.

Beside ``cucb-alone``, which purchases optimistically, the same rules without exchanges: ``pfcb``
with ``schedule = "never"``. It tells what sharing does from what cautious purchases do. Every
figure is a difference of means over buyers, in the same worlds with the same units, with a 95%
interval by Student's t over replicates. Negative: sharing is better. "WORSE" stands where the
whole interval is above 0.

    python benchmarks/pfcb_never_worse.py [--rows NAME ...] [--epsilons X ...] [--rounds T]
        [--replicates N] [--seed S] [--preset NAME]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from fedbandits.environments import Procurement
from fedbandits.settings.experiment import system
from fedbandits.testing.replicates import simulate

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: What those who learn alone take over from a row, and of it what optimistic purchases have too.
RULES = ("zeta", "exploration_scale", "purchases", "quality_confidence")
PLAIN = ("zeta", "exploration_scale")


class Row(NamedTuple):
    """A world, and what is set in it."""

    world: dict[str, Any]
    settings: Mapping[str, Any] = MappingProxyType({})
    share: float = 1.0  # of the rounds that are asked for


def _rows() -> dict[str, Row]:
    rows = {
        f"{case}, {agents} buyers": Row({"case": case, "agents": agents})
        for case in ("uniform", "normal")
        for agents in (2, 3, 5, 10, 20)
    }
    for case in ("uniform", "normal"):
        base = {"case": case, "agents": 5}
        for alpha in (0.2, 0.6, 0.8):
            rows[f"{case}, α = {alpha:g}"] = Row({**base, "quality_threshold": alpha})
        for most in (1, 5, 500):
            rows[f"{case}, capacity {most}"] = Row({**base, "max_capacity": most})
        rows[f"{case}, alike"] = Row({**base, "homogeneous": True})
        rows[f"{case}, 5 producers"] = Row({**base, "producers": 5})
        few = {"case": case, "agents": 2, "producers": 8}
        rows[f"{case}, 8 producers, 2 buyers"] = Row(few)
        rows[f"{case}, 50 buyers"] = Row({"case": case, "agents": 50}, share=0.25)
        rows[f"{case}, radius × 0.3"] = Row(base, {"exploration_scale": 0.3})
        rows[f"{case}, δ = 0.00001"] = Row(base, {"delta": 1e-5})
        rows[f"{case}, ρ = 2"] = Row({**base, "revenue": 2.0})
        rows[f"{case}, first exchange 1"] = Row(base, {"window": "first"})
        rows[f"{case}, exchanges to the end"] = Row(base, {"window": "all"})
        rows[f"{case}, T / 10"] = Row(base, share=0.1)
        rows[f"{case}, T / 100"] = Row(base, share=0.01)
        rows[f"{case}, ζ = 0.2"] = Row(base, {"zeta": 0.2})
        rows[f"{case}, late outcomes"] = Row(base, {"outcomes": "late"})
        rows[f"{case}, running sums"] = Row(base, {"privatizer": "continual"})
        rows[f"{case}, powers"] = Row(base, {"schedule": "powers"})
        rows[f"{case}, confidence 0.9"] = Row(base, {"quality_confidence": 0.9})
        rows[f"{case}, optimistic"] = Row(base, {"purchases": "optimistic"})
    return rows


ROWS = _rows()
WINDOWS = {"first": lambda rounds: (1, rounds), "all": lambda rounds: (rounds // 500 or 1, rounds)}


def play(settings: dict[str, Any], row: Row, rounds: int, seed: int, replicate: int) -> Any:
    """Means over buyers of what is measured, and the worst buyer's share of missed rounds."""
    preset = settings.pop("preset")
    found = {**settings}
    if found.get("window") in WINDOWS:
        found["window"] = WINDOWS[found["window"]](rounds)
    run = simulate(
        system(preset, **found).config, Procurement(**row.world), rounds, seed, replicate
    )
    run.advance(rounds)
    share = run.metrics["violation_share"]
    return np.array(
        [
            run.regret.mean(),
            run.metrics["regret_after_exploration"].mean(),
            share.mean(),
            share.max(),
        ]
    )


def half(differences: Any) -> float:
    """Half the width of the 95% interval of the mean."""
    n = len(differences)
    return float(student.ppf(0.975, n - 1) * differences.std(ddof=1) / n**0.5)


def against(mine: Any, theirs: Any) -> str:
    """Difference of regret, percent of theirs, and how sure that is."""
    each = mine[:, 0] - theirs[:, 0]
    mean, width, level = each.mean(), half(each), theirs[:, 1].mean()
    mark = "WORSE" if mean - width > 0 else "" if mean + width > 0 else "better"
    return f"{mean:9,.1f} ± {width:7,.1f} {100 * mean / level:7.1f}% {mark:6s}"


def missed(mine: Any, theirs: Any) -> str:
    """Difference of shares of rounds that miss the constraint, in percent points."""
    each = 100.0 * (mine[:, 2] - theirs[:, 2])
    mark = "MORE" if each.mean() - half(each) > 0 else ""
    return f"{100 * mine[:, 2].mean():7.3f} {each.mean():+7.3f} {mark:4s}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="*", default=[], help="parts of names")
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", default="pfcb")
    given = parser.parse_args()
    print(
        f"{given.preset}, T = {given.rounds:,}, {given.replicates} replicates, seed {given.seed}; "
        "regret a buyer; % of regret after the exploration; missed: % of rounds"
    )
    print(
        f"{'':30s} {'ε':>5s} {'alone':>8s} {'same rule':>9s} {'- alone':>14s} {'':26s}"
        f"{'- same rule':>12s} {'':22s} missed, - alone"
    )
    for name, row in ROWS.items():
        if given.rows and not any(part in name for part in given.rows):
            continue
        rounds = max(100, round(given.rounds * row.share))

        def all_of(preset: str, row: Row = row, rounds: int = rounds, **settings: Any) -> Any:
            found = [
                play({"preset": preset, **settings}, row, rounds, given.seed, r)
                for r in range(given.replicates)
            ]
            return np.array(found)

        rules = {k: v for k, v in row.settings.items() if k in RULES}
        plain = {k: v for k, v in rules.items() if k in PLAIN}
        alone, same = all_of("cucb-alone", **plain), all_of("pfcb", **rules, schedule="never")
        for epsilon in given.epsilons:
            mine = all_of(given.preset, **row.settings, epsilon=epsilon)
            print(
                f"{name:30s} {epsilon:5g} {alone[:, 0].mean():8,.0f} {same[:, 0].mean():9,.0f} "
                f"{against(mine, alone)} {against(mine, same)} {missed(mine, alone)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
