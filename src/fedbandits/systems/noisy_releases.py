"""Checks of noise: the checked releases, and the origin of their noise and its draws.

Noise is drawn by the code of the simulation, for releases as configured, or by whole parties with
the noise of a deployment. Whole parties are given sources that keep all draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message, unpack
from fedbandits.federation.totals.messages import Increment
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import covariance_of, decoder, stated_deviations
from fedbandits.privacy.noise_check import KeptNoise, NoisyNumbers, NoisyRun, kept
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import Purpose, permutation
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import audit_key
from fedbandits.systems.party_games import SmallWorld, sent_share

#: Numbers that are checked at once, at most.
_MOST_NUMBERS = 2**20
#: Releases that are checked, at most; of a Toeplitz plan none of later number, since a release
#: takes the draws of all earlier releases.
_MOST_RELEASES = 512
#: Number of the first run of parties in checks of noise.
_FIRST_RUN = 2**20


def some_releases(releases: int, numbers: int, plan: ContinualPlan | None = None) -> Ints:
    """Return the numbers, from 1, of the releases to look at: all, or drawn ones if too many.

    ``numbers`` are released at once, by all parties; ``plan`` says how running sums are, if any.
    Of a plan whose releases take the draws of all before them, the first ones are looked at.
    """
    count = min(releases, _MOST_RELEASES, max(1, _MOST_NUMBERS // numbers))
    if plan is not None and plan.mechanism in ("toeplitz", "optimal"):
        return np.arange(1, count + 1, dtype=np.int64)
    drawn = permutation(releases, audit_key(0), 0, 0, Purpose.WORLD)[:count]
    return np.asarray(np.sort(drawn) + 1, dtype=np.int64)


def plain_number(place: int) -> str:
    """Return the name of a number where all numbers of a release are alike."""
    return f"number {place}"


#: Messages of a round to the noise in them: (party, number of the release, (size,) noise).
Listener = Callable[[list[Message]], list[tuple[int, int, Floats]]]
#: Noise (parties, releases, size) of a run by its number, and its draws (parties, draws, size).
Drawn = Callable[[int], tuple[Floats, Floats]]


class StatedNoise(NamedTuple):
    """Released numbers, and the stated noise of each."""

    who: str  # the releasing parties, in words
    party: str  # the name of a party's kind, such as ``agent``
    deviations: Floats  # (parties, releases, size): stated deviations of all checked numbers
    number: Callable[[int], str] = plain_number  # the name of a number, from its place in a release
    #: (releases · kinds, releases · kinds): stated covariance of the noise in numbers that share
    #: draws, in any unit. None if not known: then each release has noise of its own.
    covariance: Floats | None = None
    #: (releases · kinds, draws · kinds): stated weights of the draws, where the Cholesky factor of
    #: the covariance does not have them.
    weights: Floats | None = None
    #: Numbers of a release that share draws: number ``place`` shares those of all ``place`` that
    #: are a multiple of size / kinds apart.
    kinds: int = 1
    #: (parties,): whose source has the draws of each party; by default its own. Rows of one
    #: server, in order, are parts of what its source gives.
    sources: Ints | None = None
    step: float = 0.0  # of whole numbers to which noise is rounded, in the unit of deviations

    def simulated(
        self, steps: Ints, releases: int, draw: Drawn, how: str = "as compiled"
    ) -> NoisyNumbers:
        """Return the numbers with the noise that the code of the simulation draws.

        ``steps`` of the planned ``releases`` are looked at, see :func:`some_releases`. ``draw``
        returns, of a run by its number, the noise, shaped as deviations are, and the standard
        normals of which it is made, (parties, draws, size).
        """
        parties, looked_at, size = self.deviations.shape

        def play(run: int) -> NoisyRun:
            noise, draws = draw(run)
            relative = np.asarray(noise / self.deviations)
            # NaN is no number, and has no noise.
            relative = np.where(np.isnan(relative), 0.0, relative)
            return NoisyRun(self._rows(relative), self._rows(draws))

        some = "" if looked_at == releases else f"{looked_at} of "
        looks_at = f"{some}{releases} releases of {self.who}, {how}"
        return self._numbers(looks_at, parties * releases * size, play, steps)

    def deployed(
        self,
        small: SmallWorld,
        listen: Callable[[PartiesReplicate], Listener],
        secure: bool = True,
        planned: int = 0,
    ) -> NoisyNumbers:
        """Return the numbers as whole parties release them, with the noise of a deployment.

        ``listen`` makes of a run a listener to the messages of every round. Parties that are not
        ``secure`` have simulated noise, by the number of a release: then two requests for the noise
        of the same release show too. So many releases are ``planned`` of a party, if not all are
        checked.
        """

        def play(number: int) -> NoisyRun:
            run, sources = begin_kept(small, _FIRST_RUN + number, secure)
            noise = self._heard(run, listen(run), small.plan.rounds)
            again = sum(source.again for source in sources)
            return NoisyRun(self._rows(noise), self._rows(self._given(sources)), again)

        count, releases = self.deviations.size, self.deviations.shape[1]
        of = f" of {planned}" if planned > releases else ""
        how = "with secure noise" if secure else "as parties simulate them"
        looks_at = f"{releases}{of} releases of {self.who} {how}"
        every = count // releases * max(planned, releases)
        numbers = self._numbers(looks_at, every, play, np.arange(1, releases + 1))
        return numbers._replace(source=_secure_draws) if secure else numbers

    def _heard(self, run: PartiesReplicate, listener: Listener, rounds: int) -> Floats:
        """Play a run, and return its noise in planned deviations, (parties, releases, size)."""
        noise, known = np.full_like(self.deviations, np.nan), 0
        deliveries = run.network.transcript.deliveries
        for round_ in range(1, rounds + 1):
            run.advance(round_)
            fresh = [message for _, message in deliveries[known:]]
            known = len(deliveries)
            for party, release, found in listener(fresh):
                # NaN is no number, and has no noise; in the result NaN stands for no release.
                noise[party, release - 1] = np.where(np.isnan(found), 0.0, found)
        return np.asarray(noise / self.deviations)

    def _given(self, sources: list[KeptNoise]) -> Floats:
        """Return draws of parties, (parties, draws, size), NaN where a party asked for none."""
        parties, _, size = self.deviations.shape
        owners = np.arange(parties) if self.sources is None else self.sources
        most = max((len(source.given) for source in sources), default=0)
        found = np.full((parties, most, size), np.nan)
        for owner, source in enumerate(sources):
            own = np.flatnonzero(owners == owner)
            given = source.draws(len(own) * size)
            found[own, : len(given)] = given.reshape(len(given), len(own), size).swapaxes(0, 1)
        return found

    def _rows(self, values: Floats) -> Floats:
        """Return values (parties, n, size) as (parties, n · kinds, size / kinds)."""
        parties, count, size = values.shape
        return values.reshape(parties, count * self.kinds, size // self.kinds)

    def _numbers(
        self, looks_at: str, planned: int, play: Callable[[int], NoisyRun], steps: Ints
    ) -> NoisyNumbers:
        parties, releases, size = self.deviations.shape
        columns = size // self.kinds

        def name(party: int, row: int, column: int) -> str:
            release, kind = divmod(row, self.kinds)
            number = self.number(kind * columns + column)
            return f"{self.party} {party}, release {steps[release]}, {number}"

        # A share is rounded once a release, and its draws are.
        least = float(self.deviations[self.deviations > 0.0].min(initial=np.inf))
        rounding = self.step / least * (releases + 2) if self.step else 0.0
        shape = parties, releases * self.kinds, columns
        return NoisyNumbers(
            looks_at, shape, planned, play, name, _correlation(self.covariance), self.weights,
            self.kinds, rounding,
        )  # fmt: skip


def _correlation(covariance: Floats | None) -> Floats | None:
    if covariance is None:
        return None
    deviation = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(deviation, deviation))


def _secure_draws(count: int) -> Floats:
    """Draw from the source of a deployment, by itself."""
    return SecureNoise().cover(1, np.zeros(count))


def begin_kept(
    small: SmallWorld, run: int, secure: bool
) -> tuple[PartiesReplicate, list[KeptNoise]]:
    """Begin a run of whole parties, and return the sources of their noise, which keep all draws.

    The sources are those of acting parties, in order.
    """
    sources: list[KeptNoise] = []

    def keeping(role: str, place: int, brought: Any) -> Any:
        del role, place
        if not hasattr(brought, "noise"):
            return brought
        sources.append(kept(brought.noise))
        return brought._replace(noise=sources[-1])

    return small.begin(run, secure, keeping), sources


def stated_sums(
    who: str, party: str, plan: ContinualPlan, steps: Ints, scales: Floats, pattern: Floats,
    number: Callable[[int], str] = plain_number, step: float = 0.0,
) -> StatedNoise:  # fmt: skip
    """Return the stated noise of running sums, of the releases ``steps`` of a plan.

    ``scales`` (parties,) is the deviation of one draw of each party where ``pattern`` (size,) is 1.
    The other parameters are those of :class:`StatedNoise`.
    """
    relative = stated_deviations(plan, steps) / plan.scale
    deviations = scales[:, None, None] * relative[:, None] * pattern
    covariance, weights = covariance_of(plan, steps), decoder(plan, steps)
    return StatedNoise(who, party, deviations, number, covariance, weights, step=step)


def sums_listener(
    exact: Callable[[Any, Any], Floats],
    unit: Callable[[PartiesReplicate], Floats | float] = lambda run: 1.0,
) -> Callable[[PartiesReplicate], Listener]:
    """Return a listener to parties that release running sums as ``statistic``, masked or not.

    The noise is a release less the party's ``exact`` sum by now, (size,), made from the party and
    its message; ``unit`` is the unit of the stated deviations. A masked share is read in the state
    of the party. Releases of other parties that a party passes on are left out.
    """

    def listen(run: PartiesReplicate) -> Listener:
        parties = {player.name: (place, player) for place, player in enumerate(run.players)}
        plan: Any = run.plan
        scale = unit(run)

        def noise_in(messages: list[Message]) -> list[tuple[int, int, Floats]]:
            found: list[tuple[int, int, Floats]] = []
            for message in messages:
                sent: Any = message
                own = getattr(sent, "origin", sent.sender) == sent.sender
                if own and hasattr(sent, "statistic") and sent.sender in parties:
                    place, party = parties[sent.sender]
                    known = exact(party, sent)
                    if isinstance(sent, Increment):
                        released = plan.constants.step * sent_share(party.state.sending, sent)
                    else:
                        released = unpack(sent.statistic, known.size)
                    found.append((place, sent.release, (released - known) / scale))
            return found

        return noise_in

    return listen


class ReportsListener:
    """A listener to parties that report rows of sums in clear, as ``sums``.

    The noise is a report less the ``exact`` sums of a party's records, (rows, size): of all
    records, if sums ``are_running``, else of the records since the last report. A report to many is
    heard once. From the place of a party follow the numbers of its ``rows``, by default its place,
    and the ``unit`` of the stated deviations, (size,), by default 1.
    """

    def __init__(
        self, run: PartiesReplicate, exact: Callable[[Any], Floats], are_running: bool,
        rows: Callable[[int], Sequence[int]] = lambda place: (place,),
        unit: Callable[[int], Floats | float] = lambda place: 1.0,
    ) -> None:  # fmt: skip
        self._parties, self._exact, self._are_running = run.players, exact, are_running
        self._rows, self._unit = rows, unit
        self._before: list[Floats | float] = [0.0] * len(run.players)

    def __call__(self, messages: list[Message]) -> list[tuple[int, int, Floats]]:
        noise: list[tuple[int, int, Floats]] = []
        for place, party in enumerate(self._parties):
            report: Any = next((m for m in messages if m.sender == party.name), None)
            if report is None:
                continue
            exact = self._exact(party).copy()
            reported = exact if self._are_running else exact - self._before[place]
            self._before[place] = exact
            rows = np.frombuffer(report.sums).reshape(reported.shape) - reported
            each = zip(self._rows(place), rows / self._unit(place), strict=True)
            noise += [(row, report.release, values) for row, values in each]
        return noise
