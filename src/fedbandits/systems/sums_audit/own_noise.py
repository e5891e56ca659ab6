"""Decisions of members may not depend on their own noise: they are seen, and would take it away.

A run is played again with noise moved from members to others, so that every total stays the same
one. Then every decision must be the same one too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.random import Purpose, normals
from fedbandits.systems.games import audit_key
from fedbandits.systems.sums_audit.audited import SumsAudited
from fedbandits.systems.sums_audit.sources import Drawn, Moved, begin

#: Noise is moved by so many deviations of its own.
_TIMES = 32.0
#: The run that these draws are named by.
_RUN = 2**22 + 1


def own_noise_check(audited: SumsAudited) -> ProtocolCheck:
    """Return a check that decisions depend on totals, and not on a member's own noise."""
    return ProtocolCheck(
        f"decisions of {len(audited.small.plan.agent_names)} {audited.members} that act on totals: "
        "the same if their noise is moved among them",
        lambda: _replayed(audited),
    )


def _replayed(audited: SumsAudited) -> tuple[str, tuple[str, ...]]:
    drawn = [Drawn(place) for place in range(len(audited.small.plan.agent_names))]
    before = _decisions(audited, lambda place: drawn[place])
    moves = _moves(drawn)
    after = _decisions(audited, lambda place: Moved(drawn[place].covered, moves[place]))
    differ, count = _differing(before, after), len(before) * len(before[0])
    found = f"{differ} of {count} decisions differ if noise is moved and totals are the same"
    return found, (found,) if differ else ()


def _differing(before: list[list[Any]], after: list[list[Any]]) -> int:
    """Count decisions that differ; once one does, later ones may differ by what came of it."""
    pairs = [
        (a, b)
        for one, two in zip(before, after, strict=True)
        for a, b in zip(one, two, strict=True)
    ]
    return sum(not np.array_equal(one, other) for one, other in pairs)


def _decisions(audited: SumsAudited, source: Callable[[int], Drawn]) -> list[list[Any]]:
    """Play a run whose members have these sources, and return what they decide round by round."""
    run, decided = begin(audited.small, source), []
    for round_ in range(1, audited.small.plan.rounds + 1):
        run.advance(round_)
        decided.append([np.array(decision) for decision in run.decisions])
    return decided


def _moves(drawn: list[Drawn]) -> list[dict[int, Floats]]:
    """Return whole numbers for every member and release that are 0 for all members together."""
    found: list[dict[int, Floats]] = [{} for _ in drawn]
    for step in drawn[0].covered:
        spread = np.std([each.covered[step] for each in drawn], axis=0)
        drawn_moves = [
            normals(spread.size, audit_key(_RUN), place, step, Purpose.PRIVACY_NOISE)
            for place in range(len(drawn))
        ]
        moved = np.rint(_TIMES * spread * np.array(drawn_moves))
        moved[-1] = -moved[:-1].sum(axis=0)
        for place, each in enumerate(found):
            each[step] = moved[place]
    return found
