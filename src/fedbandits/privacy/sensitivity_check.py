"""The move of what is released by one record, measured with the same noise in both worlds.

Two neighbouring worlds are played with the same simulated noise. So the noise cancels in the
difference of what is released, and what remains is what the record moved. Compared with the planned
noise, that is a μ, and so an ε: no statistics are needed, and no run is left to chance. Attacks see
a record that counts twice only in very many runs.

Each world is played by parties that begin anew. So a world that is played again, after the other
one, must release the same, to the last bit: else something outlives a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.accounting import GaussianRelease, epsilon
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.sizes import Tick, scaled, unheard

#: Pairs of runs in an audit of the usual size, and in the smallest one: each moves another record.
_PAIRS, _LEAST = 24, 24
#: Pairs where others react, which few of them show. They end with the first release that moves.
_REACTING = 64
#: Of so many pairs the first world is played again after the second.
_AGAIN = 4
#: In deviations of the noise: below it, a difference is one of rounding.
_NOT_MOVED = 1e-9
#: By which share ε may exceed what is charged: a bound that is met exactly is met with roundings.
_ROUNDING = 1e-4


class PairedRuns(NamedTuple):
    """Runs of two neighbouring worlds whose noise is the same.

    ``play(world, run)`` plays a world, and yields the releases of the party whose record is
    replaced as they leave: the number of each, from 1 and in order, and what is released, (size,),
    in deviations of one draw's noise, independent of each other.
    """

    neighbours: Literal["fixed log", "interactive"]  # whether all other records stay, or may react
    looks_at: str  # what is played, in words
    covariance: Floats  # (n, n): of the noise in releases 1 … n of one number, in that of one draw
    claim: PrivacyClaim  # what is claimed of just these parties
    play: Callable[[int, int], Iterable[tuple[int, Floats]]]


class SensitivityFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The largest move of what was released by one record.

    ``mu`` is the distance that it moved all releases together, in deviations of their planned
    noise, and ``epsilon`` what that costs at the claim's δ. With the planned noise the true ε is at
    least as large.
    """

    neighbours: str
    looks_at: str
    mu: float
    epsilon: float
    #: ε of contents that accounting states for the parties that played; the paper's, where
    #: others react, and accounting prices a fixed log alone.
    charged: float
    runs: int  # how many pairs of runs were played
    #: Whether a world released something else where the other one had been played before it.
    remembers: bool = False

    @property
    def too_far(self) -> bool:
        """True if a record moved releases further than is charged for."""
        return not self.epsilon <= self.charged * (1.0 + _ROUNDING)

    @property
    def right(self) -> bool:
        """True if nothing moved too far, and nothing outlived a run."""
        return not (self.too_far or self.remembers)


def check_sensitivity(
    paired: PairedRuns, scale: float = 1.0, tick: Tick = unheard
) -> SensitivityFinding:
    """Play pairs of runs, and measure how far the replaced record moved what is released.

    ``scale`` times as many pairs are played as usual.
    """
    usual = _REACTING if paired.neighbours == "interactive" else _PAIRS
    runs, largest, remembers = scaled(usual, scale, _LEAST), 0.0, False
    for run in range(runs):
        if run < _AGAIN:
            zero, one, again = (dict(paired.play(world, run)) for world in (0, 1, 0))
            largest = max(largest, _apart(paired, zero, one))
            remembers |= not _alike(zero, again)
        else:
            largest = max(largest, distance(paired, run))
        tick((run + 1) / runs)
    return SensitivityFinding(
        neighbours=paired.neighbours,
        looks_at=paired.looks_at,
        mu=largest,
        epsilon=epsilon([GaussianRelease(largest, 1.0)], paired.claim.delta),
        charged=_charged(paired),
        runs=runs,
        remembers=remembers,
    )


def _charged(paired: PairedRuns) -> float:
    claim = paired.claim
    beyond_accounting = paired.neighbours == "interactive" and claim.holds_for == "fixed log"
    if beyond_accounting and claim.paper_claims is not None:
        return claim.paper_claims[0]
    return claim.epsilon_contents


def _alike(one: Mapping[int, Floats], other: Mapping[int, Floats]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def distance(paired: PairedRuns, run: int) -> float:
    """Return μ of a pair of runs: √(Δᵀ Σ⁻¹ Δ), where Δ is how far releases moved, Σ their noise.

    Where others react, releases after the first one that moved may differ for other reasons than
    the record. They are left out, and not played.
    """
    worlds = (paired.play(world, run) for world in (0, 1))
    if paired.neighbours == "fixed log":
        return _apart(paired, *(dict(each) for each in worlds))
    zero: dict[int, Floats] = {}
    one: dict[int, Floats] = {}
    for both in zip_longest(*worlds):
        for released, new in zip((zero, one), both, strict=True):
            if new is not None:
                released[new[0]] = new[1]
        if _first_moved(zero, one) is not None:
            break
    return _apart(paired, zero, one)


def _first_moved(zero: Mapping[int, Floats], one: Mapping[int, Floats]) -> int | None:
    """Return the number of the first release that differs, of those in both worlds."""
    both = sorted(zero.keys() & one.keys())
    return next((k for k in both if np.abs(one[k] - zero[k]).max() > _NOT_MOVED), None)


def _apart(paired: PairedRuns, zero: Mapping[int, Floats], one: Mapping[int, Floats]) -> float:
    steps = sorted(zero.keys() & one.keys())
    if paired.neighbours == "interactive":
        moved_first = _first_moved(zero, one)
        steps = [] if moved_first is None else [step for step in steps if step <= moved_first]
    if not steps:
        return 0.0
    moved = np.stack([one[step] - zero[step] for step in steps])
    places = np.array(steps, dtype=np.int64) - 1
    covariance = paired.covariance[np.ix_(places, places)]
    return math.sqrt(max(0.0, float((moved * np.linalg.solve(covariance, moved)).sum())))
