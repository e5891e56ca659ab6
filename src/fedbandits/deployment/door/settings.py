"""Address and limits of a door: the table ``[door]`` of a party's own settings."""

from __future__ import annotations

import datetime
import ipaddress
import pathlib
import ssl
from typing import Annotated

import msgspec
from msgspec import Meta

from fedbandits.errors import DeploymentError

_Seconds = Annotated[float, Meta(gt=0, le=3600)]


class DoorSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a door, the HTTP interface through which applications reach a party.

    Parameters
    ----------
    host, port
        Address at which the door listens. Port 0 means any free port.
    certificate, key
        PEM files for TLS; paths are relative to the party's folder. Without TLS, requests and the
        tokens in them are not encrypted.
    most_body
        Largest size of a request, in bytes.
    most_head
        Largest size of the request line and the headers together, in bytes.
    most_connections
        Largest number of connections that are open at once. It is never more than half of the files
        that the process may open (``ulimit -n``).
    request_time
        Longest time in which a request must arrive, in seconds from its first byte.
    keep_alive
        Time after which an idle connection is closed, in seconds.
    drain
        Time that open requests have to finish when the door closes, in seconds.
    """

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8420
    certificate: str | None = None
    key: str | None = None
    most_body: Annotated[int, Meta(ge=1024, le=1_000_000_000)] = 1_000_000
    most_head: Annotated[int, Meta(ge=1024, le=1_000_000)] = 32_768
    most_connections: Annotated[int, Meta(ge=1, le=100_000)] = 1_000
    request_time: _Seconds = 30.0
    keep_alive: _Seconds = 60.0
    drain: _Seconds = 10.0

    @property
    def loopback(self) -> bool:
        """True if only programs on this machine can reach the door."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def tls(self, folder: pathlib.Path) -> ssl.SSLContext | None:
        """Make the TLS context of the door, from files in ``folder``; None without a certificate.

        Raises
        ------
        DeploymentError
            If the files cannot be used, or one is missing.
        """
        if self.certificate is None and self.key is None:
            return None
        if self.certificate is None or self.key is None:
            raise DeploymentError("door: TLS needs both, door.certificate and door.key")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(folder / self.certificate, folder / self.key, lambda: "")
        except (OSError, ValueError) as error:
            raise DeploymentError(
                f"door.certificate: {self.certificate!r} with door.key {self.key!r} cannot be used "
                f"({type(error).__name__}); both are PEM, the key without a password"
            ) from None
        return context

    def expiry(self, folder: pathlib.Path) -> datetime.datetime | None:
        """Return when the door's certificate expires, in UTC; None without one."""
        if self.certificate is None:
            return None
        from cryptography import x509

        found = x509.load_pem_x509_certificate((folder / self.certificate).read_bytes())
        return found.not_valid_after_utc
