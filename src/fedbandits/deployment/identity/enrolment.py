"""The way of a party into a federation: it makes keys, and puts the authority's admission to use.

People compare fingerprints of sealing keys, because the authority could have put others there.
Secrets are handed over sealed, under the sealing keys in the list of members, which the authority
signs. If it named keys of its own for all helpers of secure sums, it would be all of them, and
nobody could tell. So each member asks those who hand secrets to it whether their keys are theirs.
"""

from __future__ import annotations

import pathlib
import shutil
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedbandits.deployment.identity.admission import Admission, Request, make_request, read_request
from fedbandits.deployment.identity.certificates import (
    fingerprint,
    key_name,
    key_pem,
    load_signing_request,
    new_key,
)
from fedbandits.deployment.identity.identity import check_admission, load_identity, pinned_admission
from fedbandits.deployment.identity.members import (
    Members,
    decode,
    newest,
    read_members,
    spoken_fingerprint,
)
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
    make_folder,
    new_folder,
    only_one,
    read_file,
    write_private,
)
from fedbandits.errors import IdentityError
from fedbandits.federation.seats import CONTROLLER, HELPER
from fedbandits.federation.terms import Terms, cut
from fedbandits.settings.federation_file import FederationFile, load_file


def create_party(federation: Path, name: str, out: Path) -> pathlib.Path:
    """Make a party's folder ``out/name``, mode 0700, with keys and the federation's file.

    Returns its ``request.json``, which goes to the authority. Raises ConfigError if the
    federation's file is wrong, or has no such member. Raises OutputExistsError if the folder is
    there already, and IdentityError if it cannot be written.
    """
    from fedbandits.settings.federation import load_federation  # makes a plan, which takes a while

    source, place = pathlib.Path(federation), pathlib.Path(out) / name
    loaded = load_federation(source)
    loaded.seat_of(name)
    with new_folder(place) as folder:
        write_private(folder / FEDERATION, read_file(source))
        make_folder(folder / KEYS)
        request = _new_keys(folder, name, loaded.name, loaded.terms)
        write_private(folder / REQUEST, request.encode())
    return place / REQUEST


def rotate_party(party: Path) -> pathlib.Path:
    """Make new keys for a party, and return its new ``request.json``, which goes to the authority.

    It goes on with its keys until :func:`install_admission` puts the new ones to use, and removes
    the others.
    """
    from fedbandits.settings.federation import load_federation

    folder = pathlib.Path(party)
    with only_one(folder):
        name, loaded = read_request(folder / REQUEST).name, load_federation(folder / FEDERATION)
        request = _new_keys(folder, name, loaded.name, loaded.terms)
        write_private(folder / REQUEST, request.encode(), replace=True)
    return folder / REQUEST


def _new_keys(folder: pathlib.Path, name: str, federation: str, terms: Terms) -> Request:
    """Make a pair of keys, and the request to admit them."""
    sealing, tls = X25519PrivateKey.generate(), new_key()
    keys = folder / KEYS / key_name(tls.public_key())
    make_folder(keys)
    write_private(keys / SEALING, key_pem(sealing))
    write_private(keys / TLS, key_pem(tls))
    return make_request(name, federation, terms, sealing, tls)


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


class Fingerprints(NamedTuple):
    """Fingerprints of sealing keys that one member says, or asks for.

    Parameters
    ----------
    own
        Its own: it tells whoever asks.
    makers
        Those of the members that hand secrets to it, by name; None for one that was not admitted
        yet.
    """

    own: str
    makers: dict[str, str | None]

    def lines(self, folder: Path) -> list[str]:
        """Write what is to be compared; ``folder`` is the party's."""
        said = [f"The fingerprint of its sealing key is {self.own}: say it to whoever asks."]
        if not self.makers:
            return said
        said.append(
            "These members hand it secrets. Call each, not through the authority, and ask whether "
            "its own party says the same:"
        )
        width = max(map(len, self.makers))
        said += [f"  {n:{width}}  {f or 'not admitted yet'}" for n, f in self.makers.items()]
        if None in self.makers.values():
            said.append(f"Later: fedbandits party fingerprints {folder}")
        return said


def fingerprints_in(party: Path) -> Fingerprints:
    """Read the fingerprints that the member of a folder says, or asks for.

    Raises IdentityError if it was not admitted yet, or its folder is damaged.
    """
    identity = load_identity(party)
    known = identity.members.current
    present = known.present
    return Fingerprints(
        spoken_fingerprint(known.members[identity.name].sealing),
        {
            maker: spoken_fingerprint(present[maker].sealing) if maker in present else None
            for maker in _makers(load_file(pathlib.Path(party) / FEDERATION), identity.name)
        },
    )


def _makers(federation: FederationFile, member: str) -> tuple[str, ...]:
    """List the members that hand one its keys of secure sums, in order; helpers get none."""
    helpers = federation.members.get(HELPER, ())
    takes = not any(member in federation.members.get(role, ()) for role in (HELPER, CONTROLLER))
    return tuple(helpers) if takes else ()
