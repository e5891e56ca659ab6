"""A party's identity: its keys, and the authority's admission of them.

A party's folder (see :mod:`.identity.enrolment`) holds, beside ``federation.toml``::

    request.json     what goes to the authority
    admission.json   what came back; it decides which keys count, and whose authority is trusted
    members.json     the newest list of members
    keys/ID/         sealing.key, tls.key, tls.pem, issuer.pem; one folder for each pair of keys
"""

from __future__ import annotations

import datetime
import pathlib
import ssl

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedbandits.deployment.identity.admission import Admission, read_request
from fedbandits.deployment.identity.certificates import (
    fingerprint,
    key_name,
    load_certificate,
    load_key,
    now,
    public_key_of,
)
from fedbandits.deployment.identity.members import KnownMembers, decode, newest, read_members
from fedbandits.deployment.identity.private_files import (
    ADMISSION,
    CERTIFICATE,
    FEDERATION,
    ISSUER,
    KEYS,
    MEMBERS,
    REQUEST,
    SEALING,
    TLS,
    Path,
    read_file,
    read_private,
    refuse_readable,
)
from fedbandits.deployment.identity.sealing import Sealer, sealing_context
from fedbandits.errors import IdentityError
from fedbandits.federation.terms import cut
from fedbandits.settings.federation_file import load_file


class Identity:
    """The identity of a party, as :func:`load_identity` has found it in its folder.

    ``terms`` is the digest of the federation's terms. ``sealing`` is the party's private sealing
    key, and ``keys`` the folder of the keys that were admitted.
    """

    def __init__(
        self,
        name: str,
        federation: str,
        terms: str,
        sealing: X25519PrivateKey,
        certificate: x509.Certificate,
        keys: pathlib.Path,
        members: KnownMembers,
    ) -> None:
        self.name, self.federation, self.terms = name, federation, terms
        self.certificate, self.members = certificate, members
        self._sealing, self._keys = sealing, keys

    @property
    def expires(self) -> datetime.datetime:
        """Time at which its certificate ends."""
        return self.certificate.not_valid_after_utc

    def days_left(self) -> int:
        """Count the whole days that its certificate is still valid."""
        return (self.expires - now()).days

    def check(self, at: datetime.datetime | None = None) -> None:
        """Check that the others take this party for what it is, now or ``at`` a time.

        Raises IdentityError if its certificate has expired or is not yet valid, or if it was
        revoked or replaced.
        """
        time, cure = at or now(), "fedbandits party rotate makes new keys, to be admitted"
        if time > self.expires:
            raise IdentityError(
                f"the certificate of {self.name} has expired on {self.expires:%Y-%m-%d}; {cure}"
            )
        if time < self.certificate.not_valid_before_utc:
            raise IdentityError(
                f"the certificate of {self.name} is not valid yet; set this machine's clock"
            )
        member = self.members.current.members.get(self.name)
        if member is not None and member.revoked:
            raise IdentityError(f"{self.name} was revoked by the authority; {cure}")
        if member is None or member.certificate != fingerprint(self.certificate):
            raise IdentityError(
                f"the keys of {self.name} were replaced by version "
                f"{self.members.current.version} of the list of members; install the newest "
                "admission"
            )

    def sealer(self, peers: tuple[str, ...], terms: str | None = None) -> Sealer:
        """Make what seals frames for peers, under their keys in the list of members.

        The frames are bound to the party's terms, or to other ones.
        """
        context = sealing_context(self.federation, self.terms if terms is None else terms)
        sealer = Sealer(self.name, self._sealing, context)
        self.members.set_peers(sealer, peers)
        return sealer

    def sealers(self, peers: tuple[str, ...]) -> tuple[Sealer, Sealer]:
        """Make what seals greetings, which those with other terms can open, and all else."""
        return self.sealer(peers, ""), self.sealer(peers)

    def tls_context(self) -> ssl.SSLContext:
        """Make the TLS context towards a broker, whose certificate must be of the same authority.

        Raises IdentityError if a key is damaged, or can be read by others.
        """
        return tls_context(self._keys / ISSUER, self._keys / CERTIFICATE, self._keys / TLS)


def tls_context(
    issuer: pathlib.Path, certificate: pathlib.Path, key: pathlib.Path
) -> ssl.SSLContext:
    """Make the context of TLS 1.3 for a client that shows its certificate and trusts one authority.

    Raises IdentityError if one of the files is missing or damaged, or the key can be read by
    others.
    """
    refuse_readable(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(cafile=issuer)
        context.load_cert_chain(certificate, key)
    except OSError as error:  # damaged ones raise an SSLError, which is one
        raise IdentityError(
            f"{key.parent}: certificate or key for TLS is missing or damaged ({error.strerror}); "
            "restore the folder from a backup, or make new keys"
        ) from None
    return context


def pinned_admission(folder: pathlib.Path) -> Admission | None:
    """Read the admission that is in use in a party's folder; None if there is none."""
    path = folder / ADMISSION
    return decode(Admission, read_file(path), path) if path.exists() else None


def check_admission(
    folder: pathlib.Path, found: Admission, place: pathlib.Path
) -> tuple[pathlib.Path, x509.Certificate]:
    """Return the folder of the keys that were admitted, and their certificate.

    The party's terms are those of its request. That its file says the same is told by
    :func:`.process.folder.load_party`, which reads it.

    Raises IdentityError if the admission is not for this party as it is.
    """
    found.verify(found.authority, place)
    federation = load_file(folder / FEDERATION)
    asked = read_request(folder / REQUEST)
    name = asked.name
    if found.name != name:
        raise IdentityError(
            f"{place}: is an admission of {cut(repr(found.name))}, but this party is {name}"
        )
    ours = (federation.name, asked.digest)
    if (found.members.federation, found.members.terms) != ours:
        raise IdentityError(
            f"{place}: belongs to the federation {found.members.federation!r} with terms "
            f"{found.members.terms}, this party to {ours[0]!r} with terms {ours[1]}"
        )
    certificate = load_certificate(found.certificate.encode(), place)
    keys = folder / KEYS / key_name(public_key_of(certificate, place))
    if not keys.is_dir():
        raise IdentityError(f"{place}: is not for the keys of {name}; admit its newest request")
    return keys, certificate


def load_identity(party: Path) -> Identity:
    """Read a party's identity from its folder.

    Whether its certificate has expired, or it was revoked, is told by :meth:`Identity.check`.
    Raises IdentityError if it was not admitted yet, or something is missing, damaged, of another
    federation, not signed by its authority, or can be read by others.
    """
    folder = pathlib.Path(party)
    found, place = pinned_admission(folder), folder / ADMISSION
    if found is None:
        raise IdentityError(
            f"{folder}: was not admitted yet: give {REQUEST} to the authority, and install the "
            "admission that comes back"
        )
    keys, certificate = check_admission(folder, found, place)
    sealing = load_key(read_private(keys / SEALING), keys / SEALING)
    if not isinstance(sealing, X25519PrivateKey):
        raise IdentityError(f"{keys / SEALING}: is no X25519 key")
    refuse_readable(keys / TLS)
    listed = read_members(folder / MEMBERS, found.authority)
    members = found.members
    current = newest(members, listed, folder / MEMBERS)
    own = members.members.get(found.name)
    if own is None or own.sealing != sealing.public_key().public_bytes_raw():
        raise IdentityError(f"{keys / SEALING}: is not the key that was admitted")
    known = KnownMembers(folder / MEMBERS, found.authority, current)
    return Identity(
        found.name, members.federation, members.terms, sealing, certificate, keys, known
    )
