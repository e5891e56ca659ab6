"""Is it worth having on a table of one's own? The secure hybrid beside all that a user has.

Each table is prepared as ``fedbandits init`` prepares it, and played at ε = 1, δ = 1e-5 and
defaults. Beside it play parties alone at their best (α and λ are searched on other replicates), a
plain LinUCB alone (numpy, α = 1, λ = 1, columns in standard deviations), and all records pooled in
clear, in one estimate and as far as own records agree with them. All meet the same rows. The tables
are frozen, in ``own_worlds.py`` and ``own_held_out.py``; (M, T) stands behind their names. Numbers
are mistakes, or regret, a party. Prints Markdown.

    python benchmarks/own_tables.py [NAME …]             what was asked, and what is
    python benchmarks/own_tables.py --noise [NAME …]     by ε: does less noise ever hurt?
    python benchmarks/own_tables.py --few [NAME …]       3 to 20 parties, 300 to 20,000 rounds
    python benchmarks/own_tables.py --held-out [NAME …]  ten tables that served no choice
    python benchmarks/own_tables.py --verdicts [NAME …]  is the answer of the tool the right one?

NAME limits a mode to some worlds. ``--keep FILE`` writes what each replicate lost, and ``--against
FILE`` lays a later version beside it, replicate by replicate.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import fedbandits as fb
import own_held_out
import own_worlds
from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigWarning
from own_worlds import Array, Rows, World

HYBRID, ALONE, PLAIN = "secure hybrid", "alone at its best", "plain LinUCB"
POOLED, PARTIAL = "pooled in clear", "pooled, partial"
SECURE = "feducb-secure-hybrid"
DELTA = 1e-5
#: ε of more and more; the last one is next to no noise.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 1e6)
NOISE = ("iris", "bc30", "warfarin-50", "own-theta-1", "wine")
MEMBERS, HORIZONS = (3, 5, 10, 20), (300, 1000, 3000, 20_000)
#: From so many rounds on fewer replicates are played: so many.
_LONG, _FEWER = 20_000, 4


class Ratio(NamedTuple):
    """A ratio of means over paired replicates."""

    value: float
    half: float  # half of its 95% interval, by Student's t and the delta method

    @classmethod
    def of(cls, numbers: Array, base: Array) -> Ratio:
        """Compare ``numbers`` with ``base``, (replicates,) each."""
        value = float(numbers.mean() / base.mean())
        return cls(value, half_width(numbers - value * base) / float(base.mean()))

    @property
    def upper(self) -> float:
        """The upper end of the 95% interval."""
        return self.value + self.half

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.half:.3f}"


def half_width(differences: Array) -> float:
    """Return half of the 95% interval of a mean, by Student's t."""
    count = len(differences)
    return float(stats.t.ppf(0.975, count - 1) * differences.std(ddof=1) / math.sqrt(count))


def judged(value: float, upper: float, asked: float) -> str:
    """Say whether what was asked is met, by the mean and by the upper end of its interval."""
    if value > asked:
        return "missed"
    return "met" if upper <= asked else "met by the mean"


# ------------------------------------------------------------------------------------- playing


def hybrid(epsilon: float = 1.0, label: str = HYBRID) -> Any:
    """Return the secure hybrid at its defaults."""
    return fb.system(SECURE, label=label, epsilon=epsilon, delta=DELTA)


def pooled() -> tuple[Any, Any]:
    """Return all records in clear: in one estimate, and as far as own records agree with them."""
    partial = fb.system("linucb-pooled-hybrid", label=PARTIAL)
    return fb.system("linucb-pooled", label=POOLED), partial


def experiment(
    world: Environment, rounds: int, systems: Sequence[Any], replicates: int, seed: int
) -> fb.Experiment:
    """Put together what is played."""
    return fb.Experiment(
        name="own-tables", rounds=rounds, replicates=replicates, seed=seed, environment=world,
        systems=tuple(systems), checkpoints=2,
    )  # fmt: skip


def lost(played: fb.Experiment, jobs: int) -> dict[str, Array]:
    """Return what a party of each system lost on average, (replicates,) by label."""
    found = fb.run(played, jobs=jobs).regret.isel(round=-1).mean("party")
    return {str(label): found.sel(system=label).values for label in found.system.values}


def plain_linucb(rows: Rows, rounds: int, seed: int, replicates: int) -> Array:
    """Play LinUCB alone, one model an arm, on the rows that the systems of a run meet.

    α = 1, λ = 1, columns in standard deviations of all rows and a constant, over √(d + 1). All
    parties are played at once. Returns what a party lost on average, (replicates,).
    """
    values = rows.values[:, rows.values.std(axis=0) > 0]
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    known = np.c_[scaled, np.ones(len(values))] / math.sqrt(values.shape[1] + 1)
    best, arms = rows.paid.max(axis=1), rows.paid.shape[1]
    found = []
    for replicate in range(replicates):
        met, draws = rows.met(rounds, seed, replicate), np.random.default_rng((seed, replicate))
        every = np.arange(met.shape[1])
        inverse = np.tile(np.eye(known.shape[1]), (len(every), arms, 1, 1))
        sums = np.zeros((len(every), arms, known.shape[1]))
        total = 0.0
        for now in met:
            x = known[now]
            seen = (inverse @ x[:, None, :, None])[..., 0]
            widths = np.sqrt(np.einsum("mkd,md->mk", seen, x))
            scores = np.einsum("mkd,mkd->mk", seen, sums) + widths
            chosen = (scores + 1e-9 * draws.random(scores.shape)).argmax(axis=1)
            paid, v = rows.paid[now, chosen], seen[every, chosen]
            total += float((best[now] - paid).mean())
            shrunk = 1.0 + np.einsum("md,md->m", v, x)
            inverse[every, chosen] -= v[:, :, None] * v[:, None, :] / shrunk[:, None, None]
            sums[every, chosen] += paid[:, None] * x
        found.append(total)
    return np.array(found)


class Options(NamedTuple):
    """How a mode is played."""

    names: Sequence[str]
    replicates: int
    seed: int
    jobs: int
    keep: Path | None = None
    against: Path | None = None

    def chosen(self, worlds: Mapping[str, Any]) -> list[str]:
        """Return the names of the worlds that are played."""
        if unknown := sorted({*self.names} - {*worlds}):
            raise SystemExit(f"NAME: given {', '.join(unknown)}; known: {', '.join(worlds)}")
        return [name for name in worlds if not self.names or name in self.names]


def told(text: str, since: float | None = None) -> float:
    """Say on stderr what is going on, and return the time."""
    now = time.monotonic()
    took = "" if since is None else f" {now - since:.0f} s"
    print(f"[{time.strftime('%H:%M:%S')}] {text}{took}", file=sys.stderr, flush=True)
    return now


def head(*titles: str) -> None:
    """Print the first two lines of a table; the first column has words."""
    print("| " + " | ".join(titles) + " |")
    print("| --- |" + " --: |" * (len(titles) - 1), flush=True)


def row(*cells: object) -> None:
    """Print a line of a table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


# ------------------------------------------------------------------------------- what was asked


def beside_all(world: World, options: Options) -> tuple[dict[str, Array], str]:
    """Play a world with all opponents; return what each lost, and the settings of alone."""
    environment, rows = world.made()
    args = options.replicates, options.seed
    # The search sees the secure hybrid only: what is pooled in clear chooses nothing.
    searched = fb.with_alone(
        experiment(environment, world.rounds, [hybrid()], *args), jobs=options.jobs
    )
    best = next(one for one in searched.systems if one.label == searched.best_alone)
    tried = {key: getattr(best.config, key) for key in ("exploration_scale", "regularization")}
    systems = [hybrid(), *pooled(), fb.system(best.preset, label=ALONE, **tried)]
    if rows is None:  # much the same: the tool finds σ from an agent's own records besides
        systems.append(fb.system("linucb-alone", label=PLAIN))
    found = lost(experiment(environment, world.rounds, systems, *args), options.jobs)
    if rows is not None:
        found[PLAIN] = plain_linucb(rows, world.rounds, options.seed, options.replicates)
    ridge = tried["regularization"]
    return found, (
        f"α = {tried['exploration_scale']:g}, λ = {'default' if ridge == 'auto' else f'{ridge:g}'}"
    )


def kept_before(path: Path | None) -> dict[str, Array]:
    """Read what the secure hybrid lost in each world, by another version."""
    lines = path.read_text().splitlines() if path else []
    read = (json.loads(line) for line in lines)
    return {one["name"]: np.array(one["lost"][HYBRID]) for one in read}


def main_table(worlds: Mapping[str, World], options: Options) -> None:
    """Print what was asked in each world, and what is."""
    before = kept_before(options.against)
    head(
        "world (M, T)", ALONE, PLAIN, "alone / plain (asked ≤ 1.05)", HYBRID, POOLED, PARTIAL,
        "× the better of alone and plain", "upper 95% limit", "asked", "",
        *(["× before"] if before else []),
    )  # fmt: skip
    for name in options.chosen(worlds):
        since, world = told(f"{name} …"), worlds[name]
        found, how = beside_all(world, options)
        alone, plain, own = found[ALONE], found[PLAIN], found[HYBRID]
        fair = Ratio.of(alone, plain)
        ratio = Ratio.of(own, alone if alone.mean() <= plain.mean() else plain)
        value, upper = ratio.value, ratio.upper
        if world.is_loss:
            value, upper = float(own.mean()), float(own.mean()) + half_width(own)
        asked, verdict = "–", ""
        if world.asked is not None:
            asked = f"≤ {world.asked:g}" + (" lost" if world.is_loss else "")
            verdict = judged(value, upper, world.asked)
        row(
            world.title, f"{alone.mean():.4g} ({how})", f"{plain.mean():.4g}",
            f"{fair}, {judged(fair.value, fair.upper, 1.05)}",
            *(f"{found[label].mean():.4g}" for label in (HYBRID, POOLED, PARTIAL)),
            ratio, f"{upper:.3f}", asked, verdict,
            *([Ratio.of(own, before[name]) if name in before else "–"] if before else []),
        )  # fmt: skip
        if options.keep:
            kept = {label: values.tolist() for label, values in found.items()}
            with options.keep.open("a") as file:
                file.write(json.dumps({"name": name, "seed": options.seed, "lost": kept}) + "\n")
        told(name, since)


# -------------------------------------------------------------------------------------- by noise


def worst_rise(found: Sequence[Array]) -> tuple[int, int, float, float]:
    """Return the pair of which the second, with less noise, loses most beside its error.

    Returned are both numbers, what is lost more, and half of the 95% interval of that.
    """
    rises = []
    for first in range(len(found)):
        for second in range(first + 1, len(found)):
            more = found[second] - found[first]
            rises.append((first, second, float(more.mean()), half_width(more)))
    return max(rises, key=lambda rise: rise[2] / rise[3])


def epsilon_named(epsilon: float) -> str:
    """Name an ε."""
    return "next to no noise" if epsilon == EPSILONS[-1] else f"ε = {epsilon:g}"


def noise_table(options: Options) -> None:
    """Print what the secure hybrid loses by ε, and where less noise loses more."""
    worlds = {name: own_worlds.WORLDS[name] for name in NOISE}
    head("world (M, T)", *map(epsilon_named, EPSILONS), "worst rise with less noise", "")
    for name in options.chosen(worlds):
        since, world = told(f"{name} …"), worlds[name]
        systems = [hybrid(epsilon, epsilon_named(epsilon)) for epsilon in EPSILONS]
        made = experiment(world.made()[0], world.rounds, systems, options.replicates, options.seed)
        found = [*lost(made, options.jobs).values()]
        first, second, more, half = worst_rise(found)
        row(
            world.title, *(f"{each.mean():.4g}" for each in found),
            f"{more:+.2g} ± {half:.2g}, {epsilon_named(EPSILONS[first])} → "
            f"{epsilon_named(EPSILONS[second])}",
            "hurts" if more > half else "never hurts",
        )  # fmt: skip
        told(name, since)


# ------------------------------------------------------------------------------ few organisations


def of_few(name: str, members: int) -> Environment:
    """Make a world of a few parties."""
    match name:
        case "warfarin":
            return own_worlds.warfarin(members).environment()
        case "made":
            return own_worlds.made_classes().of_first(members).environment()
        case "diabetes":
            return own_worlds.drawn()["diabetes"].of_first(members).environment()
        case "linear-10":
            return own_worlds.linear(10, 20, members)
        case _:
            return own_worlds.linear(5, 10, members)


FEW = {
    "warfarin": "warfarin-like", "made": "four made classes", "diabetes": "diabetes in thirds",
    "linear-10": "linear, d = 10, K = 20", "linear-5": "linear, d = 5, K = 10",
}  # fmt: skip


def few_table(options: Options) -> None:
    """Print ratios to learning alone with few parties, and from where on it pays."""
    shown = (1.0, 3.0, EPSILONS[-1])
    head("world", "M", "T", "alone", *map(epsilon_named, shown), POOLED, PARTIAL, "ε = 1 pays")
    paying: dict[str, list[str]] = {}
    for name in options.chosen(FEW):
        paying[name] = []
        for members in MEMBERS:
            for rounds in HORIZONS:
                if few_row(name, members, rounds, shown, options):
                    paying[name].append(f"M = {members}, T = {rounds:,}")
    for name, places in paying.items():
        print(f"\n{FEW[name]}: ε = 1 pays at {'; '.join(places) or 'none of these'}.", flush=True)


def few_row(name: str, members: int, rounds: int, shown: Iterable[float], options: Options) -> bool:
    """Print one line; tell whether it pays at ε = 1."""
    since = told(f"{name}, M = {members}, T = {rounds} …")
    systems = [fb.system("linucb-alone", label="alone")]
    systems += [hybrid(epsilon, epsilon_named(epsilon)) for epsilon in shown]
    count = min(_FEWER, options.replicates) if rounds >= _LONG else options.replicates
    made = experiment(of_few(name, members), rounds, [*systems, *pooled()], count, options.seed)
    alone, *others = lost(made, options.jobs).values()
    ratios = [Ratio.of(each, alone) for each in others]
    pays = ratios[0].upper < 1.0
    loses = ratios[0].value - ratios[0].half > 1.0
    row(
        FEW[name], members, f"{rounds:,}", f"{alone.mean():.4g}", *ratios,
        "yes" if pays else "it loses" if loses else "–",
    )  # fmt: skip
    told("played", since)
    return pays


# --------------------------------------------------------------------------------------- verdicts

#: As ``init`` writes them, with the seed of ``init``; the truth has another seed, and more.
_AS_INIT, _OF_TRUTH = 8, 32
_SEED_OF_TRUTH = 9001


def verdict(world: World, jobs: int) -> tuple[bool | None, str]:
    """Return whether the secure hybrid pays by the answer of the tool, and its first line."""
    systems = [
        fb.system("linucb-alone", label="alone"),
        fb.system("linucb-pooled-hybrid", label=POOLED),
        fb.system("feducb-secure"),
        fb.system(SECURE, label=HYBRID),
    ]
    made = fb.with_alone(experiment(world.made()[0], world.rounds, systems, _AS_INIT, 0), jobs=jobs)
    result = fb.with_opponents(made, fb.run(made, jobs=jobs), jobs=jobs)
    answer = fb.answer(made, result)
    about = next(one for one in answer.comparisons if one.system == HYBRID and one.decides)
    return about.pays, answer.headline


def verdict_table(options: Options) -> None:
    """Print what the tool says of each table, and what is true."""
    tables = {**own_worlds.WORLDS, **own_held_out.MORE, **own_held_out.OWN}
    tables = {name: one for name, one in tables.items() if isinstance(one.make(), Rows)}
    said = {True: "pays", False: "does not pay", None: "no difference"}
    head("table (M, T)", "the tool says", PLAIN, HYBRID, "saved", "")
    wrong = 0
    for name in options.chosen(tables):
        since, world = told(f"{name} …"), tables[name]
        pays, headline = verdict(world, options.jobs)
        told(headline)
        environment, rows = world.made()
        assert rows is not None
        made = experiment(environment, world.rounds, [hybrid()], _OF_TRUTH, _SEED_OF_TRUTH)
        own = lost(made, options.jobs)[HYBRID]
        plain = plain_linucb(rows, world.rounds, _SEED_OF_TRUTH, _OF_TRUTH)
        saved, half = float((plain - own).mean()), half_width(plain - own)
        false = (pays is True and saved < 0.0) or (pays is None and saved < -half)
        wrong += false
        row(
            world.title, said[pays], f"{plain.mean():.4g}", f"{own.mean():.4g}",
            f"{saved:+.3g} ± {half:.2g}", "false" if false else "",
        )  # fmt: skip
        told(name, since)
    print(f"\nFalse verdicts: {wrong}.", flush=True)


def main() -> None:
    """Play one mode, and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="worlds; all of them by default")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--noise", action="store_true", help="by ε: does less noise ever hurt?")
    modes.add_argument("--few", action="store_true", help="3 to 20 parties, long and short")
    modes.add_argument("--held-out", action="store_true", help="tables that served no choice")
    modes.add_argument("--verdicts", action="store_true", help="answers of the tool, and the truth")
    parser.add_argument("--replicates", type=int, default=8, help="8 by default")
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--jobs", type=int, default=1, help="replicates side by side")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="add what replicates lost to it")
    parser.add_argument("--against", type=Path, metavar="FILE", help="what another version kept")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConfigWarning)
    options = Options(
        given.names, given.replicates, given.seed, given.jobs, given.keep, given.against
    )
    if given.noise:
        noise_table(options)
    elif given.few:
        few_table(options)
    elif given.verdicts:
        verdict_table(options)
    else:
        main_table(own_held_out.HELD_OUT if given.held_out else own_worlds.WORLDS, options)


if __name__ == "__main__":
    main()
