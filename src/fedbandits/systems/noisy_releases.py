"""What checks of noise share: which releases are looked at, and whole parties with secure noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import Environment
from fedbandits.federation.messages import Message
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Purpose, permutation
from fedbandits.systems.base import PartiesReplicate, Plan, System
from fedbandits.systems.games import audit_key
from fedbandits.systems.party_games import play_parties

#: Numbers that are checked at once, at most.
_MOST_NUMBERS = 2**17
#: Releases that are looked at, at most; of a Toeplitz plan none beyond it, since a release takes
#: the draws of all before it.
_MOST_RELEASES = 512
#: Runs of parties that no other run of an audit has.
_FIRST_RUN = 2**20


def some_releases(releases: int, numbers: int, plan: ContinualPlan | None = None) -> Ints:
    """The numbers, from 1, of the releases to look at: all, or as many drawn ones as affordable.

    Parameters
    ----------
    releases
        How many there are.
    numbers
        How many numbers all parties release at once.
    plan
        How running sums are released, if they are.
    """
    last = releases
    if plan is not None and plan.mechanism in ("toeplitz", "optimal"):
        last = min(releases, _MOST_RELEASES)
    count = min(last, _MOST_RELEASES, max(1, _MOST_NUMBERS // numbers))
    drawn = permutation(last, audit_key(0), 0, 0, Purpose.WORLD)[:count]
    return np.asarray(np.sort(drawn) + 1, dtype=np.int64)


class Names(NamedTuple):
    """What a number is called, from where it stands in an array (parties, releases, numbers).

    Parameters
    ----------
    party
        What a party is called, such as ``agent``.
    steps
        Numbers of the releases.
    size
        Numbers in a release of a party.
    number
        What a number is called, from its place in a release.
    """

    party: str
    steps: Ints
    size: int
    number: Callable[[int], str]

    def of(self, place: int) -> str:
        """The name of the number at a place."""
        rest, number = divmod(place, self.size)
        party, step = divmod(rest, len(self.steps))
        return f"{self.party} {party}, release {self.steps[step]}, {self.number(number)}"


#: Messages of a round to the noise in them: (party, number of the release, (size,) noise).
Listener = Callable[[list[Message]], list[tuple[int, int, Floats]]]


class PartiesNoise(NamedTuple):
    """The noise in what whole parties release, played with the noise of a deployment.

    Parameters
    ----------
    system, plan, environment
        What is played, where.
    deviations : (parties, releases, size) float64
        Planned deviations of all that is released.
    listen
        Makes of a run what is told the messages of every round after it: it returns the noise in
        them, as (party, number of the release, (size,) noise).
    """

    system: System[Any]
    plan: Plan
    environment: Environment
    deviations: Floats
    listen: Callable[[PartiesReplicate], Listener]

    def play(self, first: int, count: int) -> Floats:
        """Noise of runs ``first`` … ``first + count - 1`` in planned deviations, (count, n)."""
        return np.stack([self._one(_FIRST_RUN + first + i).reshape(-1) for i in range(count)])

    def _one(self, number: int) -> Floats:
        run = play_parties(self.system, self.plan, self.environment, number, secure=True)
        noise, known, listener = np.full_like(self.deviations, np.nan), 0, self.listen(run)
        deliveries = run.network.transcript.deliveries
        for round_ in range(1, self.plan.rounds + 1):
            run.advance(round_)
            fresh = [message for _, message in deliveries[known:]]
            known = len(deliveries)
            for party, release, found in listener(fresh):
                # What is no number has no noise. NaN stands for what was not released.
                noise[party, release - 1] = np.where(np.isnan(found), 0.0, found)
        return noise / self.deviations


def parties_numbers(
    played: PartiesNoise, who: str, party: str, number: Callable[[int], str]
) -> NoisyNumbers:
    """All numbers that whole parties release.

    Parameters
    ----------
    played
        The parties.
    who
        Who plays, in words.
    party, number
        See :class:`Names`.
    """
    count, (_, releases, size) = played.deviations.size, played.deviations.shape
    names = Names(party, np.arange(1, releases + 1), size, number)
    looks_at = f"{releases} releases of {who} with secure noise"
    return NoisyNumbers(looks_at, count, count, played.play, names.of)


class CompiledNoise(NamedTuple):
    """The noise in some releases as configured, drawn by the code of the simulation.

    Parameters
    ----------
    steps
        Numbers, from 1, of the releases that are drawn, see :func:`some_releases`.
    releases
        How many releases are planned.
    deviations : (parties, steps, size) float64
        Planned deviations of all that is drawn.
    draw
        From the first run and the number of runs to noise (runs, …), shaped as the deviations are.
    """

    steps: Ints
    releases: int
    deviations: Floats
    draw: Callable[[int, int], Floats]

    def play(self, first: int, count: int) -> Floats:
        """Noise of runs ``first`` … ``first + count - 1`` in planned deviations, (count, n)."""
        drawn = np.asarray(self.draw(first, count) / self.deviations).reshape(count, -1)
        return np.where(np.isnan(drawn), 0.0, drawn)  # what is no number has no noise


def compiled_numbers(
    drawn: CompiledNoise, who: str, party: str, number: Callable[[int], str],
    how: str = "as compiled",
) -> NoisyNumbers:  # fmt: skip
    """All numbers that the simulation releases; parameters as in :func:`parties_numbers`.

    ``how`` says which code draws the noise.
    """
    parties, looked_at, size = drawn.deviations.shape
    some = "" if looked_at == drawn.releases else f"{looked_at} of "
    return NoisyNumbers(
        looks_at=f"{some}{drawn.releases} releases of {who}, {how}",
        size=drawn.deviations.size,
        planned=parties * drawn.releases * size,
        noise=drawn.play,
        name=Names(party, drawn.steps, size, number).of,
    )
