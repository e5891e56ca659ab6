"""The authority of a federation: who admits members, and revokes them.

It holds two keys: one signs the list of members, the other one certificates for TLS. It never
holds a member's private key. Its folder belongs where no party runs, and into a backup: who has
it can admit anybody, and reads nothing even so.
"""

from __future__ import annotations

import pathlib
import ssl
from typing import NamedTuple

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fedbandits.deployment.identity import certificates
from fedbandits.deployment.identity.admission import Admission, Request, read_request
from fedbandits.deployment.identity.certificates import (
    fingerprint,
    key_pem,
    load_certificate,
    load_key,
    new_key,
    pem,
    public_key_of,
)
from fedbandits.deployment.identity.identity import tls_context
from fedbandits.deployment.identity.members import Member, Members, decode, read_members
from fedbandits.deployment.identity.private_files import (
    Path,
    new_folder,
    only_one,
    read_file,
    read_private,
    write_private,
)
from fedbandits.errors import IdentityError
from fedbandits.federation.terms import cut
from fedbandits.settings.federation import Federation, load_federation

#: How long a member's certificate is valid, days.
MEMBER_DAYS = 730.0
#: The name in the authority's own certificate for the broker. No member's user is called so.
PUBLISHER = "authority"

_FEDERATION, _MEMBERS = "federation.toml", "members.json"
_SIGNING, _ISSUING, _ISSUER = "authority.key", "issuer.key", "issuer.pem"
_PUBLISHING, _PUBLISHERS = "publisher.key", "publisher.pem"
#: Where the keys that were replaced are kept.
_RETIRED = "retired.json"


class Authority(NamedTuple):
    """An authority, read from its folder.

    ``signing`` is its key for the list of members; ``issuer`` and ``issuing`` are its certificate
    and key for TLS.
    """

    folder: pathlib.Path
    federation: Federation
    signing: Ed25519PrivateKey
    issuer: x509.Certificate
    issuing: ec.EllipticCurvePrivateKey
    members: Members

    @property
    def public(self) -> bytes:
        """The public key that signs the list of members, 32 bytes."""
        return self.signing.public_key().public_bytes_raw()

    def issue(
        self,
        public: ec.EllipticCurvePublicKey,
        names: tuple[str, ...],
        usage: x509.ObjectIdentifier,
        days: float,
    ) -> x509.Certificate:
        """Issue a certificate; see :func:`.identity.certificates.issue`."""
        return certificates.issue(self.issuer, self.issuing, public, names, usage, days)

    def write_members(self, members: dict[str, Member]) -> Members:
        """Sign the next version of the list, and write it."""
        following = msgspec.structs.replace(
            self.members, members=members, version=self.members.version + 1
        ).signed(self.signing)
        write_private(self.folder / _MEMBERS, following.encode(), replace=True)
        return following


class Admitted(NamedTuple):
    """The files that an admission has left, and whose keys were admitted."""

    admission: pathlib.Path
    members: pathlib.Path
    name: str
    fingerprint: str  # of the keys that were admitted


def init_authority(federation: Path, out: Path) -> pathlib.Path:
    """Make an authority's folder ``out``, mode 0700, with its keys and the federation's file.

    Raises ConfigError if the file is wrong, OutputExistsError if the folder is there already, and
    IdentityError if it cannot be written.
    """
    source, place = pathlib.Path(federation), pathlib.Path(out)
    loaded = load_federation(source)
    signing, issuing, publishing = Ed25519PrivateKey.generate(), new_key(), new_key()
    issuer = certificates.new_authority(loaded.name, issuing)
    empty = Members(federation=loaded.name, terms=loaded.terms.digest, version=0, members={})
    publisher = certificates.issue(
        issuer, issuing, publishing.public_key(), [PUBLISHER], certificates.CLIENT, 36_500
    )
    with new_folder(place) as folder:
        for name, data in {
            _FEDERATION: read_file(source),
            _SIGNING: key_pem(signing),
            _ISSUING: key_pem(issuing),
            _ISSUER: pem(issuer),
            _PUBLISHING: key_pem(publishing),
            _PUBLISHERS: pem(publisher),
            _MEMBERS: empty.signed(signing).encode(),
            _RETIRED: msgspec.json.encode(_Retired({})),
        }.items():
            write_private(folder / name, data)
    return place


def load_authority(folder: Path) -> Authority:
    """Read an authority from its folder.

    Raises IdentityError if something is missing, damaged, or can be read by others.
    """
    place = pathlib.Path(folder)
    signing = load_key(read_private(place / _SIGNING), place / _SIGNING)
    issuing = load_key(read_private(place / _ISSUING), place / _ISSUING)
    if not isinstance(signing, Ed25519PrivateKey):
        raise IdentityError(f"{place / _SIGNING}: is no Ed25519 key")
    if not isinstance(issuing, ec.EllipticCurvePrivateKey):
        raise IdentityError(f"{place / _ISSUING}: is no key for TLS")
    issuer = load_certificate(read_file(place / _ISSUER), place / _ISSUER)
    members = read_members(place / _MEMBERS, signing.public_key().public_bytes_raw())
    federation = load_federation(place / _FEDERATION)
    if (members.federation, members.terms) != (federation.name, federation.terms.digest):
        raise IdentityError(
            f"{place / _MEMBERS}: belongs to the federation {members.federation!r} with terms "
            f"{members.terms}; for other terms make a new federation (federation init)"
        )
    return Authority(place, federation, signing, issuer, issuing, members)


def admit(
    authority: Path, request: Path, days: float = MEMBER_DAYS, replace: bool = False
) -> Admitted:
    """Admit a party, for the first time or with new keys; then its earlier ones are worth nothing.

    A request shows no more than that somebody has its keys. So with ``replace``, where the keys may
    take the place of others that were admitted, compare its fingerprint with what the member says.
    The certificate is valid for so many ``days``. ``admission-NAME.json`` goes back to the party;
    ``members.json`` is to be published.

    Raises IdentityError, and nothing has changed then, if it is no member by the terms, has other
    terms, or its keys are damaged, another's, or were revoked or replaced; or if they are new ones,
    without ``replace``.
    """
    with only_one(pathlib.Path(authority)):
        office, place = load_authority(authority), pathlib.Path(request)
        asked = read_request(place)
        key = asked.check(office.federation.name, office.federation.terms, place)
        if asked.name not in office.federation.everybody:
            raise IdentityError(
                f"{place}: {cut(repr(asked.name))} is no member of {office.federation.name!r}; "
                f"members: {', '.join(office.federation.everybody)}"
            )
        _refuse_known_keys(office, asked, place)
        if not replace:
            _refuse_new_keys(office, asked, key, place)
        version = office.members.version + 1
        member = Member(sealing=asked.sealing, certificate="", admitted=version)
        certificate = office.issue(key, (member.user(asked.name),), certificates.CLIENT, days)
        member = msgspec.structs.replace(member, certificate=fingerprint(certificate))
        _retire(office, asked.name, asked.sealing)
        members = office.write_members({**office.members.members, asked.name: member})
        return _admission(office, asked, certificate, members)


def _admission(
    office: Authority, asked: Request, certificate: x509.Certificate, members: Members
) -> Admitted:
    """Write what goes back to a party."""
    admission = Admission(
        name=asked.name,
        certificate=pem(certificate).decode(),
        issuer=pem(office.issuer).decode(),
        members=members,
        authority=office.public,
    ).signed(office.signing)
    path = _admission_of(office.folder, asked.name)
    write_private(path, admission.encode(), replace=True)
    return Admitted(path, office.folder / _MEMBERS, asked.name, asked.fingerprint)


def revoke(authority: Path, name: str) -> pathlib.Path:
    """Revoke a member, with whom nobody exchanges frames then; return the path of the new list.

    It takes effect at each party when that sees the new list, and at the broker when its
    configuration is written anew and loaded. Raises IdentityError if nobody of that name is
    admitted.
    """
    with only_one(pathlib.Path(authority)):
        office = load_authority(authority)
        if name not in office.members.present:
            present = ", ".join(office.members.present) or "nobody"
            raise IdentityError(f"{cut(repr(name))} is not admitted; admitted: {present}")
        member = msgspec.structs.replace(office.members.members[name], revoked=True)
        office.write_members({**office.members.members, name: member})
        return office.folder / _MEMBERS


def authority_context(authority: Path) -> ssl.SSLContext:
    """Make the TLS context of the authority, which publishes lists of members."""
    folder = pathlib.Path(authority)
    return tls_context(folder / _ISSUER, folder / _PUBLISHERS, folder / _PUBLISHING)


def _admission_of(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Return where a member's newest admission lies, in an authority's folder."""
    return folder / f"admission-{name}.json"


class _Retired(msgspec.Struct, frozen=True):
    """Public sealing keys that were replaced, in hexadecimal digits, and whose they were."""

    keys: dict[str, str]


def _refuse_known_keys(office: Authority, asked: Request, place: pathlib.Path) -> None:
    """Refuse keys that are another's, or that were revoked or replaced: somebody may have them."""
    owners = _retired(office)
    for name, member in office.members.members.items():
        if name != asked.name or member.revoked:
            owners[member.sealing.hex()] = name
    owner = owners.get(asked.sealing.hex())
    if owner == asked.name:
        raise IdentityError(
            f"{place}: these keys of {asked.name} were revoked or replaced; it makes new ones with "
            "fedbandits party rotate"
        )
    if owner is not None:
        raise IdentityError(f"{place}: uses a key of {owner}; each member must make its own keys")


def _refuse_new_keys(
    office: Authority, asked: Request, key: ec.EllipticCurvePublicKey, place: pathlib.Path
) -> None:
    """Refuse new keys for a member that has some: they may be somebody else's.

    A request shows that somebody has its keys, and no more: anybody can make one in a member's
    name.
    """
    if asked.name in office.members.members and not _has_these_keys(office, asked, key):
        raise IdentityError(
            f"{place}: has new keys of {asked.name}, which was admitted with others; if "
            f"{asked.name} itself says that {asked.fingerprint} is the fingerprint of its new "
            "keys, admit them with --replace"
        )


def _has_these_keys(office: Authority, asked: Request, key: ec.EllipticCurvePublicKey) -> bool:
    """Tell whether a member was admitted with both keys of a request.

    Its sealing key is in the list, which all members have. So that alone shows nothing: its key for
    TLS is compared too, with the certificate that was issued last.
    """
    member = office.members.members[asked.name]
    place = _admission_of(office.folder, asked.name)
    if member.sealing != asked.sealing or not place.is_file():
        return False
    issued = decode(Admission, read_file(place), place).certificate.encode()
    certificate = load_certificate(issued, place)
    admitted = public_key_of(certificate, place)
    return fingerprint(certificate) == member.certificate and admitted == key


def _retire(office: Authority, name: str, new: bytes) -> None:
    """Note that a member's key is replaced, before it is."""
    member = office.members.members.get(name)
    if member is not None and member.sealing != new:
        keys = _retired(office) | {member.sealing.hex(): name}
        data = msgspec.json.format(msgspec.json.encode(_Retired(keys)))
        write_private(office.folder / _RETIRED, data, replace=True)


def _retired(office: Authority) -> dict[str, str]:
    path = office.folder / _RETIRED
    return decode(_Retired, read_file(path), path).keys
