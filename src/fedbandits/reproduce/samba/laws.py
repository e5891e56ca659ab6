"""Laws of SAMBA's times: section 6.2 of Ciucanu et al. (2022), worked out from measurements."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.reproduce.engine import Row, grouped, where
from fedbandits.reproduce.samba import ALGORITHMS, WAYS
from fedbandits.systems.samba.theory import Costs

#: A line must explain as much of the variance; runs on a busy machine stray.
_STRAIGHT = 0.9
#: Pursuit has two iterations a step; "double" is a ratio between these.
_DOUBLE = (1.6, 2.4)
#: "At most an order of magnitude" (section 6.2).
_ORDER = 10.0
#: Standard errors that two totals must be apart to be told apart.
_APART = 2.0


class Law(NamedTuple):
    """A law that the paper states of times: whether it shows, and in which numbers."""

    holds: bool
    text: str


def work_out(rows: Sequence[Row], over: str, costs: Costs) -> dict[str, Law]:
    """Work out each law over all data, from rows over a column and the costs of bare operations.

    With two data sets or more their orders are compared, too.
    """
    laws = {
        "linear": _linear(rows, over),
        "double": _double(rows, over, costs),
        "order": _order(rows),
        "overhead": _overhead(rows, costs),
    }
    by_data = grouped(rows, "data")
    return laws | {"hierarchy": _hierarchy(by_data)} if len(by_data) > 1 else laws


def _linear(rows: Sequence[Row], over: str) -> Law:
    shares = {}
    for algorithm in ALGORITHMS:
        x, y = _line(rows, algorithm, over)
        slope, offset = np.polyfit(x, y, 1)
        spread = float(np.var(y))  # 0 where the clock is too coarse for runs this short
        left = float(np.var(y - slope * x - offset))
        shares[algorithm] = 1.0 - left / spread if spread > 0.0 else 0.0
    least = min(shares, key=shares.__getitem__)
    return Law(
        shares[least] >= _STRAIGHT,
        f"time is linear in {over.split()[1]} (a line explains {100 * shares[least]:.1f}% of the "
        f"variance or more, least for {least})",
    )


def _double(rows: Sequence[Row], over: str, costs: Costs) -> Law:
    """Compare Pursuit's slope with the others'.

    The paper's slopes are of N = 10⁵, where an owner's one Paillier encryption does not show.
    """
    once = costs.paillier_encryption if over == "arms K" else 0.0
    slopes = {name: np.polyfit(*_line(rows, name, over), 1)[0] - once for name in ALGORITHMS}
    others = statistics.mean(slopes[name] for name in ALGORITHMS if name != "pursuit")
    ratio = float(slopes["pursuit"] / others)
    return Law(
        _DOUBLE[0] <= ratio <= _DOUBLE[1],
        f"Pursuit takes double (its slope is {ratio:.2f} times the others' mean, "
        f"{1e3 * others:.3g} ms for each unit of {over.split()[1]}"
        + (f" beside a Paillier encryption of {1e3 * once:.1f} ms)" if once else ")"),
    )


def _order(rows: Sequence[Row]) -> Law:
    """Check that Thompson is the slowest with one iteration, ε-greedy the fastest; or a tie."""
    totals = {name: _total(rows, name, "samba") for name in ALGORITHMS if name != "pursuit"}
    slowest = max(totals, key=lambda name: totals[name][0])
    fastest = min(totals, key=lambda name: totals[name][0])
    ends = {"slowest": (slowest, "thompson"), "fastest": ("egreedy", fastest)}
    apart = {}
    for end, (upper, lower) in ends.items():
        error = np.hypot(totals[upper][1], totals[lower][1])
        apart[end] = float((totals[upper][0] - totals[lower][0]) / max(error, 1e-12))
    return Law(
        max(apart.values()) <= _APART,
        "of those with one iteration nobody is clearly slower than Thompson or faster than "
        f"ε-greedy ({slowest} is slowest, by {apart['slowest']:.1f} standard errors; {fastest} "
        f"fastest, by {apart['fastest']:.1f})",
    )


def _hierarchy(by_data: Mapping[tuple[str, ...], Sequence[Row]]) -> Law:
    """Check that no two algorithms clearly change places from one data set to another."""
    changed = []
    for one, other in itertools.combinations(ALGORITHMS, 2):
        signs = []
        for mine in by_data.values():
            (first, spread), (second, other_spread) = (
                _total(mine, name, "samba") for name in (one, other)
            )
            signs.append((first - second) / max(float(np.hypot(spread, other_spread)), 1e-12))
        if min(signs) < -_APART and max(signs) > _APART:
            changed.append(f"{one} and {other}")
    return Law(
        not changed,
        "all data sets have the same order of algorithms "
        f"({'; '.join(changed) or 'no two'} clearly change places)",
    )


def _overhead(rows: Sequence[Row], costs: Costs) -> Law:
    """Compare seconds of secure runs with those of other ways, over all sizes."""
    bare = 2 * (costs.aes_encryption + costs.aes_decryption)
    above = {
        way: {a: _total(rows, a, "samba")[0] / _total(rows, a, way)[0] for a in ALGORITHMS}
        for way in ("plain", "distributed")
    }
    plain = where(rows, system=f"ucb, {WAYS['plain']}")
    steps = sum((row["budget N"] - row["arms K"]) * row["arms K"] for row in plain)
    nanoseconds = 1e9 * _total(rows, "ucb", "plain")[0] / float(steps)
    return Law(
        max(above["plain"].values()) <= _ORDER,
        f"secure takes at most ten times as long as plain ({_range(above['plain'])} here, "
        f"{_range(above['distributed'])} over distributed in clear: a plain arm-step takes "
        f"{nanoseconds:.0f} ns, as it is compiled, four bare AES-GCM operations "
        f"{1e9 * bare:,.0f} ns)",
    )


def _line(rows: Sequence[Row], algorithm: str, over: str) -> tuple[Floats, Floats]:
    """Return the sizes and seconds of an algorithm's secure runs."""
    mine = where(rows, system=f"{algorithm}, {WAYS['samba']}")
    x, y = np.array([(row[over], row["seconds"]) for row in mine], dtype=np.float64).T
    return x, y


def _total(rows: Sequence[Row], algorithm: str, way: str) -> tuple[float, float]:
    """Return the seconds over all sizes, and their standard error."""
    mine = where(rows, system=f"{algorithm}, {WAYS[way]}")
    variance = sum(row["deviation"] ** 2 / row["runs"] for row in mine)
    return sum(row["seconds"] for row in mine), float(np.sqrt(variance))


def _range(ratios: dict[str, float]) -> str:
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return f"{ratios[least]:.0f} × ({least}) to {ratios[most]:.0f} × ({most})"
