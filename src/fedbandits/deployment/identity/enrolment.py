"""The identity of a party: it makes keys, and the authority admits them."""

from __future__ import annotations

import pathlib
import shutil

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedbandits.deployment.identity.admission import Admission, Request, make_request, read_request
from fedbandits.deployment.identity.certificates import (
    fingerprint,
    key_name,
    key_pem,
    load_signing_request,
    new_key,
)
from fedbandits.deployment.identity.identity import (
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
    check_admission,
    pinned_admission,
)
from fedbandits.deployment.identity.members import (
    Members,
    decode,
    newest,
    read_members,
    spoken_fingerprint,
)
from fedbandits.deployment.identity.private_files import (
    make_folder,
    new_folder,
    only_one,
    read_file,
    write_private,
)
from fedbandits.errors import IdentityError
from fedbandits.federation.terms import cut
from fedbandits.settings.federation import Federation, load_federation


def create_party(federation: Path, name: str, out: Path) -> pathlib.Path:
    """Make a party's folder ``out/name``, mode 0700, with keys and the federation's file.

    Returns its ``request.json``, which goes to the authority. Raises ConfigError if the
    federation's file is wrong, or has no such member. Raises OutputExistsError if the folder is
    there already, and IdentityError if it cannot be written.
    """
    source, place = pathlib.Path(federation), pathlib.Path(out) / name
    loaded = load_federation(source)
    loaded.seat_of(name)
    with new_folder(place) as folder:
        write_private(folder / FEDERATION, read_file(source))
        make_folder(folder / KEYS)
        write_private(folder / REQUEST, _new_keys(folder, name, loaded).encode())
    return place / REQUEST


def rotate_party(party: Path) -> pathlib.Path:
    """Make new keys for a party, and return its new ``request.json``, which goes to the authority.

    It goes on with its keys until :func:`install_admission` puts the new ones to use, and removes
    the others.
    """
    folder = pathlib.Path(party)
    with only_one(folder):
        name = read_request(folder / REQUEST).name
        request = _new_keys(folder, name, load_federation(folder / FEDERATION))
        write_private(folder / REQUEST, request.encode(), replace=True)
    return folder / REQUEST


def _new_keys(folder: pathlib.Path, name: str, federation: Federation) -> Request:
    """Make a pair of keys, and the request to admit them."""
    sealing, tls = X25519PrivateKey.generate(), new_key()
    keys = folder / KEYS / key_name(tls.public_key())
    make_folder(keys)
    write_private(keys / SEALING, key_pem(sealing))
    write_private(keys / TLS, key_pem(tls))
    return make_request(name, federation.name, federation.terms, sealing, tls)


def install_admission(party: Path, admission: Path, authority: str = "") -> Members:
    """Put an admission to use. The first one decides which authority the party trusts.

    ``authority`` is the authority's fingerprint, as it was told by other means; see
    :func:`~fedbandits.deployment.identity.members.spoken_fingerprint`. Returns the list of members
    that the party knows now.

    Raises IdentityError, and nothing has changed then, if it is another party's, of another
    authority, federation or terms, for other keys, or outdated.
    """
    folder, place = pathlib.Path(party), pathlib.Path(admission)
    with only_one(folder):
        found = decode(Admission, read_file(place), place)
        told = spoken_fingerprint(found.authority)
        if authority and authority.strip().lower() != told:
            raise IdentityError(f"{place}: of authority {told}, not {cut(repr(authority))}")
        pinned = pinned_admission(folder)
        if pinned is not None and pinned.authority != found.authority:
            raise IdentityError(
                f"{place}: of authority {told}, but this party trusts "
                f"{spoken_fingerprint(pinned.authority)}"
            )
        keys, certificate = check_admission(folder, found, place)
        known = _newest_known(folder, found, place)
        member = known.members.get(found.name)
        if member is None or member.certificate != fingerprint(certificate):
            raise IdentityError(
                f"{place}: is outdated: version {known.version} of the list of members has "
                f"other keys of {found.name}; ask the authority for the newest admission"
            )
        write_private(keys / ISSUER, found.issuer.encode(), replace=True)
        write_private(keys / CERTIFICATE, found.certificate.encode(), replace=True)
        write_private(folder / MEMBERS, known.encode(), replace=True)
        write_private(folder / ADMISSION, found.encode(), replace=True)
        _remove_others(folder, keys.name)
    return known


def _remove_others(folder: pathlib.Path, used: str) -> None:
    """Remove all keys but those in use, and those that a later request asks to admit."""
    place = folder / REQUEST
    request = read_request(place)
    asked = key_name(load_signing_request(request.signing_request.encode(), place))
    for other in (folder / KEYS).iterdir():
        if other.name not in (used, asked):
            shutil.rmtree(other)


def _newest_known(folder: pathlib.Path, found: Admission, place: pathlib.Path) -> Members:
    """Return the newer one of an admission's list and the one that is known, if there is one."""
    if not (folder / MEMBERS).exists():
        return found.members
    known = read_members(folder / MEMBERS, found.authority)
    if found.members.version < known.version:
        return newest(found.members, known, folder / MEMBERS)
    return newest(known, found.members, place)
