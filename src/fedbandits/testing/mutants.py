"""Messages that are almost right, which a party must take, or refuse with a named error.

Mutants are made from messages of honest parties, so they pass the first checks. A field gets a
value that its type allows and the protocol does not: an extreme number, absurd statistics, a list
of another length, another name. Encoded bytes are flipped, cut and joined.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from fedbandits.federation import snapshots
from fedbandits.federation.links import Receipt
from fedbandits.federation.messages import Codec, Message, OtherTermsError
from fedbandits.federation.party import Dump, Party

_NUMBERS = (-(2**63), -(2**62), -1, 0, 1, 2, 3, 2**31, 2**53, 2**62, 2**63 - 1)
_ENTRIES = (1e200, 1.7e308, -1.7e308, -1e16, math.inf, -math.inf, math.nan, 5e-324, 0.0)
_KINDS = 8
_ENVELOPE = Message.__struct_fields__


class Draws:
    """Random draws that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self._seed, self._drawn = seed, 0

    def bytes(self, count: int) -> bytes:
        """Draw ``count`` bytes."""
        self._drawn += 1
        return hashlib.shake_128(f"{self._seed} {self._drawn}".encode()).digest(count)

    def below(self, limit: int) -> int:
        """Draw a number from 0 to ``limit`` - 1."""
        return int.from_bytes(self.bytes(8), "big") % limit


class Mutants:
    """Mutants of messages, the same for the same seed."""

    def __init__(self, codec: Codec, seed: int) -> None:
        self._codec, self._draws = codec, Draws(seed)
        #: Recent messages, whose fields are put into others.
        self._seen: list[Message] = []

    def of(self, message: Message, count: int) -> Iterator[bytes]:
        """Draw ``count`` mutants of a message, encoded."""
        self._seen = [*self._seen[-20:], message]
        for _ in range(count):
            yield self._one(message)

    def _one(self, message: Message) -> bytes:
        if self._draws.below(_KINDS) == 0:
            return self._garbled(self._codec.encode(message))
        changed = message
        for _ in range(1 + self._draws.below(2)):
            changed = self._with_other_field(changed)
        return self._codec.encode(changed)

    def _with_other_field(self, message: Message) -> Message:
        body = [name for name in message.__struct_fields__ if name not in _ENVELOPE]
        fields = body if body and self._draws.below(4) else _ENVELOPE
        name = fields[self._draws.below(len(fields))]
        value = self._other(getattr(message, name))
        return msgspec.structs.replace(message, **{name: value})

    def _other(self, value: Any) -> Any:
        """Draw another value of the same type."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return (
                self._pick((*_NUMBERS, value + 1, value - 1, -value)) if abs(value) < 2**62 else 0
            )
        if isinstance(value, float):
            return self._pick(_ENTRIES)
        if isinstance(value, str):
            return self._pick([m.sender for m in self._seen] + ["", "stranger", value + "0"])
        if isinstance(value, bytes):
            return self._other_bytes(value)
        if isinstance(value, tuple):
            return self._other_list(value)
        return self._stranger(value)

    def _stranger(self, value: Any) -> Any:
        """Pick a struct of the same type from a recent message, if there is one."""
        others = [
            getattr(message, name)
            for message in self._seen
            for name in message.__struct_fields__
            if isinstance(getattr(message, name), type(value))
        ]
        return self._pick(others or [value])

    def _other_list(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if not values or self._draws.below(3) == 0:
            others: list[tuple[Any, ...]] = [(), values[1:], values[:-1], values * 2]
            return others[self._draws.below(len(others))]
        at = self._draws.below(len(values))
        return (*values[:at], self._other(values[at]), *values[at + 1 :])

    def _other_bytes(self, data: bytes) -> bytes:
        if len(data) < 8 or self._draws.below(3) == 0:
            return self._garbled(data)
        numbers = np.frombuffer(data[: len(data) // 8 * 8]).copy()
        kind = self._draws.below(4)
        if kind == 0:
            numbers[self._draws.below(numbers.size)] = self._pick(_ENTRIES)
        elif kind == 1:
            numbers[:] = self._pick(_ENTRIES)
        elif kind == 2:
            numbers = -numbers
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                numbers *= 10.0 ** self._draws.below(300)
        return numbers.tobytes()

    def _garbled(self, data: bytes) -> bytes:
        """Flip a bit, cut the bytes, or insert other bytes."""
        at = self._draws.below(len(data) + 1)
        kind = self._draws.below(4)
        if kind == 0 and at < len(data):
            return data[:at] + bytes([data[at] ^ 1 << self._draws.below(8)]) + data[at + 1 :]
        if kind == 1:
            return data[:at]
        return data[:at] + self._draws.bytes(1 + self._draws.below(16)) + data[at + kind % 2 :]

    def _pick(self, values: Any) -> Any:
        return values[self._draws.below(len(values))]


class AttackedParty:
    """Stand-in for a party whose twin receives mutants of each message before the party.

    ``make`` makes the party anew, as a restarted process does. ``counts`` are the mutants of each
    message, by the role of the receiver. ``outcomes`` counts their outcomes, as ``Role: outcome or
    error``.
    """

    def __init__(
        self, make: Callable[[], Party[Any]], codec: Codec, mutants: Mutants,
        counts: Mapping[str, int], outcomes: Counter[str],
    ) -> None:  # fmt: skip
        self._party, self._make, self._twin = make(), make, make()
        self._codec, self._mutants, self._outcomes = codec, mutants, outcomes
        self._count = counts[self._party.role]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._party, name)

    def receive_bytes(self, data: bytes, link: str) -> Receipt:
        """Give the mutants to the twin, then the message to the party."""
        saved = self._party.dump()
        self._twin.load(saved)
        for mutant in self._mutants.of(self._codec.decode(data), self._count):
            self._attack(saved, mutant, link)
        return self._party.receive_bytes(data, link)

    def _attack(self, saved: bytes, mutant: bytes, link: str) -> None:
        receipt = self._twin.receive_bytes(mutant, link)
        outcome = receipt.outcome
        if outcome == "taken":
            require_finite(self._twin.state, self._twin.name)
            self._twin = self._make()
            self._twin.load(saved)
        else:
            require_untouched(saved, self._twin.dump(), link, receipt)
            self._twin.load(saved)
        kind = type(receipt.why).__name__ if outcome == "refused" else outcome
        self._outcomes[f"{type(self._party).__name__}: {kind}"] += 1


def require_untouched(before: bytes, after: bytes, link: str, receipt: Receipt) -> None:
    """Check that a message that was not taken has changed the numbers of its link alone."""
    saved, reached = snapshots.decode(Dump, before), snapshots.decode(Dump, after)
    assert bytes(reached.state) == bytes(saved.state), f"{receipt.outcome}, yet the state changed"
    for peer, kept in saved.links.items():
        now, was = reached.links[peer], kept
        if peer == link:
            was = msgspec.structs.replace(was, received=now.received, ahead=now.ahead)
            if receipt.outcome == "early":
                was = msgspec.structs.replace(was, held=now.held)
            if isinstance(receipt.why, OtherTermsError):
                was = msgspec.structs.replace(
                    was, sent=now.sent, told=now.told, differs=now.differs
                )
        assert now == was, f"{receipt.outcome}, yet the link of {peer} changed"
    used_up = reached.links[link].received - saved.links[link].received
    assert 0 <= used_up <= (receipt.outcome == "refused")


def require_finite(value: Any, place: str) -> None:
    """Check that all numbers of a state are finite."""
    if isinstance(value, np.ndarray):
        assert value.dtype.kind != "f" or np.isfinite(value).all(), f"{place} is not finite"
    elif isinstance(value, float):
        assert math.isfinite(value), f"{place} is not finite"
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            require_finite(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, dict):
        for key, inside in value.items():
            require_finite(inside, f"{place}[{key}]")
    elif isinstance(value, tuple):
        for inside in value:
            require_finite(inside, place)
