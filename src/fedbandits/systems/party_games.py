"""Messages games: whole parties in two neighbouring worlds.

The attacker is given every message that the audited party sends: whether there is one, when, to
whom, and what is in it. Which party is audited, and which of its records is replaced, is drawn for
every run, in both worlds alike, and the attacker is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import Environment
from fedbandits.federation.memory import MemoryNetwork
from fedbandits.federation.messages import Message
from fedbandits.privacy.attacks import Transcripts
from fedbandits.privacy.auditing import Sees
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import replicate_key
from fedbandits.systems.base import PartiesReplicate, Plan, System
from fedbandits.systems.games import Look, Neighbours

#: Runs of parties are dear: so many suffice to show what they can show.
PARTY_RUNS = 1000
#: Secure noise is dearer, and its path is attacked besides.
SECURE_RUNS = 400
#: Numbers of a transcript of parties that an attack is learned from.
_MOST_VALUES = 400
#: Rounds at which messages are counted, at most.
_TIMES = 32


class Released(NamedTuple):
    """A release of the audited party.

    Parameters
    ----------
    number
        Which of its releases it is, from 1.
    values : (size,) float64
        What is released, in deviations of one draw's noise, so that the noise in different numbers
        is independent.
    """

    number: int
    values: Floats


class PartyRun(Protocol):
    """A system's parties, at the audit's disposal."""

    network: MemoryNetwork
    #: Name of the party that has the replaced record.
    audited: str

    def play_round(self, world: int, round_: int) -> None:
        """All parties play one round of a world; the network settles."""

    def look(self) -> Look | None:
        """What is made of one run's contents by someone who knows all other records, if anybody.

        As many numbers every run. Without it attacks are learned from contents as they are.
        """


class ReleasesRun(PartyRun, Protocol):
    """A run of a game with a ``covariance``: it says what the noise in a message is measured in."""

    run: PartiesReplicate

    def released(self, message: Any) -> Released | None:
        """The release in a message of the audited party; None if it is no release of its own."""


class MessagesGame(NamedTuple):
    """Whole parties in two worlds.

    Parameters
    ----------
    neighbours
        Whether all other records stay as they are, or may react.
    looks_at
        What the attacker sees, in words.
    rounds
        How many rounds each run plays.
    begin
        Makes the parties of one run.
    gaussian
        Whether contents are priced as Gaussian, and who looks at them knows all other records.
    runs
        How many runs a side suffice.
    covariance : (n, n) float64, optional
        Covariance of the noise in the audited party's releases 1 … n of one number, in that of one
        draw. With it :mod:`fedbandits.privacy.sensitivity_check` measures how far the record moves
        them, and ``begin`` makes a :class:`ReleasesRun`. None if noise differs from run to run, or
        if data decide which releases there are.
    """

    neighbours: Neighbours
    looks_at: str
    rounds: int
    begin: Callable[[int], PartyRun]
    gaussian: bool = False
    sees: Sees = "messages"
    runs: int = PARTY_RUNS
    covariance: Floats | None = None

    def play(self, world: int, first: int, count: int) -> Transcripts:
        """Runs first … first + count - 1 of a world."""
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


_FIXED = "scores", "others"


def _padded(rows: list[Floats]) -> Floats:
    """Contents of all runs, (runs, :data:`_MOST_VALUES`), 0 where nothing was sent."""
    values = np.zeros((len(rows), _MOST_VALUES))
    for i, row in enumerate(rows):
        numbers = row.reshape(-1)[:_MOST_VALUES]
        values[i, : len(numbers)] = numbers
    return values


class Seen:
    """What leaves one party, told apart into contents and the fact that there is a message.

    Parameters
    ----------
    audited
        Name of that party.
    """

    def __init__(self, audited: str) -> None:
        self._audited = audited
        self._contents: list[bytes] = []
        self._envelopes: list[tuple[Any, ...]] = []

    def take(self, round_: int, messages: Iterable[Message]) -> None:
        """Look at what was sent in a round. What others said before is no news of this party."""
        for message in messages:
            if message.sender != self._audited:
                continue
            envelope: list[Any] = [round_, type(message).__name__]
            own = getattr(message, "origin", self._audited) == self._audited
            for field in message.__struct_fields__:
                value = getattr(message, field)
                if isinstance(value, bytes):
                    envelope.append(len(value))
                    if own and value not in self._contents:
                        self._contents.append(value)
                else:
                    envelope.append(self._relative(value))
            self._envelopes.append(tuple(envelope))

    def _relative(self, value: Any) -> Any:
        """A name as it is from where the audited party stands: which one it is was drawn."""
        if value == self._audited:
            return "itself"
        return value.rstrip("0123456789") if isinstance(value, str) else value

    def sent_by(self, rounds: Ints) -> Floats:
        """How many messages there were by the end of each round: timing that can be learned from.

        Where no two runs have the same messages at the same times, patterns tell nothing.
        """
        when = np.array([envelope[0] for envelope in self._envelopes], dtype=np.int64)
        counts: Floats = (when[None, :] <= rounds[:, None]).sum(axis=1).astype(np.float64)
        return counts

    def numbers(self) -> Floats:
        """All contents, one after the other."""
        return np.frombuffer(b"".join(self._contents))

    def pattern(self) -> int:
        """A number that stands for everything but contents."""
        text = repr(self._envelopes).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")


def play_parties(
    system: System[Any], plan: Plan, environment: Environment, run: int, secure: bool
) -> PartiesReplicate:
    """The parties of one run, with simulated noise or with that of a deployment.

    Parameters
    ----------
    system, plan, environment
        What is played, where.
    run
        Names what is simulated.
    secure
        Whether every party that brings noise brings :class:`.SecureNoise`. No seed repeats such a
        run.
    """
    if not secure:
        return PartiesReplicate(system, plan, environment, 0, run)
    world = environment.stage(replicate_key(0, run)).world
    simulated = system.simulated_supplies(plan, world, 0, run)

    def supply(role: str, place: int) -> Any:
        brought = simulated(role, place)
        return brought._replace(noise=SecureNoise()) if hasattr(brought, "noise") else brought

    return PartiesReplicate(system, plan, environment, 0, run, supplies=supply)
