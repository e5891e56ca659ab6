"""A few members that release to secure sums, of whom some are absent: masks, totals, prices.

Who is absent changes from sum to sum: as many as may be, nobody, one too many, all but one.
Whatever was opened is then added up anew, and priced: the noise of members that may tell theirs is
known to the attacker, for every choice of them.

An increment is seen with masks of all helpers but one taken off, by these helpers and the
controller together. What is left must be uniform modulo 2⁶⁴, as if nothing were behind it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints, Words64
from fedbandits.federation.seats import CONTROLLER, HELPER
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.sums_audit.run import Drawn, Masked, Run, SumsAudited

#: What is farther than so many deviations from uniform numbers is not uniform.
_FAR = 7.0
#: Sums that must be opened, or nothing was looked at.
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
        The totals, and what these releases add up to.
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
    """Return checks of one run in which some members are absent: of masks, and of totals."""
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
    found: Floats = central[np.ix_(places, places)] * np.outer(newest > 0, newest > 0)
    return found


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
        Which masks are taken off, in words.
    seen, cover : (n, size) uint64
        What is left of increments, and the same without what is behind the masks.
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

    No mask is taken off, or those of all helpers but one, or of any fewer; each may be taken off
    twice over, as then what cancels masks of another helper shows.
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
    found = [abs(z) for each in (words, _reversed(words)) for z in _statistics(each.reshape(-1))]
    return float(max(found))


def _statistics(words: Words64) -> Iterator[float]:
    turn = words.astype(np.float64) / 2.0**64
    near = np.maximum(2.0 * np.minimum(turn, 1.0 - turn), 2.0**-64)
    yield float((-np.log(near) - 1.0).sum() / np.sqrt(words.size))
    angle: Floats = 2.0 * np.pi * turn
    for wave in (np.cos, np.sin):
        yield float(np.sqrt(2.0 / words.size) * wave(angle).sum())


def _reversed(words: Words64) -> Words64:
    """Return numbers whose bits are in the other order: then low ones count."""
    plain = np.ascontiguousarray(words.reshape(-1), ">u8").view(np.uint8).reshape(-1, 8)
    bits = np.unpackbits(plain, axis=1)[:, ::-1]
    return np.packbits(bits, axis=1).view(">u8").reshape(-1).astype(np.uint64)
