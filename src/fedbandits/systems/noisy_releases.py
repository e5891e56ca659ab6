"""Checks of noise: which releases are looked at, and how their noise is drawn.

Noise is drawn by the code of the simulation, for releases as configured, or by whole parties with
the noise of a deployment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message, unpack
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.noise_check import MOST_COMPARED, NoisyNumbers
from fedbandits.random import Purpose, permutation
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import audit_key
from fedbandits.systems.party_games import SmallWorld

#: Numbers that are checked at once, at most.
_MOST_NUMBERS = 2**17
#: Releases that are looked at, at most; of a Toeplitz plan none beyond it, since a release takes
#: the draws of all before it.
_MOST_RELEASES = 512
#: Runs of parties that no other run of an audit has.
_FIRST_RUN = 2**20


def some_releases(releases: int, numbers: int, plan: ContinualPlan | None = None) -> Ints:
    """Return the numbers, from 1, of the releases to look at: all, or drawn ones if too many.

    ``numbers`` are released at once, by all parties; ``plan`` says how running sums are, if any.
    """
    last = releases
    if plan is not None and plan.mechanism in ("toeplitz", "optimal"):
        last = min(releases, _MOST_RELEASES)
    count = min(last, _MOST_RELEASES, max(1, _MOST_NUMBERS // numbers))
    drawn = permutation(last, audit_key(0), 0, 0, Purpose.WORLD)[:count]
    return np.asarray(np.sort(drawn) + 1, dtype=np.int64)


def plain_number(place: int) -> str:
    """Return what a number is called where all numbers of a release are alike."""
    return f"number {place}"


#: Messages of a round to the noise in them: (party, number of the release, (size,) noise).
Listener = Callable[[list[Message]], list[tuple[int, int, Floats]]]


class StatedNoise(NamedTuple):
    """Numbers that are released, and the noise that is stated of each."""

    who: str  # who releases them, in words
    party: str  # what one of these is called, such as ``agent``
    deviations: Floats  # (parties, releases, size): stated, of all that is looked at
    number: Callable[[int], str] = plain_number  # the name of a number, from its place in a release
    #: (releases, releases): stated covariance of the noise in a number of these releases, in any
    #: unit. None if nobody knows it, or noise in different numbers is not independent.
    covariance: Floats | None = None

    def simulated(
        self, steps: Ints, releases: int, draw: Callable[[int, int], Floats],
        how: str = "as compiled",
    ) -> NoisyNumbers:  # fmt: skip
        """Return the numbers with the noise that the code of the simulation draws.

        ``steps`` of the planned ``releases`` are looked at, see :func:`some_releases`. ``draw``
        makes noise (runs, …), shaped as deviations are, from the first run and the number of runs.
        """
        parties, looked_at, size = self.deviations.shape

        def noise(first: int, count: int) -> Floats:
            drawn = np.asarray(draw(first, count) / self.deviations).reshape(count, -1)
            return np.where(np.isnan(drawn), 0.0, drawn)  # what is no number has no noise

        some = "" if looked_at == releases else f"{looked_at} of "
        looks_at = f"{some}{releases} releases of {self.who}, {how}"
        planned = parties * releases * size
        return NoisyNumbers(
            looks_at, self.deviations.size, planned, noise, self._namer(steps), self._draws
        )

    def deployed(
        self,
        small: SmallWorld,
        listen: Callable[[PartiesReplicate], Listener],
        secure: bool = True,
        planned: int = 0,
    ) -> NoisyNumbers:
        """Return the numbers as whole parties release them, with the noise of a deployment.

        ``listen`` makes of a run what is told the messages of every round after it. Parties that
        are not ``secure`` have simulated noise, by the number of a release: then it shows too if
        one asks twice for that of the same release. So many releases are ``planned`` of a party, if
        not all of them are looked at.
        """

        def one(number: int) -> Floats:
            run = small.begin(_FIRST_RUN + number, secure)
            noise, known, listener = np.full_like(self.deviations, np.nan), 0, listen(run)
            deliveries = run.network.transcript.deliveries
            for round_ in range(1, small.plan.rounds + 1):
                run.advance(round_)
                fresh = [message for _, message in deliveries[known:]]
                known = len(deliveries)
                for party, release, found in listener(fresh):
                    # What is no number has no noise. NaN stands for what was not released.
                    noise[party, release - 1] = np.where(np.isnan(found), 0.0, found)
            return np.asarray(noise / self.deviations).reshape(-1)

        def noise(first: int, count: int) -> Floats:
            return np.stack([one(first + i) for i in range(count)])

        count, releases = self.deviations.size, self.deviations.shape[1]
        of = f" of {planned}" if planned > releases else ""
        how = "with secure noise" if secure else "as parties simulate them"
        looks_at = f"{releases}{of} releases of {self.who} {how}"
        every = count // releases * max(planned, releases)
        namer = self._namer(np.arange(1, releases + 1))
        return NoisyNumbers(looks_at, count, every, noise, namer, self._draws)

    @property
    def _draws(self) -> Callable[[Floats], Floats] | None:
        """A function that works out the draws of releases, of so many as can be compared."""
        if self.covariance is None:
            return None
        parties, releases, size = self.deviations.shape
        some = max(1, min(parties, MOST_COMPARED // releases))
        deviation = np.sqrt(np.diag(self.covariance))
        factor = np.linalg.cholesky(self.covariance / np.outer(deviation, deviation))
        decoder = np.linalg.inv(factor)

        def draws(noise: Floats) -> Floats:
            shaped = noise.reshape(-1, parties, releases, size)[:, :some]
            made = np.einsum("jk,rpks->pjrs", decoder, shaped, optimize=True)
            return np.ascontiguousarray(made).reshape(some * releases, -1)

        return draws

    def _namer(self, steps: Ints) -> Callable[[int], str]:
        """Return what makes the name of a number from where it stands."""

        def name(place: int) -> str:
            rest, number = divmod(place, self.deviations.shape[2])
            party, step = divmod(rest, len(steps))
            return f"{self.party} {party}, release {steps[step]}, {self.number(number)}"

        return name


def sums_listener(exact: Callable[[Any, Any], Floats]) -> Callable[[PartiesReplicate], Listener]:
    """Return a listener to parties that release running sums as ``statistic``.

    The noise is what is released less the ``exact`` sum that a party has by now, (size,), made from
    the party and its message. What a party passes on was released by another one: it is left out.
    """

    def listen(run: PartiesReplicate) -> Listener:
        parties = {player.name: (place, player) for place, player in enumerate(run.players)}

        def noise_in(messages: list[Message]) -> list[tuple[int, int, Floats]]:
            found: list[tuple[int, int, Floats]] = []
            for message in messages:
                sent: Any = message
                own = getattr(sent, "origin", sent.sender) == sent.sender
                if own and hasattr(sent, "statistic") and sent.sender in parties:
                    place, party = parties[sent.sender]
                    known = exact(party, sent)
                    found.append((place, sent.release, unpack(sent.statistic, known.size) - known))
            return found

        return noise_in

    return listen
