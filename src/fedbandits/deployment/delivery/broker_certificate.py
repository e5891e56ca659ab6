"""The broker's certificate: its names, when it ends, and how it is renewed."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Sequence
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from fedbandits.deployment.delivery.broker import BROKER_DAYS, CERTIFICATE, KEY, update_broker
from fedbandits.deployment.identity.authority import load_authority
from fedbandits.deployment.identity.certificates import (
    SERVER,
    load_certificate,
    load_key,
    now,
    pem,
)
from fedbandits.deployment.identity.names import Path
from fedbandits.deployment.identity.private_files import read_file, read_private, write_private
from fedbandits.errors import IdentityError

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
