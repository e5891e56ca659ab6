"""Figure 8(d) of Ciucanu et al. (2022): shares of participants in the time."""

from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Bernoulli
from fedbandits.experiments.plots import line_style
from fedbandits.reproduce.engine import (
    Context,
    Law,
    Outcome,
    Row,
    Verdict,
    deviation,
    grouped,
    legend_beside,
    panels,
    verdict_of,
    where,
)
from fedbandits.reproduce.samba import (
    BITS,
    PARTY_STEPS,
    Sizes,
    compile_parties,
    parties,
    played_means,
    replicate,
    sources,
)
from fedbandits.settings.experiment import system
from fedbandits.systems.samba.keys import DEALER, OWNER
from fedbandits.systems.samba.loop import ROLES

_OWNERS, _CONTROLLER, _COMP, _CUSTOMER = ROLES
_ONE = "one data owner"
#: Working roles of each variant; the paper has the first variant.
_PUBLISHED, _SILENT = "published", "silent"
WORKERS = {_PUBLISHED: ROLES, _SILENT: (*ROLES, DEALER)}
_PRESETS = {_PUBLISHED: "samba", _SILENT: "samba-silent"}
#: "The share of Comp stays the same": largest difference in percentage points.
_SAME = 10.0
#: "Roughly equivalent": within this factor. In one of the authors' result files it is 3.0.
_ROUGHLY = 4.0
#: "Negligible": below this share.
_NEGLIGIBLE = 0.02
_ALGORITHMS = ("pursuit", "ucb")
#: Quick and full.
SIZES = Sizes([3000], [10, 50, 100], 3), Sizes([100_000], [10, 50, 100], 50)


def figure_8d(context: Context) -> Outcome:
    """Make the shares of time, every packet sealed by itself."""
    sizes, data = SIZES[context.full], sources(context)
    (budget,) = sizes.budgets
    table = {
        (source.name, variant, algorithm, arms): (
            f"{source.name}-{variant}-{algorithm}-K{arms}".replace(" ", "_"),
            functools.partial(
                _MEASURES[variant], f"{_PRESETS[variant]}-{algorithm}", source.world(arms), budget
            ),
        )
        for source, variant, algorithm, arms in itertools.product(
            data, WORKERS, _ALGORITHMS, sizes.arms
        )
    }
    taken = context.measured(table, sizes.repeats)
    rows = [_row(*key, seconds) for key, seconds in taken.items()]
    judged, remarks = verdict(rows)
    remarks = [
        played_means(data),
        f"Means of {sizes.repeats} runs each, in processor time. The paper's pies are of Pursuit, "
        "with 10 and with 100 arms; UCB and 50 arms are added.",
        *remarks,
        "Times are of one process that plays all roles; messages are not wrapped for a network. "
        "Owners' Paillier encryptions weigh more the fewer rounds there are. "
        "The customer's key is made before, as in the authors' code.",
        f"Silent runs are played by parties that exchange messages, {PARTY_STEPS} steps of each. A "
        "party's time is that of its events and messages, which it decodes. There is a dealer, and "
        "shares are added in place of Paillier's encryptions. Silent runs do not count in the "
        "verdict, as the paper does not have them.",
    ]
    return Outcome(rows, _draw(rows), remarks, judged)


def _seconds_by_role(preset: str, world: Bernoulli, budget: int, number: int) -> dict[str, float]:
    config = system(preset, paillier_bits=BITS).config
    run = replicate(config, world, budget, number, time.thread_time)
    run.seconds.update(dict.fromkeys(run.seconds, 0.0))
    run.advance(budget)
    return run.seconds


def _seconds_by_party(preset: str, world: Bernoulli, budget: int, number: int) -> dict[str, float]:
    """Measure the time of parties for events and messages, by role."""
    config = system(preset, paillier_bits=BITS).config
    compile_parties(config)
    rounds = min(budget, world.facts.parties + PARTY_STEPS)
    run, seconds = parties(config, world, rounds, number), dict.fromkeys(WORKERS[_SILENT], 0.0)
    for party in run.parties:
        role = _OWNERS if party.role == OWNER else party.role
        for name in ("handle", "receive_bytes"):
            setattr(party, name, _timed(getattr(party, name), seconds, role))
    run.advance(rounds)
    return seconds


def _timed(method: Callable[..., Any], seconds: dict[str, float], role: str) -> Callable[..., Any]:
    """Return the method, which adds its time to the seconds of the role."""

    def timed(*arguments: Any) -> Any:
        began = time.thread_time()
        result = method(*arguments)
        seconds[role] += time.thread_time() - began
        return result

    return timed


_MEASURES = {_PUBLISHED: _seconds_by_role, _SILENT: _seconds_by_party}


def _row(
    source: str, variant: str, algorithm: str, arms: int, taken: Sequence[dict[str, float]]
) -> Row:
    """Return the shares of one size; a missing time of a role is an error."""
    totals = [sum(seconds.values()) for seconds in taken]
    shares = {
        role: [seconds[role] / total for seconds, total in zip(taken, totals, strict=True)]
        for role in WORKERS[variant]
    }
    mean = {role: statistics.mean(of_runs) for role, of_runs in shares.items()}
    return {
        "data": source,
        "variant": variant,
        "algorithm": algorithm,
        "arms K": arms,
        "seconds": round(statistics.mean(totals), 3),
        **{role: round(mean.get(role, 0.0), 4) for role in WORKERS[_SILENT]},
        _ONE: round(mean[_OWNERS] / arms, 5),
        "deviation of Comp's": round(deviation(shares[_COMP]), 4),
    }


def verdict(rows: Sequence[Row]) -> tuple[Verdict, list[str]]:
    """Judge the four sentences of section 6.2 on shares, each on published rows."""
    rows = where(rows, variant=_PUBLISHED)
    first = min(row[_COMP] / max(row[_ONE], row[_CONTROLLER]) for row in rows)
    comp = [row[_COMP] for row in rows]
    over_arms = [[row[_COMP] for row in of] for of in grouped(rows, "data", "algorithm").values()]
    spread = 100 * max(max(of) - min(of) for of in over_arms)
    against = [row[_CONTROLLER] / row[_ONE] for row in rows]
    customer = max(row[_CUSTOMER] for row in rows)
    laws = {
        "Comp works most of all single participants": (
            first > 1,
            f"Comp works at least {first:.1f} times as long as any other one.",
        ),
        "its share does not depend on K": (
            spread <= _SAME,
            f"Comp's share is {100 * min(comp):.0f}% to {100 * max(comp):.0f}%; with one algorithm "
            f"its shares are at most {spread:.1f} points apart over K.",
        ),
        "the Controller's share is about a data owner's": (
            max(against) <= _ROUGHLY and min(against) >= 1 / _ROUGHLY,
            f"The Controller works {min(against):.1f} to {max(against):.1f} times as long as one "
            "data owner: it permutes K packets, an owner seals one and opens one.",
        ),
        "the customer's share is negligible": (
            customer < _NEGLIGIBLE,
            f"The customer's share is at most {100 * customer:.2f}%.",
        ),
    }
    named = {
        name: Law(holds, f"{name} ({text.rstrip('.')})") for name, (holds, text) in laws.items()
    }
    return verdict_of(named), [text for _, text in laws.values()]


def _draw(rows: Sequence[Row]) -> Plot:
    """Draw pies of the first algorithm with the fewest and the most arms, then bars by variant."""
    by_data = grouped(rows, "data")
    plot, axes = panels(len(by_data), 4, width=4.3, height=3.9)
    for number, ((name,), mine) in enumerate(by_data.items()):
        first, second, *others = axes[4 * number : 4 * number + 4]
        pies = where(mine, variant=_PUBLISHED, algorithm=_ALGORITHMS[0])
        _draw_pie(first, pies[0])
        _draw_pie(second, pies[-1])
        for panel, variant in zip(others, WORKERS, strict=True):
            _draw_bars(panel, where(mine, variant=variant), WORKERS[variant])
            panel.set_title(f"{variant}: {name}")
    return plot


def _draw_pie(axes: Axes, row: Row) -> None:
    """Draw a slice for each owner, as in the paper."""
    arms = row["arms K"]
    sizes = [row[_ONE]] * arms + [row[_CONTROLLER], row[_COMP], row[_CUSTOMER]]
    few = arms <= 10
    owners = [f"DO {i + 1}" if few else "" for i in range(arms)]
    shades = [(0.55 + 0.35 * (i % 2), 0.75, 0.9) for i in range(arms)]
    rest = [line_style(index)["color"] for index in (1, 2, 3)]
    axes.pie(
        sizes, labels=[*owners, "Controller", "Comp", ""], colors=[*shades, *rest],
        textprops={"fontsize": 8}, wedgeprops={"linewidth": 0},
    )  # fmt: skip
    many = "" if few else f" ({arms} slices of data owners)"
    axes.set_title(f"as the paper draws it: {row['algorithm']}, K = {arms}{many}", fontsize=8)


def _draw_bars(axes: Axes, rows: Sequence[Row], roles: Sequence[str]) -> None:
    labels = [f"{row['algorithm']}\nK = {row['arms K']}" for row in rows]
    base = np.zeros(len(rows))
    for index, role in enumerate(roles):
        heights = np.array([100 * row[role] for row in rows])
        axes.bar(labels, heights, bottom=base, label=role, color=line_style(index)["color"])
        base += heights
    axes.tick_params(axis="x", labelsize=7)
    axes.set(ylabel="share of time (%)")
    legend_beside(axes)
