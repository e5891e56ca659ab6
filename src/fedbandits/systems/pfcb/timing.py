"""Timing of a run: when buyers explore, and when they report to one another."""

from __future__ import annotations

import bisect
import math
from typing import NamedTuple

from fedbandits.errors import ConfigError
from fedbandits.systems.pfcb.config import (
    PFCB,
    Every,
    Growing,
    Never,
    Powers,
    Schedule,
    ToTheLetter,
)

#: Buyers that act on reports alone know nothing before the first ones.
_FIRST_RELEASED = 10


class Timing(NamedTuple):
    """Rounds in which buyers report, and how long they explore before."""

    every: bool  # after every round
    times: list[int]  # the rounds, where it is not after every one
    number: int
    exploration: int  # rounds


def timing_of(config: PFCB, agents: int, rounds: int) -> Timing:
    """Work out when the buyers of a variant explore and report.

    Raises
    ------
    ConfigError
        If the window does not lie within the horizon, or nothing would ever be learned.
    """
    every = isinstance(config.schedule, Every) and agents > 1
    first, last = _window(config, rounds)
    last = min(last, rounds - 1)
    times = exchange_rounds(config.schedule, first, last) if agents > 1 else []
    count = rounds - 1 if every else len(times)
    exploration = _exploration(config, agents, rounds)
    if config.local_view == "released":
        if agents == 1:
            raise ConfigError(
                'local_view: a single buyer receives no reports; set local_view = "raw"'
            )
        if count == 0:
            raise ConfigError(
                f"window: no exchange falls into rounds {first:,} to {last:,}, "
                "and with a released local_view buyers learn only from exchanges; use a larger "
                "window"
            )
        exploration = max([exploration, *times[:1]])  # nothing is known before the first reports
    return Timing(every, times, count, exploration)


def _window(config: PFCB, rounds: int) -> tuple[int, int]:
    if config.window == "auto":
        first = max(1, round(rounds / 500))
        if config.local_view == "released":
            first = min(first, _FIRST_RELEASED)
        return first, max(1, round(0.4 * rounds))
    first, last = config.window
    if not first <= last <= rounds:
        raise ConfigError(
            f"window: given [{first}, {last}], allowed: two rounds of the horizon, 1 ≤ t̲ ≤ t̄ ≤ "
            f'{rounds:,}, or "auto"'
        )
    return first, last


def _exploration(config: PFCB, agents: int, rounds: int) -> int:
    """Count rounds t with t ≤ 3 ln(yT) / (2nζ²), from one to a quarter of the horizon."""
    explorers = agents if config.explorers == "all" else 1
    y = float(explorers) if config.y == "agents" else float(config.y)
    most = max(1, rounds // 4)

    def length(inside: float) -> float:
        return 1.5 * math.log(max(1.0, inside)) / (explorers * config.zeta**2)

    if config.exploration_log == "horizon":
        return max(1, math.floor(min(length(y * rounds), most)))
    if length(y) < 1.0:  # the loop ends before it begins
        return 1
    # The log is concave: once t is above what it must stay below, it is for good.
    return bisect.bisect_left(range(1, most + 1), True, key=lambda t: t > length(y * t))


def exchange_rounds(schedule: Schedule, first: int, last: int) -> list[int]:
    """List rounds of ``first`` … ``last`` after which buyers exchange; not for ``every``."""
    match schedule:
        case ToTheLetter():
            return _to_the_letter(first, last)
        case Powers():
            return [1 << z for z in range(last.bit_length()) if first <= 1 << z <= last]
        case Growing():
            return _growing(schedule.factor, first, last)
        case Every() | Never():
            return []


def _to_the_letter(first: int, last: int) -> list[int]:
    """List rounds t ≥ τ of the window; τ doubles once a round in which buyers exchange."""
    rounds, threshold, round_ = [], 1, first
    while round_ <= last:
        rounds.append(round_)
        threshold *= 2
        round_ = max(round_ + 1, threshold)
    return rounds


def _growing(factor: float, first: int, last: int) -> list[int]:
    rounds, round_ = [], first
    while round_ <= last:
        rounds.append(round_)
        round_ = max(round_ + 1, math.ceil(factor * round_))
    return rounds
