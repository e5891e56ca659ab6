"""A few members that release to secure sums, some absent: masks, totals, prices, decisions.

The absent members change from sum to sum: as many as allowed, none, too many by one, all but one.
Every opened total is then added up anew, and priced: the attacker knows the noise of colluding
members, for every choice of colluders.

An increment is seen with the masks of all helpers but one taken off, by these helpers and the
controller together. The rest must be uniform modulo 2⁶⁴, as if there were nothing behind.

Decisions must not depend on a member's own noise: later records could cancel that noise. So a run
is played again with noise moved from members to others, and every total stays the same. Then every
decision must stay the same too: whether and when each member sends, and all that the member goes on
from. Decisions seldom show a view that is a little off.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints, Words64
from fedbandits.federation.seats import CONTROLLER, HELPER
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.random import Purpose, normals
from fedbandits.systems.games import audit_key
from fedbandits.systems.sums_audit.run import Drawn, Masked, Moved, Run, SumsAudited

#: Numbers farther than so many deviations from uniform numbers are not uniform.
_FAR = 7.0
#: Sums that must be opened, at least.
_FEWEST = 2
#: Rounding of a price that is worked out from inverses.
_ROUNDING = 1.0 + 1e-6
#: Choices of colluders that are tried, at most.
_MOST_CHOICES = 50


class Played(NamedTuple):
    """Results of a run.

    Parameters
    ----------
    newest : (sums, members) int64
        The number of every member's newest release that was opened; 0 for none.
    totals, expected : (sums, size) uint64
        The totals, and the sums of these releases.
    masked
        All increments that have a mask of each helper.
    sent, unknown, refused, off
        How many increments were sent, how many masks of helpers are not those of the member, how
        many messages were refused, and how many releases have other noise than planned.
    """

    newest: Ints
    totals: Words64
    expected: Words64
    masked: list[Masked]
    sent: int
    unknown: int
    refused: int
    off: int


def _play(audited: SumsAudited) -> Played:
    plan = audited.small.plan
    sources = [Drawn(place) for place in range(len(plan.agent_names))]
    run = Run(audited.small, sources)
    newest, totals, expected = list[Ints](), list[Words64](), list[Words64]()
    controller: Any = run.run.one(CONTROLLER)
    least = plan.secure.least_parties
    turns = dict.fromkeys((least, len(run.members), max(1, least - 1), 1))
    for round_, count in zip(range(1, plan.rounds), itertools.cycle(turns), strict=False):
        run.play(round_, count)
        newest.append(run.opened)
        totals.append(controller.state.total.copy())
        expected.append(run.expected(newest[-1]))
    helpers = len(run.run.terms.parties[HELPER])
    return Played(
        np.array(newest), np.array(totals), np.array(expected), run.masked(helpers),
        len(run.sent), run.kept.unknown(), len(run.run.network.refusals),
        len(run.off(sources, audited.covariance)),
    )  # fmt: skip


def played_checks(audited: SumsAudited) -> list[ProtocolCheck]:
    """Return checks of masks and totals in a run in which some members are absent."""
    played = functools.cache(lambda: _play(audited))
    many = f"{len(audited.small.plan.agent_names)} {audited.members}, of whom some are absent"
    return [
        ProtocolCheck(
            f"increments of {many}, less the masks of all helpers but one: uniform numbers",
            lambda: _masks(played()),
        ),
        ProtocolCheck(
            f"totals of {many}, and what they cost beside members that tell their noise: the claim",
            lambda: _totals(audited, played()),
        ),
    ]


def _masks(played: Played) -> tuple[str, tuple[str, ...]]:
    masked, wrong = played.masked, list[str]()
    if len(masked) < played.sent:
        wrong.append(f"{played.sent - len(masked)} of {played.sent} increments lack a mask")
    if played.unknown:
        wrong.append(f"helpers take off {played.unknown} masks that no member has put on")
    if not masked:
        return "no increment has a mask of each helper", tuple(wrong)
    sums = [one.sent - one.bare - one.masks.sum(0, dtype=np.uint64) for one in masked]
    bare = sum(bool(each.any()) for each in sums)
    if bare:
        wrong.append(f"{bare} increments are not what was released and one mask of each helper")
    if again := repeated([one.masks for one in masked]):
        wrong.append(f"{again} numbers of masks come twice")
    seen = {view.taken: view.distance for view in views(masked)}
    wrong += [
        f"increments less masks ({taken}) are not uniform modulo 2⁶⁴: {far:,.0f} deviations"
        for taken, far in seen.items() if far > _FAR
    ]  # fmt: skip
    numbers = sum(one.sent.size for one in masked)
    return (
        f"{numbers} numbers of {len(masked)} increments are uniform modulo 2⁶⁴, whichever helper's "
        f"masks are left: at most {max(seen.values()):.1f} deviations away"
    ), tuple(wrong)


def _totals(audited: SumsAudited, played: Played) -> tuple[str, tuple[str, ...]]:
    least, wrong = audited.small.plan.secure.least_parties, list[str]()
    newest = np.vstack([np.zeros_like(played.newest[:1]), played.newest])
    members = np.count_nonzero(np.diff(newest, axis=0), axis=1)
    few = [int(count) for count in members if 0 < count < least]
    wrong += [f"a sum of {count} was opened, of {least} at least" for count in sorted({*few})]
    sums = int(np.count_nonzero(members))
    if sums < _FEWEST:
        wrong.append(f"{sums} of {len(members)} sums were opened, so nothing was looked at")
    off = int((played.totals != played.expected).any(axis=1).sum())
    if off:
        wrong.append(f"{off} totals are not the sum of what members released")
    if played.off:
        wrong.append(f"{played.off} releases have other noise than the draws up to them make")
    if played.refused:
        wrong.append(f"{played.refused} messages were refused")
    price = _price(audited, played.newest)
    if price > _ROUNDING:
        wrong.append(f"totals cost {price:.3g} × the μ that is charged")
    return (
        f"{sums} of {len(members)} sums were opened, none of fewer than {least}, and cost "
        f"{price:.3g} × the μ that is charged"
    ), tuple(wrong)


def _price(audited: SumsAudited, newest: Ints) -> float:
    """Return the μ of totals over the μ that is charged, for the worst colluders and records.

    Member j's noise in total k is that of its newest release there, 1/h of the variance planned for
    a sum. A record of release r counts from the first total on whose release of its member is r or
    later.
    """
    central, secure = audited.covariance, audited.small.plan.secure
    sums, members = newest.shape
    choices = itertools.combinations(range(members), secure.colluding)
    worst = 0.0
    for colluding in itertools.islice(choices, _MOST_CHOICES):
        honest = [member for member in range(members) if member not in colluding]
        steps = dict[bytes, Floats]()
        noise = sum(_of_member(central, newest[:, member]) for member in honest) / secure.honest
        for member, release in itertools.product(honest, range(1, sums + 1)):
            step = newest[:, member] >= release
            steps[step.tobytes()] = step.astype(np.float64)
        worst = max(worst, *(_squared(np.asarray(noise), step) for step in steps.values()))
    return math.sqrt(worst / _charged(central))


def _of_member(central: Floats, newest: Ints) -> Floats:
    """Return the covariance of one member's noise in all totals, (sums, sums)."""
    places = np.maximum(newest - 1, 0)
    covariance: Floats = central[np.ix_(places, places)] * np.outer(newest > 0, newest > 0)
    return covariance


def _charged(central: Floats) -> float:
    """Return the squared price of the costliest record, which may enter any release."""
    releases = np.arange(len(central))
    steps = [(releases >= release).astype(np.float64) for release in releases]
    return max(float(step @ np.linalg.solve(central, step)) for step in steps)


def _squared(noise: Floats, step: Floats) -> float:
    """Return stepᵀ noise⁺ step; infinite where a step is seen beside all noise."""
    values, vectors = np.linalg.eigh(noise)
    covered = values > 1e-11 * max(float(values.max()), 1e-300)
    if np.abs(vectors[:, ~covered].T @ step).max(initial=0.0) > 1e-6:
        return math.inf
    return float(((vectors[:, covered].T @ step) ** 2 / values[covered]).sum())


# ---------------------------------------------------------------- views of increments


class View(NamedTuple):
    """Increments with some masks taken off.

    Parameters
    ----------
    taken
        The masks that are taken off, in words.
    seen, cover : (n, size) uint64
        The rest of increments, and the same without the numbers behind the masks.
    """

    taken: str
    seen: Words64
    cover: Words64

    @property
    def distance(self) -> float:
        """Distance from uniform numbers, of these and of their differences; :func:`distance`."""
        return max(
            distance(words)
            for each in (self.seen, self.cover)
            for words in (each, *differences(each))
            if words.size
        )


def views(increments: list[Masked]) -> Iterator[View]:
    """Yield increments as they are seen by the controller with some helpers.

    No mask is taken off, or the masks of some helpers but not of all; each mask may be taken off
    twice, as a mask that cancels another helper's mask shows then.
    """
    helpers = len(increments[0].masks)
    for times in itertools.product((0, 1, 2), repeat=helpers):
        if all(each == 1 for each in times):
            continue
        weights = np.array(times, np.uint64)[:, None]
        seen = [one.sent - (weights * one.masks).sum(0, dtype=np.uint64) for one in increments]
        cover = [each - one.bare for each, one in zip(seen, increments, strict=True)]
        taken = [f"those of helper {i}" for i, each in enumerate(times) for _ in range(each)]
        yield View(" and ".join(taken) or "none", np.array(seen), np.array(cover))


def differences(words: Words64) -> Iterator[Words64]:
    """Yield differences of (n, size) numbers: to the next row, and 1, 2, 4, … places on in a row.

    Where masks are related, as by a counter, each alone is uniform, and these are not.
    """
    yield words[1:] - words[:-1]
    lag = 1
    while lag < words.shape[1]:
        yield words[:, lag:] - words[:, :-lag]
        lag *= 2


def repeated(masks: list[Words64]) -> int:
    """Count numbers of masks that come twice, also with another sign."""
    words = np.concatenate([each.reshape(-1) for each in masks])
    return words.size - np.unique(np.minimum(words, np.uint64(0) - words)).size


def distance(words: Words64) -> float:
    """Return how far whole numbers modulo 2⁶⁴ are from uniform ones, in deviations.

    The largest of six statistics that are standard normal where numbers are uniform: how near they
    are to 0, the cosine and the sine of their angle, of the numbers and with all bits reversed.
    """
    deviations = [
        abs(z) for each in (words, _reversed(words)) for z in _statistics(each.reshape(-1))
    ]
    return float(max(deviations))


def _statistics(words: Words64) -> Iterator[float]:
    turn = words.astype(np.float64) / 2.0**64
    near = np.maximum(2.0 * np.minimum(turn, 1.0 - turn), 2.0**-64)
    yield float((-np.log(near) - 1.0).sum() / np.sqrt(words.size))
    angle: Floats = 2.0 * np.pi * turn
    for wave in (np.cos, np.sin):
        yield float(np.sqrt(2.0 / words.size) * wave(angle).sum())


def _reversed(words: Words64) -> Words64:
    """Return numbers with their bits in the other order, so that low bits count."""
    plain = np.ascontiguousarray(words.reshape(-1), ">u8").view(np.uint8).reshape(-1, 8)
    bits = np.unpackbits(plain, axis=1)[:, ::-1]
    return np.packbits(bits, axis=1).view(">u8").reshape(-1).astype(np.uint64)


# ---------------------------------------------------------------- own noise

#: Noise is moved by so many deviations of its own, once by each. By many, as little may not change
#: a decision; by few, as a total may be refused that noise makes too large.
_TIMES = (0.5, 2.0, 8.0, 32.0)
#: By at most so much, so that float64 holds the moves of all members together.
_MOST_MOVED = 2.0**49
#: The run in the names of these draws.
_MOVED_RUN = 2**22 + 1


#: Fields of a member's state with its own noise: its shares and its messages.
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
    before = _play_moved(audited, drawn)
    differ, states, others = (set[tuple[int, int]]() for _ in range(3))
    for number in range(len(_TIMES)):
        moves = zip(drawn, _moves(drawn, before.opened, number), strict=True)
        after = _play_moved(audited, [Moved(each.covered, moved) for each, moved in moves])
        differ |= _differing(before.decided, after.decided)
        states |= _differing(before.states, after.states)
        others |= before.sent ^ after.sent
    count = len(before.decided) * len(before.decided[0])
    result = f"{len(differ)} of {count} decisions differ if noise is moved and totals are the same"
    wrong = [result] if differ else []
    if states:
        wrong.append(f"{len(states)} states of members differ beside their shares and messages")
    if others:
        wrong.append(f"whether {len(others)} messages are sent follows from own noise")
    return result, tuple(wrong)


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


def _play_moved(audited: SumsAudited, sources: Sequence[Drawn]) -> _Seen:
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

    The numbers are drawn, but for one member that is new in a total: its number makes up for all
    others.
    """
    moves: list[dict[int, Floats]] = [{} for _ in drawn]
    for step in drawn[0].covered:
        spread = np.std([each.covered[step] for each in drawn], axis=0)
        for place, each in enumerate(moves):
            moved = normals(
                spread.size, audit_key(_MOVED_RUN + number), place, step, Purpose.PRIVACY_NOISE
            )
            each[step] = np.clip(
                np.rint(_TIMES[number] * spread * moved), -_MOST_MOVED, _MOST_MOVED
            )
    before = np.zeros_like(opened[0])
    for newest in opened:
        if (new := np.flatnonzero(newest != before)).size:
            first = int(new[0])
            others = [
                moves[place][int(release)]
                for place, release in enumerate(newest) if release and place != first
            ]  # fmt: skip
            moves[first][int(newest[first])] = -np.sum(others, axis=0)
        before = newest
    return moves
