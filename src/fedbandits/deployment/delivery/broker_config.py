"""The broker's configuration: who may connect, and who may send what to whom.

It knows a member by its certificate, and lets it publish to its peers and subscribe to what is for
it, no more: who sends nothing to somebody by the terms cannot. Frames are sealed besides, so what
rests on all this is progress, not secrecy.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from fedbandits.deployment.identity.authority import PUBLISHER, Path, load_authority
from fedbandits.deployment.identity.certificates import SERVER, key_pem, new_key, pem
from fedbandits.deployment.identity.members import Members
from fedbandits.deployment.identity.private_files import make_folder, read_file, write_private
from fedbandits.errors import IdentityError
from fedbandits.settings.federation import Federation

#: No frame is longer, bytes: statistics of the largest systems fit.
MOST_FRAME_BYTES = 1 << 25
#: How long the broker's certificate is valid, days.
BROKER_DAYS = 730.0
#: Who connects from this machine alone finds the broker under these names.
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
#: Names in a broker's folder.
CONFIG, LOG, CERTIFICATE, KEY, ISSUER = (
    "nats.conf", "broker.log", "server.pem", "server.key", "issuer.pem"
)  # fmt: skip


def frames_subject(federation: str, sender: str, receiver: str) -> str:
    """Return the subject of frames from one member to another; ``*`` stands for any."""
    return f"fb.{federation}.{sender}.{receiver}"


def sender_of(subject: str) -> str:
    """Return the only member that may publish on a subject of frames."""
    return subject.split(".")[2]


def members_subject(federation: str) -> str:
    """Return the subject of lists of members, which the authority has signed."""
    return f"fb.{federation}.members"


def versions_subject(federation: str) -> str:
    """Return the subject on which members say which version of that list they know."""
    return f"fb.{federation}.members.version.known"


def permissions(federation: Federation, name: str) -> dict[str, Any]:
    """List what the member ``name`` may do at the broker: everything else is denied."""
    lists = [members_subject(federation.name), versions_subject(federation.name)]
    peers = federation.peers_of(name)
    to = [frames_subject(federation.name, name, peer) for peer in peers]
    here = frames_subject(federation.name, "*", name)
    return {"publish": {"allow": [*to, *lists]}, "subscribe": {"allow": [here, *lists]}}


def broker_users(federation: Federation, members: Members) -> list[dict[str, Any]]:
    """List all that the broker lets in: members that were not revoked, and the authority."""
    users = [
        {"user": member.user(name), "permissions": permissions(federation, name)}
        for name, member in members.present.items()
    ]
    publishing = {"publish": {"allow": [members_subject(federation.name)]}}
    nothing = {"subscribe": {"deny": [">"]}}
    return [*users, {"user": PUBLISHER, "permissions": {**publishing, **nothing}}]


def broker_config(
    federation: Federation,
    members: Members,
    host: str = "127.0.0.1",
    port: int | None = None,
    monitor_port: int | None = None,
) -> dict[str, Any]:
    """Make the configuration of a ``nats-server``, which reads JSON.

    It listens at ``host`` and ``port``, by default at the port of the federation's first server. At
    ``monitor_port`` on this machine it tells anybody who is connected; None for nowhere.
    """
    config: dict[str, Any] = {
        "server_name": f"fedbandits-{federation.name}",
        "host": host,
        "port": port or urlsplit(federation.transport.servers[0]).port or 4222,
        "max_payload": MOST_FRAME_BYTES,
        "max_pending": 8 * MOST_FRAME_BYTES,
        "log_file": LOG,
        "logfile_size_limit": 1 << 24,
        "logfile_max_num": 3,
        "tls": {
            "cert_file": CERTIFICATE,
            "key_file": KEY,
            "ca_file": ISSUER,
            "verify_and_map": True,
            "min_version": "1.3",
            "handshake_first": True,
            "timeout": 5,
        },
        "authorization": {"timeout": 5, "users": broker_users(federation, members)},
    }
    if monitor_port is not None:
        config["http"] = f"127.0.0.1:{monitor_port}"
    return config


def make_broker(
    authority: Path,
    folder: Path,
    hosts: Sequence[str] = LOCAL_HOSTS,
    host: str = "127.0.0.1",
    port: int | None = None,
    monitor_port: int | None = None,
    days: float = BROKER_DAYS,
) -> pathlib.Path:
    """Make a broker's folder: its key, its certificate, its configuration.

    ``nats-server -c nats.conf``, run there, is a broker.

    Parameters
    ----------
    authority, folder
        The authority's folder, and the broker's.
    hosts
        The names and addresses under which members reach it.
    host, port, monitor_port
        See :func:`broker_config`.
    days
        How long its certificate is valid.

    Raises
    ------
    IdentityError
        If the authority's folder is damaged, or nothing can be written.
    """
    office, place, key = load_authority(authority), pathlib.Path(folder), new_key()
    certificate = office.issue(key.public_key(), tuple(hosts), SERVER, days)
    make_folder(place)
    config = broker_config(office.federation, office.members, host, port, monitor_port)
    for name, data in {
        KEY: key_pem(key),
        CERTIFICATE: pem(certificate),
        ISSUER: pem(office.issuer),
        CONFIG: json.dumps(config, indent=1).encode(),
    }.items():
        write_private(place / name, data, replace=True)
    return place


def update_broker(authority: Path, folder: Path) -> None:
    """Write a broker's configuration anew, after members were admitted or revoked.

    Where it listens stays as it is. It takes effect with :meth:`Broker.reload`, or ``nats-server
    --signal reload``. Raises IdentityError if a folder is damaged, or nothing can be written.
    """
    office, path = load_authority(authority), pathlib.Path(folder) / CONFIG
    try:
        config = json.loads(read_file(path))
        config["authorization"]["users"] = broker_users(office.federation, office.members)
    except (ValueError, TypeError, KeyError):
        raise IdentityError(f"{path}: was changed by hand; make the broker's folder anew") from None
    write_private(path, json.dumps(config, indent=1).encode(), replace=True)
