"""The admission of a party: the authority has sent it, and the party puts it to use."""

from __future__ import annotations

import pathlib
import shutil

from fedbandits.deployment.identity.admission import Admission, read_request
from fedbandits.deployment.identity.certificates import (
    fingerprint,
    key_name,
    load_signing_request,
)
from fedbandits.deployment.identity.identity import check_admission, pinned_admission
from fedbandits.deployment.identity.members import (
    Members,
    decode,
    newest,
    read_members,
    spoken_fingerprint,
)
from fedbandits.deployment.identity.names import (
    ADMISSION,
    CERTIFICATE,
    ISSUER,
    KEYS,
    MEMBERS,
    REQUEST,
    Path,
)
from fedbandits.deployment.identity.private_files import (
    only_one,
    read_file,
    write_private,
)
from fedbandits.errors import IdentityError
from fedbandits.federation.terms import cut


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
