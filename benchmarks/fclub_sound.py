"""FCLUB as it should be: regret beside learning alone, and what else was tried.

Needs the preference vectors in ../shared/data/clustered. Arguments: replicates (default 8), and
"large" for 1,000 MovieLens users over 2,000,000 rounds as well (three replicates). Names of presets
play these alone. "tried" plays other settings too.

Every system is held against the better of learning alone and of clusters without releases: paired
differences over the same contexts and rewards, with their 95% intervals (Student's t). Of learning
alone there are two: ``linucb-per-user``, and the learner of ``fclub`` without clusters.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

from fedbandits.environments import Clustered
from fedbandits.experiments.intervals import interval
from fedbandits.settings.experiment import system
from fedbandits.systems import find_preset
from fedbandits.testing.replicates import simulate

DATA = pathlib.Path(__file__).parents[2] / "shared/data/clustered"
SYNTHETIC = str(DATA / "synthetic-40users-5clusters-d10.npy")
MOVIELENS = str(DATA / "movielens-1000users-d10.npy")
WORLDS = {
    "together": Clustered(preferences=SYNTHETIC),
    "spread": Clustered(preferences=SYNTHETIC, placement="spread"),
    "movielens 40": Clustered(preferences=MOVIELENS, users=40),
    "no two alike": Clustered(users=40, clusters=40),
}
ROUNDS = 131_071
#: fclub's learner without clusters: no phase ends before the horizon.
ALONE = "alone, Bayesian"
#: What nothing should lose to, by more than 5%.
BASELINES = ("linucb-per-user", ALONE, "fclub-local")
PRESETS = (
    *BASELINES, "club", "sclub", "fclub-dc", "fclub", "fclub-clusters", "fclub-clear",
    "fclub-released", "fclub-published", "fclub-authors",
)  # fmt: skip
TRIED = {
    "as it is": {},
    "strictness 0.25": {"strictness": 0.25},
    "strictness 0.5": {"strictness": 0.5},
    "strictness 1": {"strictness": 1.0},
    "strictness 2": {"strictness": 2.0},
    "one cluster with a spread": {"clustering": "population"},
    "trust 0 (others ignored)": {"trust": 0.0},
    "trust 0.01": {"trust": 0.01},
    "trust 100": {"trust": 100.0},
    "others always belong": {"trust": 1e9},
    "rewards not centred": {"center_rewards": False},
    "phases growing by 1.2": {"schedule": "growing(1.2)"},
    "phases growing by 2": {"schedule": "growing(2)"},
    "no exploration bonus": {"exploration_scale": 0.0},
    "twice the bonus": {"exploration_scale": 2.0},
    "one sum a cluster (weaker claim)": {"releases": "clusters"},
    "acts on releases alone": {"local_view": "released"},
    "no releases": {"releases": "never"},
}


def play(world, rounds, seeds, preset, delta, **settings):
    """Regret of each seed, and of the last one the Rand index and messages."""
    if preset == ALONE:
        preset, settings = "fclub-local", {"schedule": f"growing(2, {rounds})"}
    private = find_preset(preset).name == "fclub" or preset == "fclub-published"
    entry = system(preset, **settings, **({"delta": delta} if private else {}))
    regret = []
    for replicate in range(seeds):
        run = simulate(entry.config, world, rounds, 0, replicate)
        run.advance(rounds)
        regret.append(float(run.regret.sum()))
    index = float(run.metrics["adjusted_rand_index"].mean())
    return np.array(regret), index, run.messages


def table(name, world, rounds, seeds, delta) -> None:
    print(f"{name}: T = {rounds:,}, ε = 1, δ = {delta:g}, {seeds} replicates")
    print(
        "                        regret   of alone   against the better baseline   Rand  messages"
    )
    chosen = [preset for preset in PRESETS if preset in sys.argv]
    found = {}
    for preset in dict.fromkeys((*BASELINES, *(chosen or PRESETS))):
        if preset == "fclub-published" and rounds > 200_000:
            continue
        regret, index, messages = play(world, rounds, seeds, preset, delta)
        found[preset] = regret
        better = min((found[base] for base in BASELINES if base in found), key=np.mean)
        apart = interval((regret - better) / better.mean())
        of_alone = regret.mean() / found[BASELINES[0]].mean()
        print(
            f"  {preset:18s} {regret.mean():9,.0f} {of_alone:9.2f} {apart.mean:+10.1%} ± "
            f"{apart.half:5.1%} {index:14.2f} {messages:10,}",
            flush=True,
        )


def tried(seeds) -> None:
    print(f"Regret of fclub as a multiple of learning alone, T = {ROUNDS:,}, ε = 1, δ = 0.1")
    print(" " * 36 + "".join(f"{name:>14s}" for name in WORLDS))
    alone = {
        name: play(world, ROUNDS, seeds, "linucb-per-user", 0.1)[0].mean()
        for name, world in WORLDS.items()
    }
    for label, settings in TRIED.items():
        ratios = [
            play(world, ROUNDS, seeds, "fclub", 0.1, **settings)[0].mean() / alone[name]
            for name, world in WORLDS.items()
        ]
        print(f"  {label:34s}" + "".join(f"{ratio:14.2f}" for ratio in ratios), flush=True)


def main() -> None:
    if not DATA.exists():
        print(f"skipped: no {DATA.name} data beside the project")
        return
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    for name, world in WORLDS.items():
        table(name, world, ROUNDS, seeds, 0.1)
    if "tried" in sys.argv:
        tried(seeds)
    if "large" in sys.argv[2:]:
        table("movielens 1000", Clustered(preferences=MOVIELENS), 2_000_000, 3, 1e-5)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
