"""The list of members: their keys, and who was revoked. The authority signs it."""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Iterable
from typing import TypeVar

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from fedbandits._schema import prepared
from fedbandits.deployment.identity.private_files import only_one, read_file, write_private
from fedbandits.deployment.identity.sealing import Sealer
from fedbandits.errors import IdentityError

_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_PACKED = msgspec.msgpack.Encoder(order="sorted")


class OlderListError(IdentityError):
    """A list of members is older than the one that is known, and brings nobody back."""


class Member(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One member, as the authority knows it.

    ``sealing`` is its public sealing key, 32 bytes, and ``certificate`` the SHA-256 of its
    certificate, in hexadecimal digits. It was ``admitted``, for the last time, with that version of
    the list. With one that is ``revoked`` nobody shall exchange frames any more.
    """

    sealing: bytes
    certificate: str
    admitted: int
    revoked: bool = False

    def user(self, name: str) -> str:
        """Return the name in its certificate, by which the broker knows it.

        It is another one after each admission: a certificate that was replaced is worth nothing.
        """
        return f"{name}.v{self.admitted}"


class Members(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All members that were admitted, by their names.

    The ``version`` counts the lists, from 0: of two, the one with the higher version is right.
    ``terms`` is the digest of the federation's terms, ``signature`` the authority's, 64 bytes.
    """

    federation: str
    terms: str
    version: int
    members: dict[str, Member]
    signature: bytes = b""

    def signed(self, key: Ed25519PrivateKey) -> Members:
        """Sign the list with the authority's key."""
        return msgspec.structs.replace(self, signature=key.sign(signable(self)))

    def verify(self, authority: bytes) -> None:
        """Check that the authority with this public key, 32 bytes, has signed it.

        Raises IdentityError if it was not the authority.
        """
        verify_signature(self, self.signature, authority, f"the members of {self.federation!r}")

    @property
    def present(self) -> dict[str, Member]:
        """Members that were not revoked."""
        return {name: member for name, member in self.members.items() if not member.revoked}

    def encode(self) -> bytes:
        """Encode the list as it is written to files, and published."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"))


def signable(content: msgspec.Struct) -> bytes:
    """Encode what is signed: all but the signature, and what kind of thing it is."""
    bare = msgspec.structs.replace(content, signature=b"")
    return b"fedbandits " + type(content).__name__.encode() + b"\0" + _PACKED.encode(bare)


def verify_signature(
    content: msgspec.Struct, signature: bytes, authority: bytes, what: str
) -> None:
    """Check an authority's signature; raises IdentityError if it is not by that authority."""
    try:
        Ed25519PublicKey.from_public_bytes(authority).verify(signature, signable(content))
    except (InvalidSignature, ValueError):
        raise IdentityError(
            f"{what}: was not signed by the authority of this federation "
            f"({spoken_fingerprint(authority)}), or was altered since"
        ) from None


def spoken_fingerprint(public: bytes) -> str:
    """Write the first half of SHA-256 of public keys in eight groups, for people to compare."""
    digits = hashlib.sha256(public).hexdigest()[:32]
    return "-".join(digits[i : i + 4] for i in range(0, 32, 4))


def decode(kind: type[_Struct], data: bytes, place: object) -> _Struct:
    """Decode what was written as JSON; raises IdentityError if it is damaged, or something else."""
    try:
        return msgspec.json.decode(data, type=prepared(kind))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        what = {"Members": "list of members"}.get(kind.__name__, kind.__name__.lower())
        raise IdentityError(f"{place}: is damaged, or no {what}") from None


def newest(known: Members, other: Members, place: object) -> Members:
    """Return the one of two lists, both signed by the authority, that is right.

    Raises IdentityError if the other one is of another federation or other terms, or older, or as
    old and not the same.
    """
    if (other.federation, other.terms) != (known.federation, known.terms):
        raise IdentityError(
            f"{place}: belongs to the federation {other.federation!r} with terms {other.terms}, "
            f"expected {known.federation!r} with terms {known.terms}"
        )
    if other.version < known.version:
        older = f"{place}: is version {other.version} of the list of members, but {known.version} "
        if not _brings_back(other, known):
            raise OlderListError(f"{older}is known")
        raise IdentityError(
            f"{older}is known; somebody may be trying to bring a revoked member back"
        )
    if other.version == known.version and signable(other) != signable(known):
        raise IdentityError(
            f"{place}: two lists of members of version {other.version}; the authority's folder was "
            "used in two places, or put back from a backup"
        )
    return other if other.version > known.version else known


def _brings_back(other: Members, known: Members) -> bool:
    """Tell whether an older list has keys of a member that were revoked or replaced since."""
    return any(known.present.get(name) != member for name, member in other.present.items())


def with_new_keys(earlier: Members, later: Members, names: Iterable[str]) -> list[str]:
    """List those of some members whose sealing keys in a later list are not those of before."""
    both = [name for name in names if name in earlier.members and name in later.members]
    return [n for n in both if earlier.members[n].sealing != later.members[n].sealing]


class KnownMembers:
    """The newest list that one party has seen, kept in the file ``members.json``."""

    def __init__(self, path: pathlib.Path, authority: bytes, current: Members) -> None:
        self._path, self._authority = path, authority
        #: The newest list.
        self.current = current

    def offer(self, data: bytes) -> bool:
        """Take a list that came from anywhere, if it is newer and the authority has signed it.

        It is on disk before it counts. Returns whether it was newer. Raises IdentityError if it is
        damaged, older, or not by the authority; see :func:`newest`.
        """
        place = "a published list of members"
        other = decode(Members, data, place)
        other.verify(self._authority)
        before = self.current
        with only_one(self._path.parent):
            on_disk = read_members(self._path, self._authority)  # an admission may be newer
            if on_disk.version > self.current.version:
                self.current = newest(self.current, on_disk, self._path)
            following = newest(self.current, other, place)
            if following is not self.current:
                write_private(self._path, following.encode(), replace=True)
                self.current = following
        return self.current is not before

    def set_peers(self, sealer: Sealer, peers: tuple[str, ...]) -> None:
        """Let a sealer exchange frames with those peers that are in the list, and no others."""
        present = self.current.present
        for peer in peers:
            if peer in present:
                sealer.set_peer(peer, present[peer].sealing)
            else:
                sealer.remove_peer(peer, awaited=peer not in self.current.members)


def read_members(path: pathlib.Path, authority: bytes) -> Members:
    """Read a list from its file; raises IdentityError if it is missing, damaged or forged."""
    members = decode(Members, read_file(path), path)
    members.verify(authority)
    return members
