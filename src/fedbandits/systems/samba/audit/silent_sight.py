"""What one participant of a silent run can read, by trying every key that it can make.

A share alone is uniform, so it counts as not seen. Packets that do not open count as encrypted, but
what the right key does not open either is not sealed: anybody reads it as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fedbandits.crypto.aead import PacketLengthError, TamperedPacketError, make_cipher
from fedbandits.crypto.keystream import KeyStream
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.agreement import Agreement
from fedbandits.systems.samba.audit.keys import keys_held, keys_in
from fedbandits.systems.samba.audit.sight import OBSERVER, OWNER, Sight
from fedbandits.systems.samba.messages import Sum, Total
from fedbandits.systems.samba.silent.messages import (
    Answer,
    FirstTotal,
    SecondTotal,
    SumShare,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.systems.samba.silent.packets import Line, word_of
from fedbandits.systems.samba.silent.streams import (
    DOWN,
    PACKETS,
    PADS,
    TO_FIRST,
    TO_SECOND,
    TOTAL,
    UP,
    DealtKeys,
    LinkKeys,
    PadKeys,
    SealKeys,
    SilentSecrets,
    owners_secret,
    total_key,
    turn_number,
)

_MODULUS = 1 << 64


class SilentExamination:
    """What one participant of a silent run sees, or several who pool what they see.

    Parameters
    ----------
    run
        A silent run of SAMBA's parties, played to its end.
    secrets
        All secrets of the run: what is worked out is held against what they tell.
    *names
        Parties, or the observer.
    """

    def __init__(self, run: PartiesReplicate, secrets: SilentSecrets, *names: str) -> None:
        plan: Any = run.plan
        self._names, self._run, self._config = names, run, plan.config
        self._agreed: Agreement = run.one("controller").agreement
        self._owners = [party.name for party in run.of("owner")]
        self._parties = [run.network.parties[name] for name in names if name != OBSERVER]
        everything: list[Any] = [message for _, message in run.network.transcript.deliveries]
        self._seen = [
            m for m in everything if OBSERVER in names or {m.receiver, m.sender} & set(names)
        ]
        held, _ = keys_held(self._parties)
        held |= {key for message in self._seen for key in keys_in(message)}
        self._keys = sorted(_closed(held, self._owners, self._agreed))
        self._secrets = secrets

    def cumulative_reward(self) -> Sight:
        """Of the sum that the customer pays for."""
        total = sum(owner.state.rewards for owner in self._run.of("owner"))
        known = [getattr(party.state, "cumulative_reward", None) for party in self._parties]
        if total in known or self.statistics(range(len(self._owners)), least=True) is Sight.CLEAR:
            return Sight.CLEAR
        parts = [self._opened(m) for m in self._of(FirstTotal, SecondTotal)]
        if len(parts) == 2 and None not in parts:
            return Sight.CLEAR
        if self._of(Sum, Total):
            return Sight.ENCRYPTED
        return Sight.ENCRYPTED if None in parts else Sight.NOT_SEEN

    def statistics(self, owners: Iterable[int], least: bool = False) -> Sight:
        """Of scores and of sums; the best sight on any owner, or the least."""
        return (min if least else max)(self._statistics_of(owner) for owner in owners)

    def pulls(self) -> Sight:
        """Somebody must open an answer, and take its pad off, or know all scores."""
        owners = range(len(self._owners))
        if self.statistics(owners, least=True) is Sight.CLEAR:
            return Sight.CLEAR
        return max(self._pulls_of(owner) for owner in owners)

    def single_rewards(self) -> Sight:
        """No message carries one; whoever reads all scores sees how each pull changes them."""
        own = OWNER in self._names
        everything = self.statistics(range(len(self._owners)), least=True) is Sight.CLEAR
        return Sight.CLEAR if own or everything else Sight.NOT_SEEN

    def _statistics_of(self, owner: int) -> Sight:
        name = self._owners[owner]
        if name in self._names:
            return Sight.CLEAR
        sent = {kind: self._of(kind, sender=name) for kind in (Word, SumShare)}
        shares = {kind: [self._opened(message) for message in sent[kind]] for kind in sent}
        opens = {kind: bool(opened) and None not in opened for kind, opened in shares.items()}
        if any(opens[kind] and self._knows_pad(owner, sent[kind][0]) for kind in sent):
            return Sight.CLEAR
        if self._knows_masks(opens[Word]):
            return Sight.CLEAR
        sealed = any(None in opened for opened in shares.values())
        return Sight.ENCRYPTED if sealed else Sight.NOT_SEEN

    def _knows_pad(self, owner: int, message: Any) -> bool:
        """Whether some key makes the pad of an owner's first word, or of its sum."""
        secret = owners_secret(self._secrets.pads, PADS, self._owners[owner])
        keys, turn = PadKeys.derive(secret, self._agreed), 0
        if isinstance(message, Word):
            turn = turn_number(self._agreed, message.step, message.iteration)
        true = _pad(keys.words if isinstance(message, Word) else keys.total, turn)
        return true == 0 or true in {_pad(key, turn) for key in self._keys}

    def _knows_masks(self, opens_words: bool) -> bool:
        """Whether the dealer's words, and what servers sent each other, give the scores."""
        first, second = (
            DealtKeys.derive(secret, self._agreed).words in self._keys
            for secret in (self._secrets.first, self._secrets.second)
        )
        to_first, to_second = (
            bool(sent) and None not in [self._opened(m) for m in sent]
            for sent in (self._of(ToFirst), self._of(ToSecond))
        )
        return second and ((opens_words and to_first) or (first and to_second))

    def _pulls_of(self, owner: int) -> Sight:
        name = self._owners[owner]
        if name in self._names:
            return Sight.CLEAR
        answers = self._of(Answer, receiver=name)
        opened = [self._opened(message) for message in answers]
        if not answers or None in opened:
            return Sight.ENCRYPTED if answers else Sight.NOT_SEEN
        turns = [turn_number(self._agreed, m.step, m.iteration) for m in answers]
        padded = [word_of(each) for each in opened if each is not None]
        for stream in (None, *(KeyStream(key, 1) for key in self._keys)):
            pads = (0 if stream is None else int(stream.words(turn)[0]) for turn in turns)
            if all(
                (word - pad) % _MODULUS in (0, 1) for word, pad in zip(padded, pads, strict=True)
            ):
                return Sight.CLEAR
        return Sight.NOT_SEEN

    def _of(self, *kinds: type[Any], sender: str = "", receiver: str = "") -> list[Any]:
        return [
            m for m in self._seen
            if isinstance(m, kinds) and m.sender.startswith(sender)
            and m.receiver.startswith(receiver)
        ]  # fmt: skip

    def _opened(self, message: Any) -> bytes | None:
        """What is in a packet, if some key opens it, or none is needed."""
        link = (type(message), message.sender, message.receiver)
        if self._config.packet_cipher == "none":
            return bytes(message.sealed)
        if self._opened_with(self._true_key(message), message) is None:  # then it is not sealed
            return bytes(message.sealed)
        for key in self._openers.get(link, self._keys):
            opened = self._opened_with(key, message)
            if opened is not None:
                self._openers[link] = [key]
                return opened
        self._openers[link] = []
        return None

    def _opened_with(self, key: bytes, message: Any) -> bytes | None:
        """What is in a packet, if this key opens it."""
        direction, position = self._position(message)
        cipher, sealed = self._config.packet_cipher, message.sealed
        size = len(sealed) - make_cipher(cipher, key).overhead
        if size < 0:
            return None
        try:
            return Line(cipher, key, direction).open(*position, sealed, size)
        except (TamperedPacketError, PacketLengthError):
            return None

    def _true_key(self, message: Any) -> bytes:
        """The key that a packet must be sealed with."""
        secrets, agreed = self._secrets, self._agreed
        match message:
            case ToFirst():
                return LinkKeys.derive(secrets.link, agreed).to_first
            case ToSecond():
                return LinkKeys.derive(secrets.link, agreed).to_second
            case FirstTotal():
                return total_key(secrets.bill, agreed)
            case SecondTotal():
                return total_key(secrets.receipt, agreed)
            case Answer():
                own = owners_secret(secrets.packets, PACKETS, message.receiver)
                return SealKeys.derive(own, agreed).down
            case _:  # an owner's word, or its share of the sum
                own = owners_secret(secrets.packets, PACKETS, message.sender)
                return SealKeys.derive(own, agreed).up

    @functools.cached_property
    def _openers(self) -> dict[Any, Sequence[bytes]]:
        return {}

    def _position(self, message: Any) -> tuple[int, tuple[int, int, int]]:
        """The direction of a packet, and its place."""
        end = self._agreed.budget + 1
        match message:
            case Word():
                place = self._owners.index(message.sender)
                return UP, (message.step, message.iteration, place)
            case Answer():
                place = self._owners.index(message.receiver)
                return DOWN, (message.step, message.iteration, place)
            case SumShare():
                return UP, (end, 1, self._owners.index(message.sender))
            case ToFirst():
                return TO_FIRST, (message.step, message.iteration, message.part)
            case ToSecond():
                return TO_SECOND, (message.step, message.iteration, message.part)
            case FirstTotal():
                return TOTAL, (end, 1, 0)
            case _:
                return TOTAL, (end, 1, 1)


def _pad(key: bytes, turn: int) -> int:
    return int(KeyStream(key, 1).block(turn, 1)[0, 0])


def _closed(held: set[bytes], owners: Sequence[str], agreed: Agreement) -> set[bytes]:
    """All keys that can be made of some: of owners, of links, of purposes."""
    secrets = held | {
        owners_secret(key, name, owner)
        for key in held for name in (PADS, PACKETS) for owner in owners
    }  # fmt: skip
    return secrets | {made for key in secrets for made in _purposes(key, agreed)}


def _purposes(secret: bytes, agreed: Agreement) -> Iterator[bytes]:
    for kind in (PadKeys, SealKeys, LinkKeys, DealtKeys):
        yield from kind.derive(secret, agreed)
    yield total_key(secret, agreed)
