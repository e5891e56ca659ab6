"""Requests and admissions: what a party and the authority send each other.

Neither holds anything secret. A request is signed with the party's key for TLS, which so vouches
for its sealing key. That the party also *has* the private sealing key need not be shown: a member
that names another's key gains nothing, since the names of both members are bound into every
sealed frame, and the authority admits no key twice.
"""

from __future__ import annotations

import pathlib

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from fedbandits.deployment.identity.certificates import load_signing_request, signing_request
from fedbandits.deployment.identity.members import (
    Members,
    decode,
    signable,
    spoken_fingerprint,
    verify_signature,
)
from fedbandits.deployment.identity.private_files import read_file
from fedbandits.errors import IdentityError
from fedbandits.federation.terms import Terms, cut, digest_of

_SIGNATURE = ec.ECDSA(hashes.SHA256())


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A party's request to be admitted.

    ``terms`` and ``content`` are the digest of the terms that the party has, and the terms.
    ``sealing`` is its public sealing key, 32 bytes. ``signing_request`` asks for a certificate.
    Both that and all of this are signed with its key for TLS.
    """

    name: str
    federation: str
    terms: str
    content: bytes
    sealing: bytes
    signing_request: str
    signature: bytes = b""

    def encode(self) -> bytes:
        """Encode the request as it is written to its file."""
        return msgspec.json.format(msgspec.json.encode(self))

    @property
    def digest(self) -> str:
        """Digest of the terms in it, as they were when it was made."""
        return digest_of(self.content)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of both public keys, for people to compare with what the member says."""
        return spoken_fingerprint(self.sealing + self.signing_request.encode())

    def check(self, federation: str, terms: Terms, place: object) -> ec.EllipticCurvePublicKey:
        """Return the party's key for TLS, if all is as it should be.

        Raises IdentityError if it is of another federation or other terms, or not signed with the
        keys in it.
        """
        if self.federation != federation:
            raise IdentityError(
                f"{place}: asks to be admitted to {cut(repr(self.federation))}, not {federation!r}"
            )
        try:
            difference = terms.difference(self.content)
        except ValueError as broken:
            raise IdentityError(f"{place}: sends {broken}") from None
        if difference is not None or self.terms != terms.digest:
            found = difference or "their digest is not the one of their content"
            raise IdentityError(
                f"{place}: {cut(repr(self.name))} has other terms: {found}; all members need the "
                "same federation.toml and the same version of this package"
            )
        key = load_signing_request(self.signing_request.encode(), place)
        try:
            key.verify(self.signature, signable(self), _SIGNATURE)
        except InvalidSignature:
            raise IdentityError(
                f"{place}: is not signed with its key for TLS, or altered"
            ) from None
        try:
            X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(self.sealing))
        except ValueError:
            raise IdentityError(f"{place}: its sealing key is not a public X25519 key") from None
        return key


def read_request(place: pathlib.Path) -> Request:
    """Read the request in a file; raises IdentityError if it is damaged."""
    return decode(Request, read_file(place), place)


def make_request(
    name: str,
    federation: str,
    terms: Terms,
    sealing: X25519PrivateKey,
    tls: ec.EllipticCurvePrivateKey,
) -> Request:
    """Make the request of a party with these keys."""
    request = Request(
        name=name,
        federation=federation,
        terms=terms.digest,
        content=terms.content,
        sealing=sealing.public_key().public_bytes_raw(),
        signing_request=signing_request(name, tls).decode(),
    )
    return msgspec.structs.replace(request, signature=tls.sign(signable(request), _SIGNATURE))


class Admission(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The authority's answer to a request.

    ``certificate`` is the member's, and ``issuer`` has those of the authority that has issued it
    and the broker's, all as text. The ``members`` are the list that it is in. ``authority`` is the
    authority's public key, 32 bytes.
    """

    name: str
    certificate: str
    issuer: str
    members: Members
    authority: bytes
    signature: bytes = b""

    def encode(self) -> bytes:
        """Encode the admission as it is written to its file."""
        return msgspec.json.format(msgspec.json.encode(self))

    def signed(self, key: Ed25519PrivateKey) -> Admission:
        """Sign the admission with the authority's key."""
        return msgspec.structs.replace(self, signature=key.sign(signable(self)))

    def verify(self, authority: bytes, place: object) -> None:
        """Check that it is by an authority, with all that is in it; raises IdentityError if not."""
        verify_signature(self, self.signature, authority, str(place))
        self.members.verify(authority)
