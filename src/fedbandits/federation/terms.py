"""The terms that all parties of a federation agree on. They hold no secret and no seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from fedbandits.federation.messages import VERSION

_DIGEST_BYTES = 16
#: Terms of a peer may be so many times as long as our own, and so many bytes.
_MOST_TIMES, _MOST_BYTES = 2, 1 << 16
_ENCODER = msgspec.msgpack.Encoder(order="sorted")
#: Where the noise of all parties comes from. Simulated noise is from a seed: it protects nobody.
NoiseOrigin = Literal["secure", "simulated"]


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The schedule of releases, and how much is released at once.

    Parameters
    ----------
    rounds
        The horizon T, in rounds.
    releases
        How often a party releases, at most.
    ends
        The rounds at whose end it does: "every n", their list, or in words what they depend on.
    most_records
        How many records a release can be about that no release before it was about. A party with
        more keeps the rest for the next.
    """

    rounds: int
    releases: int = 0
    ends: str | tuple[int, ...] = ""
    most_records: int = 0

    @property
    def last_counted(self) -> int | None:
        """The last decision of a party that can be in a release; None if no limit is planned."""
        if not self.releases or not self.most_records:
            return None
        return min(self.releases * self.most_records, self.rounds)


class Difference(NamedTuple):
    """The first key in which two terms differ."""

    key: str
    ours: Any
    theirs: Any

    @property
    def is_of_versions(self) -> bool:
        """True if two versions of fedbandits made the terms, whatever else differs in them."""
        return self.key == "wire"

    def __str__(self) -> str:
        if self.key == "wire":
            return (
                f"messages are of version {cut(repr(self.theirs))} there and {self.ours} here: run "
                "the same fedbandits everywhere"
            )
        key = self.key if self.key.isprintable() else repr(self.key)  # it may be the other's own
        return f"{cut(key)} is {cut(repr(self.theirs))} there and {cut(repr(self.ours))} here"


class Terms(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The terms of a federation; parties with different terms refuse each other.

    Parameters
    ----------
    system
        Name of the system.
    settings, facts
        Configuration of the system and public facts of the world, as plain values.
    schedule
        When parties release.
    parties
        The names of all parties, by role.
    noise
        ``simulated`` if noise and secrets come from a seed. Then nothing is protected, and nothing
        is claimed. Otherwise ``secure``.
    wire
        Version of the message formats.
    federation
        What members on different machines also agree on: the seats and the clock. It is empty in
        one process.
    """

    system: str
    settings: dict[str, Any]
    facts: dict[str, Any]
    schedule: Schedule
    parties: dict[str, tuple[str, ...]]
    noise: NoiseOrigin
    wire: int = VERSION
    federation: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET

    @cached_property
    def content(self) -> bytes:
        """The terms as bytes, which are the same on every machine."""
        return _ENCODER.encode(self)

    @cached_property
    def digest(self) -> str:
        """BLAKE2b digest of :attr:`content`, 16 bytes as hexadecimal digits, in every message."""
        return digest_of(self.content)

    def difference(self, theirs: bytes) -> Difference | None:
        """Find the first key that differs in ``theirs``, another party's :attr:`content`; or None.

        Raises
        ------
        ValueError
            If the bytes are not terms.
        """
        if len(theirs) > _MOST_TIMES * len(self.content) + _MOST_BYTES:
            raise ValueError("the terms are too long")
        try:
            other = dict(_leaves(msgspec.msgpack.decode(theirs)))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, TypeError):
            raise ValueError("not the terms of a federation") from None
        own = dict(_leaves(msgspec.msgpack.decode(self.content)))
        keys = sorted(own.keys() | other.keys(), key=lambda key: (key != "wire", key))
        for key in keys:  # another version has other keys, too, which nobody has changed
            ours, their = own.get(key, _ABSENT), other.get(key, _ABSENT)
            if ours != their or type(ours) is not type(their):
                is_of_file = isinstance(self.federation, dict)
                return Difference(_key_in_file(key) if is_of_file else key, ours, their)
        return None


def digest_of(content: bytes) -> str:
    """Return the digest of terms, from their content."""
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


_ABSENT = "nothing"
#: How keys of the terms begin that have another name in a federation's file.
_IN_FILE = {"settings.": "system.", "federation.": ""}


def _key_in_file(key: str) -> str:
    """Name a key of the terms as a federation's file has it."""
    for begins, there in _IN_FILE.items():
        if key.startswith(begins):
            return there + key.removeprefix(begins)
    return "system.preset" if key == "system" else key


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """List all values that are no tables, by their keys joined with dots."""
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for key, inside in value.items():
        yield from _leaves(inside, f"{path}.{key}" if path else str(key))


def cut(text: str) -> str:
    """Shorten a peer's own text for a line of a log."""
    return text if len(text) <= 80 else f"{text[:79]}…"
