"""A federation's folders on one machine: the authority's, the broker's, and parties'.

::

    DIR/authority/   who admits members; in production on a machine of its own
    DIR/broker/      nats-server -c nats.conf, run there, is the broker
    DIR/NAME/        a party's folder, for each that lives here
"""

from __future__ import annotations

import ipaddress
import pathlib
import time
from collections.abc import Sequence
from typing import NamedTuple

from fedbandits._schema import shown
from fedbandits.deployment.delivery.broker import (
    BROKER_DAYS,
    CERTIFICATE,
    CONFIG,
    LOCAL_HOSTS,
    BrokerCertificate,
    make_broker,
    read_certificate,
    renew_certificate,
    update_broker,
)
from fedbandits.deployment.hosting.cautions import over_since, too_slow
from fedbandits.deployment.identity.authority import (
    Admitted,
    admit,
    init_authority,
    load_authority,
    revoke,
)
from fedbandits.deployment.identity.enrolment import create_party, install_admission
from fedbandits.deployment.identity.identity import load_identity
from fedbandits.deployment.identity.members import spoken_fingerprint
from fedbandits.deployment.identity.private_files import Path, new_folder
from fedbandits.deployment.process.folder import (
    PartyFolder,
    load_party,
    write_settings,
)
from fedbandits.deployment.process.looking import in_order, parties_in, refuse_several
from fedbandits.errors import ConfigError
from fedbandits.settings.federation import Federation, load_federation
from fedbandits.settings.federation_file import is_host

AUTHORITY, BROKER = "authority", "broker"
#: The port of the first party's door; the others' follow.
FIRST_PORT = 8420


class MadeFederation(NamedTuple):
    """A federation that was made, the authority's fingerprint, and members with folders here."""

    federation: Federation
    fingerprint: str
    parties: tuple[str, ...]


class Renewed(NamedTuple):
    """The folder of a broker whose certificate was renewed, and the certificate."""

    folder: pathlib.Path
    certificate: BrokerCertificate


def init_federation(
    config: Path, out: Path, local: bool, first_port: int = FIRST_PORT
) -> MadeFederation:
    """Make a new folder with an authority and a broker's configuration.

    ``local`` makes, and admits, all parties as well: this machine then holds all keys. Their doors
    are at ``first_port`` and those after it; 0 stands for any free ports. Raises ConfigError if the
    federation's file is wrong, OutputExistsError if the folder is there already, and IdentityError
    if it cannot be written.
    """
    source = pathlib.Path(config)
    federation = load_federation(source)
    taken = {AUTHORITY, BROKER} & set(federation.everybody)
    if taken:
        raise ConfigError(
            f"{source}: members: {taken.pop()!r} names a folder that has another use here; "
            "choose another name"
        )
    federation.roles, federation.plan  # noqa: B018  what is wrong in them is found before anything is made
    if wrong := over_since(federation, time.time()) or too_slow(federation):
        raise ConfigError(f"{source}: {wrong}")
    names = federation.everybody if local else ()
    with new_folder(pathlib.Path(out)) as folder:
        office = init_authority(source, folder / AUTHORITY)
        for place, name in enumerate(names):
            request = create_party(source, name, folder)
            write_settings(folder / name, federation, name, first_port and first_port + place)
            install_admission(folder / name, admit(office, request).admission)
        for name in names:  # those who were admitted first know the others, too
            members = load_authority(office).members.encode()
            load_identity(folder / name).members.offer(members)
        hosts = tuple(dict.fromkeys((*LOCAL_HOSTS, *_hosts(federation))))
        make_broker(office, folder / BROKER, hosts, _listens(federation))
        fingerprint = spoken_fingerprint(load_authority(office).public)
    return MadeFederation(federation, fingerprint, names)


def _hosts(federation: Federation) -> list[str]:
    """List names and addresses under which the broker is reached."""
    return [broker.host for broker in federation.brokers]


def _listens(federation: Federation) -> str:
    """Listen on this machine alone, if nobody is to come from elsewhere."""
    return "127.0.0.1" if all(map(_is_here, _hosts(federation))) else "0.0.0.0"  # noqa: S104


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def admit_here(folder: Path, request: Path, replace: bool = False) -> Admitted:
    """Admit a party, and tell the broker's configuration; see :func:`.authority.admit`."""
    place = authority_in(folder)
    admitted = admit(place, request, replace=replace)
    _update(place)
    return admitted


def revoke_here(folder: Path, name: str) -> None:
    """Revoke a member, and tell the broker's configuration; see :func:`.authority.revoke`."""
    place = authority_in(folder)
    revoke(place, name)
    _update(place)


def renew_here(folder: Path, names: Sequence[str] = (), days: float = BROKER_DAYS) -> Renewed:
    """Renew the certificate of the broker beside an authority; see :func:`.renew_certificate`."""
    for name in names:
        if not is_host(name):
            raise ConfigError(f"--name: given {shown(name)}, allowed: a host's name or IP address")
    place = authority_in(folder)
    beside = place.parent / BROKER
    return Renewed(beside, renew_certificate(place, beside, names, days))


def broker_caution(folder: Path) -> str:
    """Warn if the certificate of a broker beside an authority ends soon; empty if not."""
    beside = authority_in(folder).parent / BROKER
    return read_certificate(beside).caution if (beside / CERTIFICATE).exists() else ""


def _update(place: pathlib.Path) -> None:
    """Write the configuration of a broker beside the authority anew; up reloads it."""
    if (place.parent / BROKER / CONFIG).exists():
        update_broker(place, place.parent / BROKER)


def authority_in(folder: Path) -> pathlib.Path:
    """Find the authority's folder: that one, or the one in it; raises ConfigError without one."""
    place = pathlib.Path(folder)
    for each in (place / AUTHORITY, place):
        if (each / "authority.key").is_file():
            return each
    raise ConfigError(
        f"{place}: no authority is here; make one with: fedbandits federation init CONFIG.toml "
        "--out DIR"
    )


def load_parties(folder: Path) -> list[PartyFolder]:
    """Load parties: of that folder, or of those in it, in the order of the federation's file.

    Raises ConfigError if there are none, or they are of several federations.
    """
    parties = parties_in(folder, load_party)
    refuse_several(folder, {party.federation.terms.digest for party in parties})
    return in_order(parties, parties[0].federation.everybody)
