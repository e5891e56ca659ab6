"""Messages games: whole parties in two neighbouring worlds.

The attacker is given every message of the audited party: its existence, time, receiver and
contents. The audited party and its replaced record are drawn for every run, in both worlds alike,
and the attacker is told.

With the same noise in both worlds the same parties show how far a record moves releases. On a fixed
log each party then has a replaced record of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import Environment
from fedbandits.federation.memory import Route
from fedbandits.federation.messages import Message
from fedbandits.federation.totals.messages import Increment, Total, unpack_words
from fedbandits.privacy.attacks import Transcripts
from fedbandits.privacy.auditing import Game, Sees
from fedbandits.privacy.likelihood import Attacker
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.privacy.sensitivity_check import PairedRuns, PlayedRelease
from fedbandits.random import replicate_key
from fedbandits.systems.base import PartiesReplicate, Plan, System
from fedbandits.systems.games import Look, Neighbours, drawn_targets, look_of

#: Runs of parties are dear; more runs would show no more.
PARTY_RUNS = 100
#: Where moves and noise are known exactly, attacks look at the existence and times of messages. A
#: difference in each of so many runs shows ε ≥ 1.7.
EXACT_RUNS = 50
#: Numbers of a transcript of parties from which an attack learns.
_MOST_VALUES = 400
#: Rounds at which messages are counted, at most.
_TIMES = 32


#: From role, place and supplies of a party to other supplies.
Bring = Callable[[str, int, Any], Any]


def as_brought(role: str, place: int, brought: Any) -> Any:
    """Return a party's supplies unchanged."""
    del role, place
    return brought


class SmallWorld(NamedTuple):
    """A system's parties in the small world that they are audited in."""

    system: System[Any]
    plan: Any
    environment: Environment

    def begin(
        self, run: int, secure: bool, bring: Bring = as_brought, route: Route | None = None
    ) -> PartiesReplicate:
        """Make the parties of one run; the number of the run names all simulated draws.

        If ``secure``, every party with noise brings :class:`.SecureNoise`, as in a deployment. No
        seed repeats such a run. ``bring`` may change the supplies of each party. With a ``route``
        (see :class:`.MemoryNetwork`) refusals of parties are counted.
        """
        system, plan, environment = self
        world = environment.stage(replicate_key(0, run)).world
        simulated = system.simulated_supplies(plan, world, 0, run)

        def supply(role: str, place: int) -> Any:
            brought = simulated(role, place)
            if secure and hasattr(brought, "noise"):
                brought = brought._replace(noise=SecureNoise())
            return bring(role, place, brought)

        return PartiesReplicate(
            system, plan, environment, 0, run, route=route, supplies=supply,
            lenient=route is not None, noise="secure" if secure else "simulated",
        )  # fmt: skip


class Released(NamedTuple):
    """A release of an audited party."""

    number: int  # the number of the release, from 1
    #: (size,): the released numbers, in deviations of a draw's noise, so that the noise in
    #: different numbers is independent.
    values: Floats


def sent_share(sending: Any, message: Increment) -> Ints:
    """Return the share of a secure sum behind the masks of a message, (size,), in whole steps.

    ``sending`` is where the messages of its sender stand, at the end of the round of the message.
    """
    here = sending.base == message.release
    share: Ints = sending.base_values if here else sending.pending_values
    return share


#: One replaced record of each audited party: the place of the party, and further numbers that name
#: the record.
Targets = Sequence[tuple[int, ...]]


class AuditedRun:
    """The parties of one run, at the audit's disposal; some of them have a replaced record each.

    A subclass plays the rounds of its system, and finds releases in messages.

    Parameters
    ----------
    run
        The parties and their network.
    places
        The places of parties with a replaced record, in ``run.players``. Attacks look at the first.
    attacker
        From the numbers of releases to an attacker of these that knows all other records. Then
        :meth:`note` is to be told of each release. Without such an attacker, attacks are learned
        from contents as they are.
    """

    def __init__(
        self, run: PartiesReplicate, places: Iterable[int],
        attacker: Callable[[Ints], Attacker] | None = None,
    ) -> None:  # fmt: skip
        self.run, self.network = run, run.network
        #: Places of the parties that have a replaced record, by their names.
        self.places: dict[str, int] = {run.players[place].name: place for place in places}
        #: Name of the party that is attacked.
        self.audited: str = next(iter(self.places))
        self.target: Any = run.players[self.places[self.audited]]
        self._attacker = attacker
        self._noted: list[tuple[Floats, float]] = []
        self._newest = 0  # the number of the newest secure sum in the audit

    def play_round(self, world: int, round_: int) -> None:
        """Let all parties play one round of a world, until the network has settled."""
        raise NotImplementedError

    def released(self, message: Any) -> Released | None:
        """Return the release in a message of an audited party; None if there is no own release.

        A game with a ``covariance`` asks at the end of the round of the message. Where a
        message is masked, the release is read in the state of the party.
        """
        raise NotImplementedError

    def new_total(self) -> Floats | None:
        """Return the secure sum that the attacked party has got since the last call, (size,).

        The sum is in the units of records.
        """
        newest = self.target.state.sending.newest
        if newest == self._newest:
            return None
        self._newest, plan = newest, self.run.plan
        deliveries = reversed(self.network.transcript.deliveries)
        total = next(
            message for _, message in deliveries
            if isinstance(message, Total) and message.receiver == self.audited
        )  # fmt: skip
        constants: Any = plan.constants  # type: ignore[attr-defined]
        whole = unpack_words(total.statistic, constants.release_size).view(np.int64)
        return np.asarray(constants.step * whole.astype(np.float64))

    def known_in_total(self, exact: Callable[[Any], Floats]) -> Floats:
        """Return an attacker's knowledge of the other parties in a secure sum, (size,).

        The attacker knows the noise of all parties but as many as the claim takes for honest, and
        the ``exact`` sums of the honest ones.
        """
        plan: Any = self.run.plan
        others = [player for player in self.run.players if player is not self.target]
        telling = len(others) + 1 - plan.secure.honest
        known = np.zeros(plan.constants.release_size)
        for place, other in enumerate(others):
            tells = place < telling
            known += (
                plan.constants.step * other.state.sending.base_values if tells else exact(other)
            )
        return known

    @property
    def informed(self) -> bool:
        """True if the attacker knows all other records."""
        return self._attacker is not None

    def note(self, values: Floats, entered: float) -> None:
        """Note a release less all other records, ``values`` (size,).

        ``entered`` is the number of replaced records in the release.
        """
        self._noted.append((values, float(entered)))

    @property
    def noted(self) -> Floats:
        """All noted releases, (n, size)."""
        return np.array([values for values, _ in self._noted])

    def look(self) -> Look | None:
        """Return the statistics of all noted releases, as many numbers every run, or None."""
        if self._attacker is None:
            return None
        sees = self._attacker(np.arange(1, len(self._noted) + 1))
        entered = np.array([[entered for _, entered in self._noted]])
        return look_of(sees, self.noted[None], entered)


class MessagesGame(NamedTuple):
    """Whole parties in two worlds."""

    neighbours: Neighbours  # whether all other records stay as they are, or may react
    looks_at: str  # the attacker's view, in words
    small: SmallWorld
    #: Numbers below the bounds are drawn for every run: the party with the replaced record, and the
    #: record.
    bounds: tuple[int, ...]
    #: From a run's parties, its number, and the replaced records: one, or one of every party.
    make: Callable[[PartiesReplicate, int, Targets], AuditedRun]
    #: Whether contents are priced as Gaussian, and the attacker knows all other records.
    gaussian: bool = False
    secure: bool = False  # whether parties have the noise of a deployment
    #: (n, n): covariance of the noise in a number of the audited party's releases 1 … n, in units
    #: of a draw's variance. :mod:`fedbandits.privacy.sensitivity_check` measures by this how far
    #: the record moves releases. None if noise differs from run to run, or data decide on releases.
    covariance: Floats | None = None
    sees: Sees = "messages"
    #: Whether the game is attacked. If not, only the move of the record is measured.
    attacked: bool = True
    beyond: bool = False  # whether a record is beyond its bounds

    @property
    def runs(self) -> int:
        """Number of runs a side that suffice."""
        return PARTY_RUNS if self.covariance is None else min(EXACT_RUNS, PARTY_RUNS)

    @property
    def rounds(self) -> int:
        """Number of rounds that each run plays."""
        return int(self.small.plan.rounds)

    def begin(self, run: int, everybody: bool = False) -> AuditedRun:
        """Make one run, in which a drawn party has a replaced record, or ``everybody`` has."""
        targets = self._targets(run) if everybody else [_drawn(run, self.bounds)]
        return self.make(self.small.begin(run, self.secure), run, targets)

    def _targets(self, run: int) -> Targets:
        """Return a record of every party: the earliest in the first run, in all others drawn ones.

        An early record is in most releases, so its price is highest.
        """
        parties, which = self.bounds[0], self.bounds[1:]
        if run == 0:
            return [(party, *(0 for _ in which)) for party in range(parties)]
        drawn = _drawn(run, which * parties)
        size = len(which)
        return [(party, *drawn[party * size :][:size]) for party in range(parties)]

    def play(self, world: int, first: int, count: int) -> Transcripts:
        """Play runs first … first + count - 1 of a world."""
        times = np.unique(np.linspace(1, self.rounds, _TIMES).astype(np.int64))
        patterns, looks = np.zeros(count, np.int64), []
        for i in range(count):
            run = self.begin(first + i)
            seen = Seen(run.audited)
            deliveries, known = run.network.transcript.deliveries, 0
            for round_ in range(1, self.rounds + 1):
                run.play_round(world, round_)
                seen.take(round_, (m for _, m in deliveries[known:]))
                known = len(deliveries)
            look = run.look() or Look(seen.numbers(), np.zeros((1, 0)), np.zeros((1, 0)))
            counts = seen.sent_by(times)[None, :]
            looks.append(look._replace(others=np.concatenate([look.others, counts], axis=1)))
            patterns[i] = seen.pattern()
        scores, others = (np.concatenate([getattr(k, n) for k in looks]) for n in _FIXED)
        return Transcripts(scores, _padded([look.values for look in looks]), patterns, others)

    def paired(self) -> PairedRuns | None:
        """Return the same parties with the same noise in both worlds.

        None if the noise is never the same twice, or the noise of releases is not known.
        """
        if self.covariance is None or self.secure:
            return None
        claim = self.small.system.claim(self.small.plan)
        records = self.bounds[0] if self.neighbours == "fixed log" else 1
        each = " and a record of each party replaced" if records > 1 else ""
        looks_at = f"{self.looks_at}, with the same noise{each}"
        return PairedRuns(
            self.neighbours, looks_at, self.covariance, claim, self._releases, records
        )

    def _releases(self, world: int, number: int) -> Iterator[PlayedRelease]:
        """Yield the releases of all audited parties in a run."""
        run = self.begin(number, everybody=self.neighbours == "fixed log")
        deliveries, known = run.network.transcript.deliveries, 0
        yielded: set[tuple[str, int]] = set()  # each receiver is sent the same release
        for round_ in range(1, self.rounds + 1):
            run.play_round(world, round_)
            for _, message in deliveries[known:]:
                release = run.released(message) if message.sender in run.places else None
                if release is not None and (message.sender, release.number) not in yielded:
                    yielded.add((message.sender, release.number))
                    yield PlayedRelease(message.sender, *release)
            known = len(deliveries)


def _drawn(run: int, bounds: tuple[int, ...]) -> tuple[int, ...]:
    """Draw the targets of one run."""
    return tuple(int(number[0]) for number in drawn_targets(run, 1, *bounds))


def moves(within: MessagesGame, beyond: MessagesGame) -> list[Game]:
    """Return games that measure how far a record moves all releases, and are not attacked.

    The record of the first is ``within`` its bounds; the record of the second is far ``beyond``,
    and must be cut down or refused.
    """
    return [beyond._replace(attacked=False, beyond=True), within._replace(attacked=False)]


def paired_games(games: Iterable[Game]) -> list[PairedRuns]:
    """Return all games of whole parties that can be played with the same noise in both worlds."""
    whole = [game.paired() for game in games if isinstance(game, MessagesGame)]
    return [paired for paired in whole if paired is not None]


def attacked_games(games: Iterable[Game]) -> list[Game]:
    """Return the games to attack: games of which exact measures do not show everything.

    On a fixed log pairs of runs show how far a record moves releases, and draws show their noise.
    The existence and times of messages are left: the game with the noise of a deployment shows
    these too, and stands for all others of its kind.
    """
    games = list(games)
    whole = [game for game in games if isinstance(game, MessagesGame)]
    shown = any(game.secure and game.neighbours == "fixed log" for game in whole)
    exact = {
        id(game) for game in whole if game.neighbours == "fixed log" and game.paired() is not None
    }
    return [
        game for game in games
        if getattr(game, "attacked", True) and not (shown and id(game) in exact)
    ]  # fmt: skip


def not_played(plan: Plan, games: Iterable[Game]) -> tuple[str, ...]:
    """Return in words the cases that no game of whole parties plays; nothing without games."""
    games = list(games)
    whole = [game for game in games if isinstance(game, MessagesGame)]
    if not games:
        return ()
    small = [game.small.plan for game in whole]
    planned, parties = plan.schedule.releases, plan.facts.parties
    releases = max((each.schedule.releases for each in small), default=0)
    most = max((each.facts.parties for each in small), default=0)
    same = any(game.paired() is not None for game in whole)
    said = (
        (most < parties, f"more than {most} of {parties:,} whole parties"),
        (releases < planned, f"more than {releases} of {planned:,} releases of a whole party"),
        (not any(game.beyond for game in whole), "records beyond their bounds"),
        (not same, "both worlds with the same noise, one after the other in one process"),
        (True, "what a party keeps and uses only after releases of both worlds differ"),
    )
    return tuple(words for missing, words in said if missing)


_FIXED = "scores", "others"


def _padded(rows: list[Floats]) -> Floats:
    """Return contents of all runs, (runs, :data:`_MOST_VALUES`), 0 where nothing was sent."""
    values = np.zeros((len(rows), _MOST_VALUES))
    for i, row in enumerate(rows):
        numbers = row.reshape(-1)[:_MOST_VALUES]
        values[i, : len(numbers)] = numbers
    return values


def _as_numbers(message: Message, value: bytes) -> Floats:
    """Read contents as numbers: whole ones behind masks, where bits of a float would be chaos."""
    if isinstance(message, Increment):
        return np.frombuffer(value, np.uint64).astype(np.float64)
    return np.frombuffer(value)


class Seen:
    """Messages of one party, told apart into contents and the fact that there is a message."""

    def __init__(self, audited: str) -> None:
        self._audited = audited
        self._contents: dict[bytes | int, Floats] = {}
        self._envelopes: list[tuple[Any, ...]] = []

    def take(self, round_: int, messages: Iterable[Message]) -> None:
        """Take the messages of a round, without contents of other parties."""
        for message in messages:
            if message.sender != self._audited:
                continue
            envelope: list[Any] = [round_, type(message).__name__]
            own = getattr(message, "origin", self._audited) == self._audited
            for field in message.__struct_fields__:
                value = getattr(message, field)
                if isinstance(value, bytes):
                    envelope.append(len(value))
                    if own:
                        self._contents.setdefault(value, _as_numbers(message, value))
                elif isinstance(message, Increment) and "salt" in field:
                    # A salt follows from contents; as part of a pattern all runs would differ.
                    self._contents.setdefault(value, np.array([float(value)]))
                else:
                    envelope.append(self._relative(value))
            self._envelopes.append(tuple(envelope))

    def _relative(self, value: Any) -> Any:
        """Return a name relative to the audited party, which was drawn."""
        if value == self._audited:
            return "itself"
        return value.rstrip("0123456789") if isinstance(value, str) else value

    def sent_by(self, rounds: Ints) -> Floats:
        """Count the messages by the end of each round, so that attacks can learn from times.

        Where no two runs have the same messages at the same times, patterns tell nothing.
        """
        when = np.array([envelope[0] for envelope in self._envelopes], dtype=np.int64)
        counts: Floats = (when[None, :] <= rounds[:, None]).sum(axis=1).astype(np.float64)
        return counts

    def numbers(self) -> Floats:
        """Return all contents, one after the other."""
        return np.concatenate([np.zeros(0), *self._contents.values()])

    def pattern(self) -> int:
        """Return a number that stands for everything but contents."""
        text = repr(self._envelopes).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")
