"""FCLUB without noise beside the figures of the authors' code: regret of all users.

40 users on 5 servers, K = 10, T counted in phases up to 131,071; the authors' figures are of one
seed, ours the mean of several (default 5, the first argument). More arguments choose systems by
label.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

from fedbandits.environments import Clustered
from fedbandits.settings.experiment import system
from fedbandits.testing.replicates import simulate

DATA = pathlib.Path(__file__).parents[2] / "shared" / "data" / "clustered"
FILES = {
    "40 users in 5 clusters": "synthetic-40users-5clusters-d10.npy",
    "first 40 users of MovieLens": "movielens-1000users-d10.npy",
}
ROUNDS = (5_000, 20_000, 50_000, 100_000)
AUTHORS = {
    ("40 users in 5 clusters", "linucb-per-user"): (517, 980, 1310, 1570),
    ("40 users in 5 clusters", "club"): (516, 937, 1225, 1496),
    ("40 users in 5 clusters", "sclub"): (350, 766, 1064, 1325),
    ("40 users in 5 clusters", "fclub-dc"): (149, 247, 326, 385),
    ("40 users in 5 clusters", "homo-dc"): (364, 709, 932, 1146),
    ("first 40 users of MovieLens", "linucb-per-user"): (479, 991, 1397, 1748),
    ("first 40 users of MovieLens", "club"): (478, 1025, 1471, 1839),
    ("first 40 users of MovieLens", "sclub"): (400, 957, 1392, 1739),
    ("first 40 users of MovieLens", "fclub-dc"): (328, 788, 1189, 1329),
    ("first 40 users of MovieLens", "homo-dc"): (393, 1064, 2141, 3817),
}
#: Label, preset, parts, and the authors' system that it is held against.
SYSTEMS = (
    ("linucb-per-user", "linucb-per-user", {}, "linucb-per-user"),
    ("club", "club", {}, "club"),
    ("sclub", "sclub", {}, "sclub"),
    ("fclub-dc", "fclub-dc", {}, "fclub-dc"),
    ("fclub-authors", "fclub-authors", {}, "fclub-dc"),
    ("the same, FCLUB-DC's β", "fclub-authors",
     {"confidence": "practical(1.5)", "exploration_scale": 1.0, "regularization": 2.0}, "fclub-dc"),
    ("fclub-dc, servers apart", "fclub-dc", {"sharing": "never"}, "fclub-dc"),
    ("fclub-dc, α₁ = 2", "fclub-dc", {"alpha1": 2.0}, "fclub-dc"),
    ("homo-dc", "homo-dc", {}, "homo-dc"),
    ("homo-dc, servers apart", "homo-dc", {"sharing": "never"}, "homo-dc"),
)  # fmt: skip


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for title, file in FILES.items():
        if not (DATA / file).exists():
            print(f"{title}: skipped, there is no {DATA / file}")
            continue
        environment = Clustered(preferences=str(DATA / file), users=40)
        print(f"{title}: regret after {', '.join(f'{r:,}' for r in ROUNDS)} rounds, {seeds} seeds")
        for label, preset, parts, theirs in SYSTEMS:
            if len(sys.argv) > 2 and label not in sys.argv[2:]:
                continue
            runs = [
                trajectory(system(preset, **parts).config, environment, s) for s in range(seeds)
            ]
            show(label, np.array([r for r, _, _ in runs]), AUTHORS[title, theirs])
            index = np.mean([i for _, i, _ in runs])
            messages = np.mean([m for _, _, m in runs])
            print(f"{'':26s}adjusted Rand index {index:.2f}, {messages:,.0f} messages", flush=True)


def trajectory(config, environment, seed):
    run = simulate(config, environment, 131_071, seed, 0)
    regret = []
    for stop in ROUNDS:
        run.advance(stop)
        regret.append(run.regret.sum())
    return regret, float(run.metrics["adjusted_rand_index"][0]), run.messages


def show(label, ours, theirs) -> None:
    mean = ours.mean(axis=0)
    cells = [f"{o:6,.0f} ({t:5,d} {o / t - 1:+5.0%})" for o, t in zip(mean, theirs, strict=True)]
    spread = ours[:, -1].std(ddof=1) if len(ours) > 1 else float("nan")
    print(f"  {label:24s}{'  '.join(cells)}   deviation of a seed {spread:,.0f}")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
