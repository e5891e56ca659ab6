"""A member's decisions must not depend on its own noise: later records could cancel that noise.

A run in which some members are absent is played again with noise moved from members to others, so
that every total stays the same one. Then every decision must be the same one too, whether and when
each member sends, and all that it goes on from: decisions seldom show a view that is a little off.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.random import Purpose, normals
from fedbandits.systems.games import audit_key
from fedbandits.systems.sums_audit.run import Drawn, Moved, Run, SumsAudited

#: Noise is moved by so many deviations of its own, once by each. By many, as little may not change
#: a decision; by few, as a total may be refused that noise makes too large.
_TIMES = (0.5, 2.0, 8.0, 32.0)
#: By at most so much, so that float64 holds what all members together are moved by.
_MOST = 2.0**49
#: The run that these draws are named by.
_RUN = 2**22 + 1


#: What a member has of its own noise: where its shares stand, and its messages.
_OWN = frozenset({"released", "sending"})


class _Seen(NamedTuple):
    """Actions of members: decisions and states by round, messages, and the releases in totals."""

    decided: list[list[Any]]
    states: list[list[Any]]
    sent: set[tuple[int, int]]
    opened: list[Ints]


def own_noise_check(audited: SumsAudited) -> ProtocolCheck:
    """Return a check that decisions depend on totals, and not on a member's own noise."""
    return ProtocolCheck(
        f"decisions of {len(audited.small.plan.agent_names)} {audited.members} that act on totals: "
        "the same if their noise is moved among them",
        lambda: _replayed(audited),
    )


def _replayed(audited: SumsAudited) -> tuple[str, tuple[str, ...]]:
    drawn = [Drawn(place) for place in range(len(audited.small.plan.agent_names))]
    before = _play(audited, drawn)
    differ, states, others = (set[tuple[int, int]]() for _ in range(3))
    for number in range(len(_TIMES)):
        moves = zip(drawn, _moves(drawn, before.opened, number), strict=True)
        after = _play(audited, [Moved(each.covered, moved) for each, moved in moves])
        differ |= _differing(before.decided, after.decided)
        states |= _differing(before.states, after.states)
        others |= before.sent ^ after.sent
    count = len(before.decided) * len(before.decided[0])
    found = f"{len(differ)} of {count} decisions differ if noise is moved and totals are the same"
    wrong = [found] if differ else []
    if states:
        wrong.append(f"{len(states)} states of members differ beside their shares and messages")
    if others:
        wrong.append(f"whether {len(others)} messages are sent follows from own noise")
    return found, tuple(wrong)


def _differing(before: list[list[Any]], after: list[list[Any]]) -> set[tuple[int, int]]:
    """Return by round and place the values that differ. A first difference may cause later ones."""
    return {
        (round_, place)
        for round_, (one, two) in enumerate(zip(before, after, strict=True))
        for place, (a, b) in enumerate(zip(one, two, strict=True))
        if not _same(a, b)
    }


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values of any types are the same."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, msgspec.Struct):
        return all(_same(getattr(one, n), getattr(other, n)) for n in one.__struct_fields__)
    return bool(one == other)


def _play(audited: SumsAudited, sources: Sequence[Drawn]) -> _Seen:
    """Play a run of members with these sources, and note the actions of the members."""
    run, plan = Run(audited.small, sources), audited.small.plan
    decided, states, opened = list[list[Any]](), list[list[Any]](), list[Ints]()
    least, members = plan.secure.least_parties, len(plan.agent_names)
    turns = itertools.cycle((least, least, members))  # mostly some member is left out
    for round_, count in zip(range(1, plan.rounds + 1), turns, strict=False):
        run.play(round_, count)
        decided.append([np.array(decision) for decision in run.run.decisions])
        states.append([_beside_noise(member.state) for member in run.run.players])
        opened.append(run.opened)
    return _Seen(decided, states, {(place, release) for place, release, _ in run.sent}, opened)


def _beside_noise(state: Any) -> dict[str, Any]:
    """Return the fields of a member's state, without its shares and messages."""
    return {name: getattr(state, name) for name in state.__struct_fields__ if name not in _OWN}


def _moves(drawn: Sequence[Drawn], opened: Sequence[Ints], number: int) -> list[dict[int, Floats]]:
    """Return whole numbers for every member and release that come to 0 in every total.

    They are drawn, but for one member that is new in a total: its makes up for all others.
    """
    found: list[dict[int, Floats]] = [{} for _ in drawn]
    for step in drawn[0].covered:
        spread = np.std([each.covered[step] for each in drawn], axis=0)
        for place, each in enumerate(found):
            moved = normals(
                spread.size, audit_key(_RUN + number), place, step, Purpose.PRIVACY_NOISE
            )
            each[step] = np.clip(np.rint(_TIMES[number] * spread * moved), -_MOST, _MOST)
    before = np.zeros_like(opened[0])
    for newest in opened:
        if (new := np.flatnonzero(newest != before)).size:
            first = int(new[0])
            others = [
                found[place][int(release)]
                for place, release in enumerate(newest) if release and place != first
            ]  # fmt: skip
            found[first][int(newest[first])] = -np.sum(others, axis=0)
        before = newest
    return found
