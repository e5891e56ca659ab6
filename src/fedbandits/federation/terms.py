"""The terms that all parties of a federation agree on. They hold no secret and no seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from fedbandits.federation.messages import VERSION

_DIGEST_BYTES = 16
#: Largest length of a peer's terms: this multiple of one's own length, plus so many bytes.
_MOST_TIMES, _MOST_BYTES = 2, 1 << 16
_ENCODER = msgspec.msgpack.Encoder(order="sorted")
#: The source of all parties' noise. Simulated noise is from a seed: it protects nobody.
NoiseOrigin = Literal["secure", "simulated"]


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The schedule of releases, and the largest number of records in each.

    Parameters
    ----------
    rounds
        The horizon T, in rounds.
    releases
        Largest number of a party's releases.
    ends
        The rounds at whose end releases leave: "every n", a list, or a description.
    most_records
        Largest number of a release's new records. A party with more records keeps the rest for the
        next release.
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
        key = self.key if self.key.isprintable() else repr(self.key)  # perhaps the peer's text
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
        The schedule of releases.
    parties
        The names of all parties, by role.
    noise
        ``simulated`` if noise and secrets come from a seed. Then nothing is protected, and nothing
        is claimed. Otherwise ``secure``.
    wire
        Version of the message formats.
    federation
        The further terms of members on different machines: the seats and the clock. Empty in
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
        """The terms as bytes, the same on every machine."""
        return _ENCODER.encode(self)

    @cached_property
    def digest(self) -> str:
        """BLAKE2b digest of :attr:`content`, 16 bytes as hexadecimal digits, in every message."""
        return digest_of(self.content)

    def difference(self, theirs: bytes) -> Difference | None:
        """Return the first key that differs in ``theirs``, a peer's :attr:`content`, or None.

        Raises
        ------
        ValueError
            If the bytes are not terms.
        """
        if len(theirs) > _MOST_TIMES * len(self.content) + _MOST_BYTES:
            raise ValueError("the terms are too long")
        try:
            their_values = dict(_leaves(msgspec.msgpack.decode(theirs)))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, TypeError):
            raise ValueError("not the terms of a federation") from None
        our_values = dict(_leaves(msgspec.msgpack.decode(self.content)))
        keys = our_values.keys() | their_values.keys()
        # The version first: other keys may differ because of it, and nobody has changed those.
        for key in sorted(keys, key=lambda key: (key != "wire", key)):
            our_value, their_value = our_values.get(key, _ABSENT), their_values.get(key, _ABSENT)
            if our_value != their_value or type(our_value) is not type(their_value):
                is_of_file = isinstance(self.federation, dict)
                return Difference(_key_in_file(key) if is_of_file else key, our_value, their_value)
        return None


def digest_of(content: bytes) -> str:
    """Return the digest of terms, from their content."""
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


_ABSENT = "nothing"
#: Prefixes of keys of the terms that have another name in a federation's file.
_IN_FILE = {"settings.": "system.", "federation.": ""}


def _key_in_file(key: str) -> str:
    """Return the name of a key in a federation's file."""
    for begins, there in _IN_FILE.items():
        if key.startswith(begins):
            return there + key.removeprefix(begins)
    return "system.preset" if key == "system" else key


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values that are no tables, with their keys joined by dots."""
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for key, inside in value.items():
        yield from _leaves(inside, f"{path}.{key}" if path else str(key))


def cut(text: str) -> str:
    """Shorten a peer's text for a line of a log."""
    return text if len(text) <= 80 else f"{text[:79]}…"
