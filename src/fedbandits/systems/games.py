"""Games that an audit plays: mechanisms and systems in two neighbouring worlds.

A *contents* game runs the release code of a system many times on one log, with one record replaced.
A *messages* game lets the system's parties play, and gives the attacker every message that the
audited party sends: whether there is one, when, to whom, and what is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.memory import MemoryNetwork
from fedbandits.federation.messages import Message
from fedbandits.learners.ridge import Record
from fedbandits.privacy.auditing import MOST_LEARNED, Sees, Transcripts
from fedbandits.random import Key, Purpose, normals, replicate_key

#: Runs of parties are dear: so many suffice to show what they can show.
PARTY_RUNS = 1000
#: Numbers of a transcript of parties that an attack is learned from.
_MOST_VALUES = 400
#: Numbers of releases that are made at once; 64 MB.
_MOST_NUMBERS = 2**23
#: Rounds at which messages are counted, at most.
_TIMES = 32
#: Seed of the audit's own draws, told apart from those of experiments by its size.
_SEED = 0xA0D17
_FOREVER = 2**31

Neighbours = Literal["fixed log", "interactive"]

#: Plays releases ``first`` … ``first + count - 1`` on two logs: ``(world, first, count)`` to
#: released values (count, n, size).
PlayReleases = Callable[[int, int, int], Floats]


class ContentsGame(NamedTuple):
    """Release code on one log with one record replaced.

    Parameters
    ----------
    looks_at
        What the attacker sees, in words.
    release
        It plays the releases on both logs, see :data:`PlayReleases`.
    weights
        (n, size): Σ⁻¹ Δ of what is stated, see :mod:`fedbandits.privacy.likelihood`.
    """

    looks_at: str
    release: PlayReleases
    weights: Floats
    neighbours: Neighbours = "fixed log"
    gaussian: bool = True
    sees: Sees = "contents"
    runs: int = _FOREVER

    def play(self, world: int, first: int, count: int) -> Transcripts:
        """Runs first … first + count - 1 of a world.

        Of more numbers than an attack is learned from only scores are kept, which are made of a few
        runs at a time: so many do not fit into memory.
        """
        size, patterns = self.weights.size, np.zeros(count, np.int64)
        if size <= MOST_LEARNED:
            values = self.release(world, first, count).reshape(count, -1)
            return Transcripts(values @ self.weights.reshape(-1, 1), values, patterns)
        at_once, scores = max(1, _MOST_NUMBERS // size), np.zeros((count, 1))
        for start in range(0, count, at_once):
            few = min(at_once, count - start)
            values = self.release(world, first + start, few).reshape(few, -1)
            scores[start : start + few] = values @ self.weights.reshape(-1, 1)
        return Transcripts(scores, np.zeros((count, 0)), patterns)


def opposite_records(
    dimension: int, context_bound: float, reward_bound: float
) -> tuple[Record, Record]:
    """Two records within bounds that are as far apart as any: [x; B] ⊥ [x'; B], where B ≤ L."""
    cosine = -min(1.0, (reward_bound / context_bound) ** 2)
    one, other = np.zeros(dimension), np.zeros(dimension)
    # A hair inside the ball: contexts are float32.
    length = context_bound * (1.0 - 1e-6)
    one[0] = length
    other[0] = length * cosine
    if dimension > 1:
        other[1] = length * np.sqrt(1.0 - cosine**2)
    return Record(one, reward_bound), Record(other, reward_bound)


def different_records(
    dimension: int, context_bound: float, reward_bound: float
) -> tuple[Record, Record]:
    """Two records within bounds that differ in every number of their packed statistics.

    Those that are furthest apart may differ in a single number, and would never show that there is
    no noise in another.
    """
    length = context_bound * (1.0 - 1e-6)
    one, other = np.zeros(dimension), np.full(dimension, length / np.sqrt(dimension + 1.0))
    one[0] = length
    return Record(one, reward_bound), Record(other, -reward_bound)


def packed_record(record: Record) -> Floats:
    """A record's packed statistic: the upper triangle of x xᵀ, then x y."""
    x = record.context.astype(np.float32).astype(np.float64)
    return np.concatenate([np.outer(x, x)[np.triu_indices(len(x))], x * record.reward])


def audit_key(run: int) -> Key:
    """The key of one run; its draws are shared with no experiment."""
    return replicate_key(_SEED, run)


def contexts(key: Key, agent: int, round_: int, dimension: int, arms: int, bound: float) -> Floats:
    """A decision set of an audit, (d, arms) float64, every context of norm ``bound``."""
    drawn = normals(dimension * arms, key, agent, round_, Purpose.CONTEXT).reshape(dimension, arms)
    return np.asarray(bound * (1.0 - 1e-6) * drawn / np.linalg.norm(drawn, axis=0))


class PartyRun(Protocol):
    """A system's parties, at the audit's disposal."""

    network: MemoryNetwork

    def play_round(self, world: int, round_: int) -> None:
        """All parties play one round of a world; the network settles."""

    def scores(self) -> Floats:
        """(m,) statistics of what the audited party sent that tell the worlds apart, or none."""


class MessagesGame(NamedTuple):
    """Whole parties in two worlds.

    Parameters
    ----------
    neighbours
        Whether all other records stay as they are, or may react.
    looks_at
        What the attacker sees, in words.
    audited
        The party that has the replaced record.
    rounds
        How many rounds each run plays.
    begin
        Makes the parties of one run.
    gaussian
        Whether contents are priced as Gaussian, and who looks at them knows all other records.
    runs
        How many runs a side suffice.
    scores
        How many :meth:`PartyRun.scores` there are.
    """

    neighbours: Neighbours
    looks_at: str
    audited: str
    rounds: int
    begin: Callable[[int], PartyRun]
    gaussian: bool = False
    sees: Sees = "messages"
    runs: int = PARTY_RUNS
    scores: int = 0

    def play(self, world: int, first: int, count: int) -> Transcripts:
        """Runs first … first + count - 1 of a world."""
        times = np.unique(np.linspace(1, self.rounds, _TIMES).astype(np.int64))
        values = np.zeros((count, len(times) + _MOST_VALUES))
        patterns = np.zeros(count, np.int64)
        scores = np.zeros((count, self.scores))
        for i in range(count):
            run, seen = self.begin(first + i), Seen()
            deliveries, known = run.network.transcript.deliveries, 0
            for round_ in range(1, self.rounds + 1):
                run.play_round(world, round_)
                seen.take(self.audited, round_, (m for _, m in deliveries[known:]))
                known = len(deliveries)
            numbers = np.concatenate([seen.sent_by(times), seen.numbers()[:_MOST_VALUES]])
            values[i, : len(numbers)] = numbers
            patterns[i] = seen.pattern()
            scores[i] = run.scores()
        return Transcripts(scores, values, patterns)


class Seen:
    """What leaves one party, told apart into contents and the fact that there is a message."""

    def __init__(self) -> None:
        self._contents: list[bytes] = []
        self._envelopes: list[tuple[Any, ...]] = []

    def take(self, audited: str, round_: int, messages: Iterable[Message]) -> None:
        """Look at what was sent in a round. What others said before is no news of this party."""
        for message in messages:
            if message.sender != audited:
                continue
            envelope: list[Any] = [round_, type(message).__name__]
            own = getattr(message, "origin", audited) == audited
            for field in message.__struct_fields__:
                value = getattr(message, field)
                if isinstance(value, bytes):
                    envelope.append(len(value))
                    if own and value not in self._contents:
                        self._contents.append(value)
                else:
                    envelope.append(value)
            self._envelopes.append(tuple(envelope))

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
