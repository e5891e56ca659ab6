"""Moves of releases by one record, measured with the same noise in both worlds.

Two neighbouring worlds are played with the same simulated noise. So the noise cancels in the
difference of the releases, and the rest is the move by the record. In deviations of the planned
noise the move is a μ, and so an ε: no statistics are needed, and nothing is left to chance. Attacks
detect a record that counts twice only in very many runs.

On a fixed log a record moves no release of another party. So each party has a replaced record of
its own in one pair of runs, and the releases of each party are compared by themselves.

Each world is played by new parties. So a world that is played again, after the other world, must
release the same, to the last bit: otherwise some state outlives a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.accounting import GaussianRelease, epsilon
from fedbandits.privacy.auditing import Tick, scaled, unheard
from fedbandits.privacy.claims import PrivacyClaim

#: Number of replaced records in an audit of the usual size, and in the smallest audit.
_RECORDS, _LEAST = 24, 24
#: Number of replaced records where other records react, and few replaced records show. Each has a
#: pair of runs of its own, which ends with the first release that moves.
_REACTING = 64
#: Least number of pairs of runs on a fixed log: the first has the earliest records, others drawn
#: ones.
_LEAST_PAIRS = 2
#: Number of replaced records after whose runs the first world is played again.
_AGAIN = 4
#: Difference that counts as rounding, in deviations of the noise.
_NOT_MOVED = 1e-9
#: Share by which ε may exceed the charged ε: an exact bound is met with rounding errors.
_ROUNDING = 1e-4


class PlayedRelease(NamedTuple):
    """A release of a party that has a replaced record."""

    party: str
    number: int  # the party's releases are numbered from 1
    values: Floats  # (size,): in deviations of one draw's noise, independent of each other


#: Releases of one world, by the party and the number of the release.
Releases = dict[tuple[str, int], Floats]


class PairedRuns(NamedTuple):
    """Runs of two neighbouring worlds whose noise is the same.

    ``play(world, run)`` plays a world, and yields the releases of all parties that have a replaced
    record, as the releases leave.
    """

    neighbours: Literal["fixed log", "interactive"]  # whether all other records stay, or may react
    looks_at: str  # description of the play
    covariance: Floats  # (n, n): of one number's noise in releases 1 … n, in draws' variances
    claim: PrivacyClaim  # the claim for just these parties
    play: Callable[[int, int], Iterable[PlayedRelease]]
    records: int = 1  # replaced records in a pair of runs, one a party; 1 where others react


class SensitivityFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The largest move of releases by one record.

    ``mu`` is the move of all releases together, in deviations of their planned noise, and
    ``epsilon`` its price at the claim's δ. With the planned noise the true ε is at least as large.
    """

    neighbours: str
    looks_at: str
    mu: float
    epsilon: float
    #: ε of contents that accounting states for these parties; the paper's ε where others react, and
    #: accounting prices only a fixed log.
    charged: float
    runs: int  # number of pairs of runs
    #: Whether a world's releases depended on an earlier play of the other world.
    remembers: bool = False

    @property
    def too_far(self) -> bool:
        """True if a record moved releases further than the charged price."""
        return not self.epsilon <= self.charged * (1.0 + _ROUNDING)

    @property
    def right(self) -> bool:
        """True if no release moved too far, and no state outlived a run."""
        return not (self.too_far or self.remembers)


def check_sensitivity(
    paired: PairedRuns, scale: float = 1.0, tick: Tick = unheard
) -> SensitivityFinding:
    """Play pairs of runs, and measure how far the replaced records moved the releases.

    The number of replaced records is ``scale`` times the usual number.
    """
    usual = _REACTING if paired.neighbours == "interactive" else _RECORDS
    runs = -(-scaled(usual, scale, _LEAST) // paired.records)
    if paired.records > 1:
        runs = max(_LEAST_PAIRS, runs)
    largest, remembers = 0.0, False
    for run in range(runs):
        if run * paired.records < _AGAIN:
            zero, one, again = (_played(paired, world, run) for world in (0, 1, 0))
            largest = max(largest, _farthest(paired, zero, one))
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


def _played(paired: PairedRuns, world: int, run: int) -> Releases:
    return {(party, number): values for party, number, values in paired.play(world, run)}


def _alike(one: Releases, other: Releases) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def distance(paired: PairedRuns, run: int) -> float:
    """Return the largest μ of a party in a pair of runs.

    μ is √(Δᵀ Σ⁻¹ Δ), where Δ is the move of the party's releases, and Σ the covariance of their
    noise.

    Where others react, releases after the first moved release may differ for other reasons than the
    record. They are left out, and not played.
    """
    if paired.neighbours == "fixed log":
        return _farthest(paired, *(_played(paired, world, run) for world in (0, 1)))
    zero, one = Releases(), Releases()
    for both in zip_longest(*(paired.play(world, run) for world in (0, 1))):
        for releases, new in zip((zero, one), both, strict=True):
            if new is not None:
                releases[new.party, new.number] = new.values
        if _first_moved(zero, one) is not None:
            break
    return _farthest(paired, zero, one)


def _first_moved(zero: Releases, one: Releases) -> tuple[str, int] | None:
    """Return the first release that differs between the worlds, among releases of both worlds."""
    both = sorted(zero.keys() & one.keys())
    return next((k for k in both if np.abs(one[k] - zero[k]).max() > _NOT_MOVED), None)


def _farthest(paired: PairedRuns, zero: Releases, one: Releases) -> float:
    """Return the largest μ of a party, from the releases of both worlds."""
    both = sorted(zero.keys() & one.keys())
    if paired.neighbours == "interactive":
        moved_first = _first_moved(zero, one)
        both = (
            [] if moved_first is None else [release for release in both if release <= moved_first]
        )
    largest = 0.0
    for party in {party for party, _ in both}:
        steps = np.array([number for name, number in both if name == party])
        moved = np.stack([one[party, step] - zero[party, step] for step in steps.tolist()])
        covariance = paired.covariance[np.ix_(steps - 1, steps - 1)]
        squared = float((moved * np.linalg.solve(covariance, moved)).sum())
        largest = max(largest, math.sqrt(max(0.0, squared)))
    return largest
