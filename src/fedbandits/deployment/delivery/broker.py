"""The broker: an unchanged ``nats-server``, its configuration, and its process on this machine.

Members dial out to it; it stores nothing. TLS 1.3 both ways, from the first byte. It knows a
member by its certificate, and lets it publish to its peers and subscribe to what is for it, no
more: who sends nothing to somebody by the terms cannot. Frames are sealed besides, so what rests on
all this is progress, not secrecy. The official server, or a cluster, is given the same files.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from fedbandits.deployment.identity.authority import PUBLISHER, load_authority
from fedbandits.deployment.identity.certificates import (
    SERVER,
    key_pem,
    load_certificate,
    load_key,
    new_key,
    now,
    pem,
)
from fedbandits.deployment.identity.members import Members
from fedbandits.deployment.identity.private_files import (
    Path,
    make_folder,
    read_file,
    read_private,
    write_private,
)
from fedbandits.errors import IdentityError, MissingExtraError, TransportError
from fedbandits.settings.federation import Federation

#: No frame is longer, bytes: statistics of the largest systems fit.
MOST_FRAME_BYTES = 1 << 25
#: How long the broker's certificate is valid, days.
BROKER_DAYS = 730.0
#: Who connects from this machine alone finds the broker under these names.
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
#: Names in a broker's folder.
CONFIG, LOG, CERTIFICATE, KEY, ISSUER, PID = (
    "nats.conf", "broker.log", "server.pem", "server.key", "issuer.pem", "nats.pid"
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
        "port": port or federation.brokers[0].port,
        "max_payload": MOST_FRAME_BYTES,
        "max_pending": 8 * MOST_FRAME_BYTES,
        "log_file": LOG,
        "pid_file": PID,
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

    ``nats-server -c nats.conf``, run there, is a broker. Members reach it under the names and
    addresses in ``hosts``. Its certificate is valid for so many ``days``. See :func:`broker_config`
    for the others. Raises IdentityError if the authority's folder is damaged, or nothing can be
    written.
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
    --signal reload=nats.pid`` in its folder. Raises IdentityError if a folder is damaged, or
    nothing can be written.
    """
    office, path = load_authority(authority), pathlib.Path(folder) / CONFIG
    try:
        config = json.loads(read_file(path))
        config["authorization"]["users"] = broker_users(office.federation, office.members)
        config.setdefault("pid_file", PID)
    except (ValueError, TypeError, KeyError):
        raise IdentityError(f"{path}: was changed by hand; make the broker's folder anew") from None
    write_private(path, json.dumps(config, indent=1).encode(), replace=True)


_ERRORS = "broker.err"


def find_server() -> str:
    """Find the program ``nats-server``: beside the running Python, else on the path.

    Raises MissingExtraError if it is nowhere.
    """
    beside = shutil.which("nats-server", path=os.path.dirname(sys.executable))
    found = beside or shutil.which("nats-server")
    if found is None:
        raise MissingExtraError(
            "the program nats-server is missing: "
            "install the extra 'federation' as docs/install.md says, or NATS itself"
        )
    return found


class Broker:
    """A broker on this machine, in a folder that :func:`make_broker` has made."""

    def __init__(self, folder: Path) -> None:
        self._folder = pathlib.Path(folder)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Address at which members on this machine reach it, ``tls://host:port``."""
        host, port = self._listens()
        return f"tls://{f'[{host}]' if ':' in host else host}:{port}"

    @property
    def pid(self) -> int | None:
        """Number of its process; None while it does not run."""
        alive = self._process is not None and self._process.poll() is None
        return self._process.pid if alive and self._process is not None else None

    def start(self, timeout: float = 20.0) -> None:
        """Start it; it listens when this returns.

        Raises TransportError if it ends, with what it says, or does not listen within ``timeout``
        seconds.
        """
        with (self._folder / _ERRORS).open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603  our own configuration
                [find_server(), "-c", CONFIG],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,  # Ctrl-C stops parties first
            )
        end = time.monotonic() + timeout
        while not self._answers():
            if self._process.poll() is not None:
                raise TransportError(f"the broker does not start: {self._last_words()}")
            if time.monotonic() > end:
                self.stop()
                raise TransportError(f"the broker does not listen after {timeout:.0f} s")
            time.sleep(0.02)

    def reload(self) -> None:
        """Make it read its configuration: whoever is no longer in it is disconnected.

        Raises TransportError if it does not run.
        """
        if self.pid is None or self._process is None:
            raise TransportError("the broker does not run; start it")
        self._process.send_signal(signal.SIGHUP)

    def stop(self, timeout: float = 10.0) -> None:
        """Stop it, and wait until it has ended."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _listens(self) -> tuple[str, int]:
        config = json.loads(read_file(self._folder / CONFIG))
        host = str(config["host"])
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  it listens there if it is told
        return here.get(host, host), int(config["port"])

    def _answers(self) -> bool:
        """Tell whether this broker listens: another one has no key for its certificate."""
        context = ssl.create_default_context(cafile=self._folder / ISSUER)
        context.check_hostname = False
        try:
            with (
                socket.create_connection(self._listens(), 1.0) as plain,
                context.wrap_socket(plain) as secured,
            ):
                return secured.getpeercert(True) == ssl.PEM_cert_to_DER_cert(
                    read_file(self._folder / CERTIFICATE).decode()
                )
        except OSError:
            return False

    def _last_words(self) -> str:
        """Return the last thing that it has said; it knows no data."""
        said = b""
        for name in (LOG, _ERRORS):
            path = self._folder / name
            said += path.read_bytes()[-4096:] if path.exists() else b""
        lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
        told = [line for line in lines if "[FTL]" in line or "[ERR]" in line]
        return (told or lines or ["nothing"])[-1].strip()


#: So many days before its end it is spoken of: people need months for a change.
SOON = 90


class BrokerCertificate(NamedTuple):
    """A broker's certificate: names and addresses under which it is reached, and its end."""

    names: tuple[str, ...]
    ends: datetime.datetime

    @property
    def days_left(self) -> int:
        """Whole days that it is still valid."""
        return (self.ends - now()).days

    @property
    def caution(self) -> str:
        """Warning that it ends soon, and what to do; empty before that."""
        return ends_soon(self.days_left)


def ends_soon(days: int) -> str:
    """Warn that the broker's certificate ends in so many days; empty if that is not soon."""
    if days >= SOON:
        return ""
    return (
        f"the broker's certificate ends in {days} days, and nobody can connect then; the authority "
        "renews it: fedbandits federation broker-certificate"
    )


def read_certificate(folder: Path) -> BrokerCertificate:
    """Read the certificate in a broker's folder; raises IdentityError if it is damaged or gone."""
    path = pathlib.Path(folder) / CERTIFICATE
    found = load_certificate(read_file(path), path)
    named = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    names = [str(name.value) for name in named]
    return BrokerCertificate(tuple(names), found.not_valid_after_utc)


def renew_certificate(
    authority: Path, folder: Path, names: Sequence[str] = (), days: float = BROKER_DAYS
) -> BrokerCertificate:
    """Issue a new certificate for a broker, about the key that it has.

    It bears all names of the old one, those in the federation's file, and further ``names``. Its
    configuration is written anew, too. Both take effect when the broker reads them. Raises
    IdentityError if a folder is damaged, or nothing can be written.
    """
    office, place = load_authority(authority), pathlib.Path(folder)
    key = load_key(read_private(place / KEY), place / KEY)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise IdentityError(f"{place / KEY}: is no key for TLS; make the broker's folder anew")
    servers = [broker.host for broker in office.federation.brokers]
    every = tuple(dict.fromkeys((*read_certificate(place).names, *servers, *names)))
    certificate = office.issue(key.public_key(), every, SERVER, days)
    write_private(place / CERTIFICATE, pem(certificate), replace=True)
    update_broker(authority, place)
    return read_certificate(place)
