"""Statements of agents, confirmations of helpers, and the digest of all openings.

Statements and confirmations are tags under keys that one agent and one helper share. The keys name
the terms, the pair and the direction, so texts need not. They travel through the controller, which
can make none of them.

A statement also has the last total that the agent has taken; see :mod:`.agreement`.

An agent believes the confirmations of all helpers, never the controller. So a helper confirms to
every agent, at every sum, member or not, *the agent's newest message* in totals. One confirmation
then settles all of the agent's earlier messages, and the next total makes up for a lost total.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Ints
from fedbandits.crypto.chains import KEY_BYTES
from fedbandits.crypto.masks import PROTOCOL
from fedbandits.federation.messages import WrongShapeError

DIGEST_BYTES = 32
#: One member of a sum: its place among agents, its message's salt, number and salt of its base,
#: number and digest of the newest total that it has taken, the number of the last sum that it has
#: received, and the public key of its message.
MEMBER = np.dtype(
    [
        ("place", "<u4"), ("salt", "<u8"), ("base", "<u4"), ("base_salt", "<u8"),
        ("total", "<u4"), ("total_digest", f"V{DIGEST_BYTES}"),
        ("heard", "<u4"), ("public", f"V{KEY_BYTES}"),
    ],
    align=False,
)  # fmt: skip
_PLACE = np.dtype("<u4")
_MEMBER = struct.Struct(f"<IQIQI{DIGEST_BYTES}sI{KEY_BYTES}s")


def pack_members(
    places: NDArray[np.integer], salts: NDArray[np.uint64],
    bases: NDArray[np.integer], base_salts: NDArray[np.uint64],
    totals: NDArray[np.integer], total_digests: NDArray[np.uint8],
    heard: NDArray[np.integer], publics: NDArray[np.uint8],
) -> bytes:  # fmt: skip
    """Pack the members of a sum, all (members,), places in rising order.

    ``total_digests`` and ``publics`` are (members, 32) bytes.
    """
    members = np.zeros(len(places), MEMBER)
    members["place"], members["salt"] = places, salts
    members["base"], members["base_salt"] = bases, base_salts
    members["total"], members["heard"] = totals, heard
    for name, rows in (("total_digest", total_digests), ("public", publics)):
        members[name] = np.ascontiguousarray(rows).view(MEMBER[name])[:, 0]
    return members.tobytes()


def pack_member(
    place: int, salt: int, base: int, base_salt: int, total: int, total_digest: bytes,
    heard: int, public: bytes,
) -> bytes:  # fmt: skip
    """Pack one member of a sum."""
    return _MEMBER.pack(place, salt, base, base_salt, total, total_digest, heard, public)


def unpack_members(data: bytes) -> NDArray[np.void]:
    """Unpack bytes of :func:`pack_members`: (members,) of :data:`MEMBER`.

    Raises ValueError if the bytes are not whole members.
    """
    return np.frombuffer(data, MEMBER)


def pack_places(places: NDArray[np.integer]) -> bytes:
    """Pack places among agents, in rising order."""
    return places.astype(_PLACE).tobytes()


def unpack_places(data: bytes) -> Ints:
    """Unpack bytes of :func:`pack_places`.

    Raises
    ------
    WrongShapeError
        If the bytes are not whole places.
    """
    if len(data) % _PLACE.itemsize:
        raise WrongShapeError(f"places have {_PLACE.itemsize} bytes each, got {len(data)} bytes")
    return np.frombuffer(data, _PLACE).astype(np.int64)


def statement(release: int, member: bytes) -> bytes:
    """Return the text of an agent's statement of its message for a sum; ``member`` is packed."""
    return _numbered(release) + member


def confirmation(
    release: int, digest: bytes, common: bytes, disputed: int, public: bytes, newest: int, salt: int
) -> bytes:
    """Return the text of a helper's confirmation to an agent.

    Parameters
    ----------
    release, digest
        The number of the helper's last sum, and the digest of all sums up to it.
    common
        The digest of the helpers' common report, see :func:`.agreement.common_digest`.
    disputed
        The newest disputed total that this helper reports to all agents, 0 for none.
    public
        The public key that the helper has drawn for its last sum.
    newest, salt
        The agent's newest opened message, 0 and 0 for none.
    """
    report = _numbered(release) + digest + common + _numbered(disputed) + public
    return report + _numbered(newest) + salt.to_bytes(8, "little")


def first_digest(terms: str) -> bytes:
    """Return the digest before all sums; ``terms`` is the digest of the terms."""
    return _hash(f"{PROTOCOL} begin {terms}".encode())


def next_digest(before: bytes, release: int, members: bytes) -> bytes:
    """Return the digest after a sum with these members, packed, has been opened."""
    return _hash(before + _numbered(release) + members)


def request_digest(release: int, members: bytes, statements: bytes) -> bytes:
    """Return a digest by which a helper recognises a repeated request."""
    return _hash(_numbered(release) + _numbered(len(members)) + members + statements)


def _hash(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()


def _numbered(number: int) -> bytes:
    return number.to_bytes(4, "little")
