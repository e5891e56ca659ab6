"""Contents of sealed frames: greetings, messages, acknowledgements, secrets."""

from __future__ import annotations

import hashlib
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from fedbandits.errors import SealError
from fedbandits.federation.messages import MOST_MESSAGES

#: Bytes of what names one life of a party, from a start to an end.
LIFE_BYTES = 16
#: Counts messages of one peer. Anything else is nonsense that no table could hold.
Count = Annotated[int, Meta(ge=0, le=MOST_MESSAGES)]
#: Bytes of a mark.
MARK_BYTES = 16
#: The mark of all messages up to one, or nothing.
Mark = Annotated[bytes, Meta(max_length=MARK_BYTES)]
#: What names a life, or nothing.
Life = Annotated[bytes, Meta(max_length=LIFE_BYTES)]
#: So many secrets are asked for at once: each is answered by a frame.
_MOST_WANTED = 16


def extended(mark: bytes, body: bytes) -> bytes:
    """Return the mark of messages that had ``mark``, and one more after them.

    Two parties that have sent the same number of messages have the same mark only if all of these
    were the same.
    """
    return hashlib.blake2b(mark + body, digest_size=MARK_BYTES).digest()


class Seals(Protocol):
    """Seals frames for peers and opens theirs, see :class:`.sealing.Sealer`."""

    def seal(self, receiver: str, plaintext: bytes) -> bytes:
        """Seal a frame that nobody but the receiver can open."""

    def open(self, sender: str, frame: bytes) -> bytes:
        """Open a frame; raises SealError if it is not from whom it says, or was altered."""


class Frame(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A content of a sealed frame between two hosts."""


class Hello(Frame, frozen=True, array_like=True, tag=0):
    """A greeting: who is there, and where the exchange of messages stands.

    Sent until the peer answers. An answer repeats the life that it answers to: so a greeting that
    was recorded and is sent again is told from a fresh one.

    Parameters
    ----------
    life
        Random bytes that name this life of the sender.
    echo
        The receiver's life as the sender knows it; empty if it does not.
    known
        Whether the receiver has repeated the sender's life, so that nothing more need be said.
    terms, content
        Digest of the sender's terms; and the terms, where they differ.
    received, sent
        The number of the receiver's message that the sender expects next, and of its own next one.
    wants
        Names of secrets that the sender has not been given yet.
    time
        The sender's clock, in seconds since 1970.
    seen, mark
        How many of the receiver's messages the sender has seen, and the mark that the last of them
        had. So a receiver that was put back from a backup finds out, whatever it has sent since.
    heard
        The newest secure sum that the receiver has confirmed to the sender, by way of others; 0 if
        there is none.
    """

    life: Life
    echo: Life
    known: bool
    terms: str
    received: Count
    sent: Count
    wants: Annotated[list[str], Meta(max_length=_MOST_WANTED)]
    time: float
    content: bytes = b""
    seen: Count = 0
    mark: Mark = b""
    heard: Count = 0


class Data(Frame, frozen=True, array_like=True, tag=1):
    """A message, and the number of the receiver's message that the sender expects next.

    The ``mark`` stands for all messages up to this one. The receiver says it in its greetings.
    """

    received: Count
    number: Count
    body: bytes
    mark: Mark = b""


class Acknowledgement(Frame, frozen=True, array_like=True, tag=2):
    """The number of the receiver's message that the sender expects next."""

    received: Count


class Gift(Frame, frozen=True, array_like=True, tag=3):
    """A secret that the sender makes and hands to others."""

    name: str
    value: bytes


AnyFrame = Hello | Data | Acknowledgement | Gift
_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[AnyFrame] = msgspec.msgpack.Decoder(AnyFrame)


def encode(frame: AnyFrame) -> bytes:
    """Encode a frame."""
    return _ENCODER.encode(frame)


def decode(data: bytes) -> AnyFrame:
    """Decode a frame; raises SealError if the bytes are none."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise SealError(
            "the frame is of a kind that this version of fedbandits does not know"
        ) from None
