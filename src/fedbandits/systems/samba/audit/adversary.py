"""Adversaries: participants of a run who try all of their keys on all messages.

:class:`SilentAdversary` takes part in a silent run, and also tries all keys that can be made from
its keys. A share alone is uniform, so a share counts as not seen. A packet that no key opens counts
as encrypted. A packet that the right key does not open is not sealed: anybody reads the bytes.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fedbandits.crypto.aead import PacketLengthError, TamperedPacketError, make_cipher
from fedbandits.crypto.keystream import KeyStream
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.audit.attack import keys_of_message, keys_of_party
from fedbandits.systems.samba.ciphers import DOWN, TO_FIRST, TO_SECOND, TOTAL, UP, Line, read_word
from fedbandits.systems.samba.keys import (
    DealtKeys,
    LinkKeys,
    PadKeys,
    SealKeys,
    SimulatedSecrets,
    TotalKey,
    make_keys,
    owners_secret,
)
from fedbandits.systems.samba.messages import (
    Answer,
    FirstTotal,
    SecondTotal,
    Sum,
    SumShare,
    ToFirst,
    ToSecond,
    Total,
    Word,
)
from fedbandits.systems.samba.plan import Agreement
from fedbandits.systems.samba.streams import turn_number

#: A participant that is no party, and sees every message.
OBSERVER = "external observer"
ONE_OWNER = "owner-0"
_MODULUS = 1 << 64


class Exposure(enum.IntEnum):
    """Degrees of how well a participant sees a datum, from worst to best."""

    NOT_SEEN = 0
    ENCRYPTED = 1
    GUESSED = 2  #: more often than by chance, though encrypted
    MASKED_PERMUTED = 3  #: without the mask, without the name
    MASKED = 4
    PERMUTED = 5  #: in clear, without the name
    CLEAR = 6

    @property
    def text(self) -> str:
        """The degree in words, for a table."""
        return self.name.lower().replace("_", ", " if self is Exposure.MASKED_PERMUTED else " ")


class Adversary:
    """A participant of a run, or several with a common view.

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
        #: Every message that the participant sent, received or heard.
        self._view: list[Any] = [
            message
            for _, message in run.network.transcript.deliveries
            if OBSERVER in names or {message.receiver, message.sender} & set(names)
        ]
        keys, self._private = keys_of_party(self._parties)
        self._held = keys | {key for message in self._view for key in keys_of_message(message)}

    def _of(self, *kinds: type[Any], sender: str = "", receiver: str = "") -> list[Any]:
        """List the messages of these types in the view, of all or of one sender or receiver."""
        return [
            message for message in self._view
            if isinstance(message, kinds) and sender in ("", message.sender)
            and receiver in ("", message.receiver)
        ]  # fmt: skip

    def _knows(self, total: int) -> bool:
        """Tell whether a party of the view has this cumulative reward in its state."""
        return total in [getattr(party.state, "cumulative_reward", None) for party in self._parties]

    def cumulative_reward(self) -> Exposure:
        """Return the exposure of the sum that the customer pays for."""
        raise NotImplementedError

    def statistics(self, owners: Iterable[int]) -> Exposure:
        """Return the largest exposure of (sᵢ, nᵢ), from which scores and sums follow."""
        return max(self._statistics_of(owner) for owner in owners)

    def _statistics_of(self, owner: int) -> Exposure:
        raise NotImplementedError

    def pulls(self) -> Exposure:
        """Return the exposure of the pulled arms."""
        raise NotImplementedError

    def single_rewards(self) -> Exposure:
        """Return the exposure of single rewards, which no message carries."""
        raise NotImplementedError


class SilentAdversary(Adversary):
    """A participant of a silent run, or several with a common view.

    ``secrets`` are all secrets of the run: they tell the truth about packets and pads.
    """

    def __init__(self, run: PartiesReplicate, secrets: SimulatedSecrets, *names: str) -> None:
        super().__init__(run, *names)
        plan: Any = run.plan
        self._config, self._secrets = plan.config, secrets
        self._owners = [party.name for party in run.of("owner")]
        self._keys = sorted(_closed(self._held, self._owners, self._agreed))

    def cumulative_reward(self) -> Exposure:
        total = sum(owner.state.rewards for owner in self._run.of("owner"))
        if self._knows(total) or self._reads_all_scores:
            return Exposure.CLEAR
        parts = [self._opened(m) for m in self._of(FirstTotal, SecondTotal)]
        if len(parts) == 2 and None not in parts:
            return Exposure.CLEAR
        if self._of(Sum, Total):
            return Exposure.ENCRYPTED
        return Exposure.ENCRYPTED if None in parts else Exposure.NOT_SEEN

    @property
    def _reads_all_scores(self) -> bool:
        """True if the statistics of every owner are in clear."""
        owners = range(len(self._owners))
        return all(self._statistics_of(owner) is Exposure.CLEAR for owner in owners)

    def pulls(self) -> Exposure:
        """Return the exposure of pulls: by opened answers without their pads, or by scores."""
        if self._reads_all_scores:
            return Exposure.CLEAR
        return max(self._pulls_of(owner) for owner in range(len(self._owners)))

    def single_rewards(self) -> Exposure:
        """Return the exposure of single rewards: changes of all scores show every reward."""
        owns = ONE_OWNER in self._names
        return Exposure.CLEAR if owns or self._reads_all_scores else Exposure.NOT_SEEN

    def _statistics_of(self, owner: int) -> Exposure:
        name = self._owners[owner]
        if name in self._names:
            return Exposure.CLEAR
        sent = {kind: self._of(kind, sender=name) for kind in (Word, SumShare)}
        shares = {kind: [self._opened(message) for message in sent[kind]] for kind in sent}
        opens = {kind: bool(opened) and None not in opened for kind, opened in shares.items()}
        if any(opens[kind] and self._knows_pad(owner, sent[kind][0]) for kind in sent):
            return Exposure.CLEAR
        if self._knows_masks(opens[Word]):
            return Exposure.CLEAR
        sealed = any(None in opened for opened in shares.values())
        return Exposure.ENCRYPTED if sealed else Exposure.NOT_SEEN

    def _knows_pad(self, owner: int, message: Any) -> bool:
        """Tell whether some key makes the pad of an owner's first word, or of its sum."""
        secret = owners_secret(self._secrets.pads, "pads", self._owners[owner])
        keys, turn = make_keys(PadKeys, secret, self._agreed), 0
        if isinstance(message, Word):
            turn = turn_number(self._agreed, message.step, message.iteration)
        true = _pad(keys.words if isinstance(message, Word) else keys.total, turn)
        return true == 0 or true in {_pad(key, turn) for key in self._keys}

    def _knows_masks(self, opens_words: bool) -> bool:
        """Tell whether the dealer's words, and messages between servers, give the scores."""
        first, second = (
            make_keys(DealtKeys, secret, self._agreed).words in self._keys
            for secret in (self._secrets.first, self._secrets.second)
        )
        to_first, to_second = (
            bool(sent) and None not in [self._opened(m) for m in sent]
            for sent in (self._of(ToFirst), self._of(ToSecond))
        )
        return second and ((opens_words and to_first) or (first and to_second))

    def _pulls_of(self, owner: int) -> Exposure:
        name = self._owners[owner]
        if name in self._names:
            return Exposure.CLEAR
        answers = self._of(Answer, receiver=name)
        opened = [self._opened(message) for message in answers]
        if not answers or None in opened:
            return Exposure.ENCRYPTED if answers else Exposure.NOT_SEEN
        turns = [turn_number(self._agreed, m.step, m.iteration) for m in answers]
        padded = [read_word(word) for word in opened if word is not None]
        for stream in (None, *(KeyStream(key, 1) for key in self._keys)):
            pads = (0 if stream is None else int(stream.words(turn)[0]) for turn in turns)
            if all(
                (word - pad) % _MODULUS in (0, 1) for word, pad in zip(padded, pads, strict=True)
            ):
                return Exposure.CLEAR
        return Exposure.NOT_SEEN

    def _opened(self, message: Any) -> bytes | None:
        """Return the contents of a packet that some key opens, or that is not sealed."""
        if self._config.packet_cipher == "none":
            return bytes(message.sealed)
        way, place, true_key = self._sealing(message)
        if self._opened_with(true_key, way, place, message.sealed) is None:  # not sealed
            return bytes(message.sealed)
        link = (type(message), message.sender, message.receiver)
        for key in self._openers.get(link, self._keys):
            opened = self._opened_with(key, way, place, message.sealed)
            if opened is not None:
                self._openers[link] = [key]
                return opened
        self._openers[link] = []
        return None

    def _opened_with(
        self, key: bytes, way: int, place: tuple[int, int, int], sealed: bytes
    ) -> bytes | None:
        """Return the contents of a packet, if this key opens the packet."""
        cipher = self._config.packet_cipher
        size = len(sealed) - make_cipher(cipher, key).overhead
        if size < 0:
            return None
        try:
            return Line(cipher, key, way).open(*place, sealed, size)
        except (TamperedPacketError, PacketLengthError):
            return None

    @functools.cached_property
    def _openers(self) -> dict[Any, Sequence[bytes]]:
        return {}

    def _sealing(self, message: Any) -> tuple[int, tuple[int, int, int], bytes]:
        """Return the direction and the place of a packet, and the key of its seal."""
        secrets, agreed, end = self._secrets, self._agreed, self._agreed.budget + 1
        match message:
            case ToFirst() | ToSecond():
                link = make_keys(LinkKeys, secrets.link, agreed)
                place = (message.step, message.iteration, message.part)
                to_first = isinstance(message, ToFirst)
                way, key = (TO_FIRST, link.to_first) if to_first else (TO_SECOND, link.to_second)
                return way, place, key
            case FirstTotal():
                return TOTAL, (end, 1, 0), make_keys(TotalKey, secrets.bill, agreed).total
            case SecondTotal():
                return TOTAL, (end, 1, 1), make_keys(TotalKey, secrets.receipt, agreed).total
        owner = message.receiver if isinstance(message, Answer) else message.sender
        seals = make_keys(SealKeys, owners_secret(secrets.packets, "packets", owner), agreed)
        index = self._owners.index(owner)
        if isinstance(message, SumShare):
            return UP, (end, 1, index), seals.up
        turn = (message.step, message.iteration, index)
        return (DOWN, turn, seals.down) if isinstance(message, Answer) else (UP, turn, seals.up)


def _pad(key: bytes, turn: int) -> int:
    return int(KeyStream(key, 1).block(turn, 1)[0, 0])


def _closed(keys: set[bytes], owners: Sequence[str], agreed: Agreement) -> set[bytes]:
    """Return all keys that can be made from these keys: for owners, links and purposes."""
    secrets = keys | {
        owners_secret(key, name, owner)
        for key in keys for name in ("pads", "packets") for owner in owners
    }  # fmt: skip
    return secrets | {key for secret in secrets for key in _purposes(secret, agreed)}


def _purposes(secret: bytes, agreed: Agreement) -> Iterator[bytes]:
    for kind in (PadKeys, SealKeys, LinkKeys, DealtKeys, TotalKey):
        yield from make_keys(kind, secret, agreed)
