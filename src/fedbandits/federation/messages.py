"""Typed, versioned messages, and the checks of every receiver."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Meta

from fedbandits._schema import prepared
from fedbandits.errors import RemoteProtocolError, WrongTypeError

if TYPE_CHECKING:
    from fedbandits._typing import Floats

#: Version of the message formats; a message of another version is refused. Version 7 came with
#: secure sums 2, see :mod:`.totals.agreement`; in version 8 two messages end a run of SAMBA, for
#: all roles.
VERSION = 8
#: Largest number of a message: larger numbers are nonsense, which no table could hold.
MOST_MESSAGES = (1 << 53) - 1


class UnknownMessageError(RemoteProtocolError):
    """Bytes that are no message of this system."""


class WrongVersionError(RemoteProtocolError):
    """A message of another version of the format."""


class WrongSenderError(RemoteProtocolError):
    """A message with a sender or a receiver that its type does not allow."""


class WrongShapeError(RemoteProtocolError):
    """Statistics of a wrong length."""


class NotFiniteError(RemoteProtocolError):
    """Statistics with entries that are not finite numbers."""


class OutOfOrderError(RemoteProtocolError):
    """A message that does not come next in the protocol, or not in this state."""


class TooEarlyError(RemoteProtocolError):
    """A message far ahead of missing messages; it must be sent again when they have come."""


class OtherTermsError(RemoteProtocolError):
    """A message from a party with other terms."""


class ImplausibleError(RemoteProtocolError):
    """Statistics that no honest party can send."""


class DuplicateError(RemoteProtocolError):
    """A message that was received before."""


class Message(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"
):
    """Base class of messages between two parties.

    Parameters
    ----------
    sender, receiver
        Names of the two parties.
    number
        Number of the message, from 0, among all from this sender to this receiver. The numbers make
        gaps and repetitions visible.
    version
        Version of the message format.
    terms
        Digest of the sender's terms.
    """

    sender: str
    receiver: str
    number: Annotated[int, Meta(ge=-1, le=MOST_MESSAGES)] = -1
    version: int = VERSION
    terms: str = ""

    @property
    def payload_size(self) -> int:
        """Number of bytes of statistics in the message."""
        return 0


class TheseTerms(Message, frozen=True, kw_only=True, tag="fedbandits.terms"):
    """A party's terms, sent once to a peer with other terms."""

    content: bytes


class Envelope(msgspec.Struct, frozen=True):
    """The beginning of every message, of any type."""

    sender: str
    receiver: str
    number: Annotated[int, Meta(ge=-1, le=MOST_MESSAGES)]
    version: int
    terms: str = ""


def check_types(message: object) -> None:
    """Refuse a value that a codec would never have decoded.

    Raises WrongTypeError if the value is no message, or a field is of another type than declared.
    """
    if not isinstance(message, Message):
        raise WrongTypeError(f"expected a message, given {type(message).__name__}")
    for name, kinds, inner in _declared(type(message)):
        value = getattr(message, name)
        fits = isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)
        if not fits or (inner is not None and not all(isinstance(item, inner) for item in value)):
            raise WrongTypeError(
                f"{type(message).__name__}.{name}: given {type(value).__name__}, or one of the "
                f"wrong content, expected {' or '.join(kind.__name__ for kind in kinds)}"
            )


_PLAIN = (str, bytes, int, bool)
_LOOKED_AT = (*_PLAIN, msgspec.Struct)


@functools.cache
def _declared(kind: type[Message]) -> tuple[tuple[str, tuple[type, ...], type | None], ...]:
    """List checkable fields: name, allowed types, type of a list's entries."""
    checkable: list[tuple[str, tuple[type, ...], type | None]] = []
    for field in msgspec.structs.fields(kind):
        declared = get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type
        outer, inside = get_origin(declared) or declared, get_args(declared)
        if outer in (list, tuple):
            plain = inside[0] if inside and inside[0] in _PLAIN else None
            checkable.append((field.name, (outer,), plain))
            continue
        kinds = inside if isinstance(declared, types.UnionType) else (outer,)
        if all(isinstance(k, type) and issubclass(k, _LOOKED_AT) for k in kinds):
            checkable.append((field.name, kinds, None))
    return tuple(checkable)


_NUMBERS = "<f8"


def pack(values: Floats) -> bytes:
    """Pack float64 numbers as little-endian bytes."""
    import numpy as np  # terms and requests are read without arrays

    return np.ascontiguousarray(values, _NUMBERS).tobytes()


def unpack(data: bytes, size: int) -> Floats:
    """Unpack ``size`` numbers from :func:`pack`.

    Raises
    ------
    WrongShapeError
        If there are not ``size`` numbers.
    NotFiniteError
        If a number is infinite or NaN.
    """
    import numpy as np

    if len(data) != 8 * size:
        raise WrongShapeError(f"expected {size} numbers, got {len(data)} bytes")
    values = np.frombuffer(data, _NUMBERS).astype(np.float64)
    if not np.isfinite(values).all():
        raise NotFiniteError("statistics must be finite numbers")
    return values


class Codec:
    """Encodes and decodes the messages of one system, given their tagged union."""

    def __init__(self, union: object) -> None:
        self._encoder = msgspec.msgpack.Encoder()
        every: Any = union | TheseTerms
        self._decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(prepared(every))
        self._version = msgspec.msgpack.Decoder(prepared(_Versioned))
        self._envelope = msgspec.msgpack.Decoder(prepared(Envelope))

    def encode(self, message: Message) -> bytes:
        """Encode a message."""
        return self._encoder.encode(message)

    def decode(self, data: bytes) -> Message:
        """Decode a message.

        The version is checked first: a message of another version may have other fields. Raises
        WrongVersionError or UnknownMessageError.
        """
        try:
            version = self._version.decode(data).version
            if version != VERSION:
                raise WrongVersionError(f"message of version {version}, this is version {VERSION}")
            return self._decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise UnknownMessageError("not a message of this system") from None

    def envelope(self, data: bytes) -> Envelope | None:
        """Read the envelope of bytes, which may be no message of this system; None without one."""
        try:
            return self._envelope.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None


class _Versioned(msgspec.Struct):
    version: int
