"""Which keys an authority has admitted, and which it admits no more.

A request shows that somebody has its keys, and no more: anybody can make one in a member's name.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from fedbandits.deployment.identity.certificates import (
    fingerprint,
    load_certificate,
    public_key_of,
)
from fedbandits.deployment.identity.members import decode
from fedbandits.deployment.identity.papers import Admission, Request
from fedbandits.deployment.identity.private_files import read_file, write_private
from fedbandits.errors import IdentityError

if TYPE_CHECKING:
    from fedbandits.deployment.identity.authority import Authority

#: Where the keys that were replaced are kept.
RETIRED = "retired.json"


def admission_of(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Where a member's newest admission lies, in an authority's folder."""
    return folder / f"admission-{name}.json"


class Retired(msgspec.Struct, frozen=True):
    """Public sealing keys that were replaced, in hexadecimal digits, and whose they were."""

    keys: dict[str, str]


def refuse_known_keys(office: Authority, asked: Request, place: pathlib.Path) -> None:
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


def refuse_new_keys(
    office: Authority, asked: Request, key: ec.EllipticCurvePublicKey, place: pathlib.Path
) -> None:
    """Refuse what may be somebody else's request in the name of a member that has keys."""
    if asked.name in office.members.members and not _has_these_keys(office, asked, key):
        raise IdentityError(
            f"{place}: has new keys of {asked.name}, which was admitted with others; if "
            f"{asked.name} itself says that {asked.fingerprint} is the fingerprint of its new "
            "keys, admit them with --replace"
        )


def _has_these_keys(office: Authority, asked: Request, key: ec.EllipticCurvePublicKey) -> bool:
    """Whether a member was admitted with both keys of a request.

    Its sealing key is in the list, which all members have. So that alone shows nothing: its key for
    TLS is compared too, with the certificate that was issued last.
    """
    member = office.members.members[asked.name]
    place = admission_of(office.folder, asked.name)
    if member.sealing != asked.sealing or not place.is_file():
        return False
    issued = decode(Admission, read_file(place), place).certificate.encode()
    certificate = load_certificate(issued, place)
    admitted = public_key_of(certificate, place)
    return fingerprint(certificate) == member.certificate and admitted == key


def retire(office: Authority, name: str, new: bytes) -> None:
    """Note that a member's key is replaced, before it is."""
    member = office.members.members.get(name)
    if member is not None and member.sealing != new:
        keys = _retired(office) | {member.sealing.hex(): name}
        data = msgspec.json.format(msgspec.json.encode(Retired(keys)))
        write_private(office.folder / RETIRED, data, replace=True)


def _retired(office: Authority) -> dict[str, str]:
    path = office.folder / RETIRED
    return decode(Retired, read_file(path), path).keys
