"""What one participant of a SAMBA run can read, by trying every key that it holds."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fedbandits.crypto.aead import (
    NEVER,
    Channel,
    CipherName,
    ClearCipher,
    PacketCipher,
    PacketLengthError,
    TamperedPacketError,
    make_cipher,
)
from fedbandits.crypto.paillier import CiphertextError
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.agreement import Agreement, channel_cipher
from fedbandits.systems.samba.audit.attack import SCORES_KNOWN
from fedbandits.systems.samba.audit.guesses import (
    exploring_steps,
    guess_by_drawn_score,
    guess_by_place,
    pulled_arms,
)
from fedbandits.systems.samba.audit.keys import common_divisor, keys_held, keys_in
from fedbandits.systems.samba.audit.truth import Truth
from fedbandits.systems.samba.messages import (
    Bit,
    BitList,
    Drawn,
    Score,
    ScoreList,
    Setup,
    Sum,
    Total,
)
from fedbandits.systems.samba.packets import BIT_BYTES, BITS, SCORE_BYTES, SCORES, floats
from fedbandits.systems.samba.streams import ControllerKeys, Masks, Places
from fedbandits.systems.samba.sums import decrypt

#: Who is neither party nor server, and sees every message.
OBSERVER = "external observer"
OWNER = "owner-0"
_CIPHERS: tuple[CipherName, ...] = ("aes-gcm", "stream")
#: Powers of two that a mask may have contributed.
_OCTAVES = 2.0 ** np.arange(-100, 100)


class Sight(enum.IntEnum):
    """How well a participant sees a datum, from worst to best."""

    NOT_SEEN = 0
    ENCRYPTED = 1
    GUESSED = 2  #: more often than by chance, though encrypted
    MASKED_PERMUTED = 3  #: without the mask, without the name
    MASKED = 4
    PERMUTED = 5  #: in clear, without the name
    CLEAR = 6

    @property
    def text(self) -> str:
        """For a table."""
        return self.name.lower().replace("_", ", " if self is Sight.MASKED_PERMUTED else " ")


class Examination:
    """What one participant of a run sees, or several who pool what they see.

    Parameters
    ----------
    run
        SAMBA's parties, played to the end.
    *names
        Parties, or :data:`OBSERVER`.
    """

    def __init__(self, run: PartiesReplicate, *names: str) -> None:
        self._names, self._run = names, run
        self._agreed: Agreement = run.one("controller").agreement  # public
        self._parties = [run.network.parties[name] for name in names if name != OBSERVER]
        self._seen = [
            message
            for _, message in run.network.transcript.deliveries
            if OBSERVER in names or {message.receiver, message.sender} & set(names)
        ]
        held, self._private = keys_held(self._parties)
        held |= {key for message in self._seen for key in keys_in(message)}
        run_name = self._agreed.run
        derived = {own for key in held for own in ControllerKeys.derive(key, run_name)}
        self._keys = held | derived
        self._truth = Truth(run)

    def cumulative_reward(self) -> Sight:
        """Of the sum that the customer pays for."""
        if any(_knows(party, "cumulative_reward", self._truth.total) for party in self._parties):
            return Sight.CLEAR
        # An owner knows the masks: together with it, scores without names are enough.
        if self._reads_sums(Sight.PERMUTED if OWNER in self._names else Sight.CLEAR):
            return Sight.CLEAR
        totals = [message for message in self._seen if isinstance(message, Total)]
        if totals:
            return self._sum_sight(totals[0].ciphertext, self._truth.total)
        sums = [message.sender for message in self._seen if isinstance(message, Sum)]
        return Sight.ENCRYPTED if len(set(sums)) == self._agreed.arms else Sight.NOT_SEEN

    def _reads_sums(self, least: Sight) -> bool:
        """Whether every owner's statistics are seen so well, and sums follow from scores."""
        owners = range(self._agreed.arms)
        return type(self._agreed.rule) in SCORES_KNOWN and all(
            self._statistics_of(owner) >= least for owner in owners
        )

    def statistics(self, owners: Iterable[int]) -> Sight:
        """Of scores and of sums, which are functions of (sᵢ, nᵢ); the best sight on any owner."""
        return max(self._statistics_of(owner) for owner in owners)

    def _statistics_of(self, owner: int) -> Sight:
        name = f"owner-{owner}"
        if name in self._names:
            return Sight.CLEAR
        best = Sight.NOT_SEEN
        for message in self._seen:
            if isinstance(message, Sum) and message.sender == name:
                truth = self._truth.sums[owner]
                best = max(best, self._sum_sight(message.ciphertext, truth))
            elif isinstance(message, Score) and message.sender == name and message.sealed:
                best = max(best, self._score_sight(message, message.sealed, owner, named=True))
            elif isinstance(message, ScoreList):
                place = self._truth.place(message, owner)
                named = self._sees_through_places
                best = max(best, self._score_sight(message, message.sealed[place], owner, named))
        return best

    def _score_sight(self, message: Any, sealed: bytes, owner: int, named: bool) -> Sight:
        opened = self._open(SCORES, SCORE_BYTES, message, sealed)
        if opened is None:
            return Sight.ENCRYPTED
        value = _score(opened)
        true = self._truth.score(message, owner)
        known_masks = [Masks(key, self._agreed.iterations) for key in self._keys]
        unmasked = [value, *(value / m.draw(message.step, message.iteration) for m in known_masks)]
        if isinstance(message, ScoreList):
            seen = floats([self._truth.contents(SCORES, message, s) for s in message.sealed])
            unmasked += (value / common_divisor(seen) * _OCTAVES).tolist()
        if np.isclose(unmasked, true, rtol=1e-12, atol=0.0).any():
            return Sight.CLEAR if named else Sight.PERMUTED
        return Sight.MASKED if named else Sight.MASKED_PERMUTED

    def pulls(self) -> Sight:
        """An owner sees its own bit; somebody else must open a bit and know whose it is.

        Who knows the order of Comp's lists may guess, too.
        """
        if OWNER in self._names:
            return Sight.CLEAR
        best = Sight.NOT_SEEN
        for message in self._seen:
            if isinstance(message, Bit):
                opened = self._open(BITS, BIT_BYTES, message, message.sealed)
                best = max(best, Sight.ENCRYPTED if opened is None else Sight.CLEAR)
            elif isinstance(message, BitList):
                opened = self._open(BITS, BIT_BYTES, message, message.sealed[0])
                named = Sight.CLEAR if self._sees_through_places else Sight.PERMUTED
                best = max(best, Sight.ENCRYPTED if opened is None else named)
        return max(best, Sight.GUESSED) if self._guesses_pulls() else best

    def _guesses_pulls(self) -> bool:
        if not self._sees_through_places:
            return False
        exploring, groups = exploring_steps(self._run), [list(pulled_arms(self._run))]
        if exploring:
            groups.append(exploring)
            drawn = any(isinstance(message, Drawn) for message in self._seen)
            if drawn and guess_by_drawn_score(self._run, exploring).beats_chance:
                return True
        return any(guess_by_place(self._run, group).beats_chance for group in groups)

    def single_rewards(self) -> Sight:
        """No message carries a single reward; an owner makes its own.

        Who reads everybody's sums step by step sees how each pull changes them.
        """
        seen = OWNER in self._names or (len(self._names) > 1 and self._reads_sums(Sight.CLEAR))
        return Sight.CLEAR if seen else Sight.NOT_SEEN

    def _open(self, direction: int, size: int, message: Any, sealed: bytes) -> bytes | None:
        """The packet's contents, if some key that is held opens this and all others seen."""
        if not self._opens(direction, size):
            return None
        return self._truth.contents(direction, message, sealed)

    @functools.cache  # noqa: B019 - an examination is short-lived
    def _opens(self, direction: int, size: int) -> bool:
        kinds = (Score, ScoreList) if direction == SCORES else (Bit, BitList)
        packets = [
            (message, sealed)
            for message in self._seen
            if isinstance(message, kinds) and message.sealed
            for sealed in _listed(message.sealed)
        ]
        return any(
            all(self._reads(Channel(cipher, direction, size), *packet) for packet in packets)
            for cipher in self._ciphers()
        )

    def _reads(self, channel: Channel, message: Any, sealed: bytes) -> bool:
        """Whether a packet opens to what is in it, at whatever slot."""
        true = self._truth.contents(channel.direction, message, sealed)
        for slot in range(self._agreed.arms):
            try:
                (opened,) = channel.open(message.step, message.iteration, [slot], [sealed], NEVER)
            except (TamperedPacketError, PacketLengthError):
                continue
            if opened == true:
                return True
        return False

    def _ciphers(self) -> Iterator[PacketCipher]:
        """With every key that is held: as the run's key is made of it, and as it is."""
        yield ClearCipher()
        for key in self._keys:
            for name in _CIPHERS:
                yield channel_cipher(name, key, self._agreed)
                yield make_cipher(name, key)

    @functools.cached_property
    def _sees_through_places(self) -> bool:
        """Whether a standing order, or some key that is held, tells who is where in every list."""
        agreed, lists = self._agreed, self._truth.lists
        guesses: list[Any] = [lambda step, iteration: np.arange(agreed.arms)]
        guesses += [Places(key, agreed.arms, agreed.iterations).draw for key in self._keys]
        guesses.append(self._told_places)
        return any(
            all(np.array_equal(guess(*turn), places) for turn, places in lists.items())
            for guess in guesses
        )

    def _told_places(self, step: int, iteration: int) -> Any:
        """Places that messages to owners told whoever saw all of them (a Bit tells the next)."""
        owners = [f"owner-{i}" for i in range(self._agreed.arms)]
        told = self._places_told.get((step, iteration), {})
        return np.array([told.get(owner, -1) for owner in owners])

    @functools.cached_property
    def _places_told(self) -> dict[tuple[int, int], dict[str, int]]:
        agreed, told = self._agreed, dict[tuple[int, int], dict[str, int]]()
        for message in self._seen:
            if isinstance(message, Setup):
                turn = (agreed.arms + 1, 1)
            elif isinstance(message, Bit):
                last = message.iteration == agreed.iterations
                turn = (message.step + 1, 1) if last else (message.step, message.iteration + 1)
            else:
                continue
            told.setdefault(turn, {})[message.receiver] = message.place
        return told

    def _sum_sight(self, ciphertext: bytes, true: int) -> Sight:
        for key in (*self._private, None):
            try:
                if decrypt(key, ciphertext) == true:
                    return Sight.CLEAR
            except CiphertextError:
                continue
        return Sight.ENCRYPTED


def _listed(sealed: bytes | tuple[bytes, ...]) -> tuple[bytes, ...]:
    return (sealed,) if isinstance(sealed, bytes) else sealed


def _score(opened: bytes) -> float:
    return float(floats([opened])[0])


def _knows(party: Any, attribute: str, truth: int) -> bool:
    return getattr(party.state, attribute, None) == truth
