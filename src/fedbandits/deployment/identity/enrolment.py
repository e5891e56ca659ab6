"""The identity of a party: it makes keys, and the authority admits them."""

from __future__ import annotations

import pathlib

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedbandits.deployment.identity.admission import Request, make_request, read_request
from fedbandits.deployment.identity.certificates import (
    key_name,
    key_pem,
    new_key,
)
from fedbandits.deployment.identity.names import (
    FEDERATION,
    KEYS,
    REQUEST,
    SEALING,
    TLS,
    Path,
)
from fedbandits.deployment.identity.private_files import (
    make_folder,
    new_folder,
    only_one,
    read_file,
    write_private,
)
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
