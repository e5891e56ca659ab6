"""A party's folder: its identity, its own settings, and what all members agree on.

::

    federation.toml   what all members agree on
    party.toml        the party's own settings, see :class:`PartySettings`
    members.json, request.json, admission.json, keys/    its identity, see :mod:`.identity`
    tokens.json       digests of the tokens of its applications
    store.db          the party's store, unless it is a database elsewhere
    store.left        what has left the party: in no backup
    running.json      address of its door, while the party runs
    starting.json     that it starts, until it runs
"""

from __future__ import annotations

import pathlib
from typing import NamedTuple

from fedbandits.deployment.identity.admission import Request
from fedbandits.deployment.identity.private_files import FEDERATION, REQUEST, Path, write_private
from fedbandits.deployment.process.examples import own_example
from fedbandits.deployment.process.looking import request_in, store_of
from fedbandits.deployment.process.own_settings import SETTINGS, PartySettings, load_settings
from fedbandits.errors import ConfigError, IdentityError
from fedbandits.settings.federation import Federation, load_federation


class PartyFolder(NamedTuple):
    """The content of a party's folder.

    Parameters
    ----------
    path
        Path of the folder.
    member
        Name of the member whose folder it is.
    federation
        What all members agree on.
    settings
        The party's own settings.
    """

    path: pathlib.Path
    member: str
    federation: Federation
    settings: PartySettings

    @property
    def store(self) -> str:
        """The party's store, as a path or a URL."""
        return store_of(self.path, self.settings)

    @property
    def protects(self) -> bool:
        """True if its noise protects data; simulated noise, which comes from a seed, does not."""
        return self.federation.noise == "secure"


def load_party(path: Path) -> PartyFolder:
    """Read the folder of a party.

    Raises
    ------
    ConfigError
        If ``path`` is not the folder of a party, or its settings are wrong. The message names the
        file, the key, what was given and what is allowed.
    IdentityError
        If its request is damaged, or was made under other terms.
    """
    folder, request = request_in(path)
    federation = load_federation(folder / FEDERATION)
    federation.seat_of(request.name)
    _refuse_other_terms(folder, federation, request)
    settings = load_settings(folder / SETTINGS)
    _check_noise(folder / SETTINGS, federation, settings)
    return PartyFolder(folder, request.name, federation, settings)


def _refuse_other_terms(folder: pathlib.Path, federation: Federation, request: Request) -> None:
    """Refuse terms that are not those it asked to be admitted under, by the first key."""
    try:
        difference = federation.terms.difference(request.content)
    except ValueError as broken:
        raise IdentityError(f"{folder / REQUEST}: holds {broken}") from None
    if difference is not None and difference.is_of_versions:
        raise IdentityError(
            f"{folder / FEDERATION}: {request.name} was admitted with another version of "
            f"fedbandits (messages of version {difference.theirs!r}, here {difference.ours!r}): "
            "install that version, and let the federation end with it; or agree on new terms with "
            "this one, in a new folder. There the line "
            f'earlier = ["{folder.absolute() / "store.db"}"] in {SETTINGS} counts what this '
            "store has spent"
        )
    if difference is not None:
        raise IdentityError(
            f"{folder / FEDERATION}: has other terms than {request.name} was admitted under: "
            f"{difference.key} is {difference.ours!r} here and was {difference.theirs!r}; restore "
            "the file, or install the version of fedbandits that was used then"
        )


def _check_noise(path: pathlib.Path, federation: Federation, settings: PartySettings) -> None:
    simulated = federation.noise == "simulated"
    if simulated and settings.simulated is None:
        raise ConfigError(
            f"{path}: simulated.seed: missing; the terms say noise = 'simulated', which protects "
            "nobody and comes from a seed"
        )
    if not simulated and settings.simulated is not None:
        raise ConfigError(
            f"{path}: simulated: not allowed; the terms say noise = 'secure', which has no seed"
        )


_SETTINGS = """\
# What {name} alone decides. Nobody else sees this file.
store = "store.db"      # beside this file; or a database: postgresql+psycopg://USER@HOST/NAME
keep_records = false    # true keeps contexts and rewards that are no longer needed

[door]                  # where applications ask; certificate and key are files, for TLS
host = "127.0.0.1"
port = {port}

[log]
format = "json"         # or "plain"
level = "info"          # "warning" leaves out the line that every request has
"""
_SEED = """
[simulated]             # the terms say so: noise comes from this seed, and protects nobody
seed = 0
"""


def write_settings(folder: Path, federation: Federation, name: str, port: int) -> None:
    """Write a party's first settings, with comments that explain them.

    Parameters
    ----------
    folder
        The party's folder.
    federation
        What all members agree on.
    name
        Name of the member.
    port
        Port of its door.

    Raises
    ------
    IdentityError
        If there are settings already, or the file cannot be written.
    """
    text = _SETTINGS.format(name=name, port=port)
    own = own_example(federation, name)
    if own:
        text += "\n[own]                   # known to this party alone; these are examples\n"
        text += "".join(f"{key} = {value}\n" for key, value in own.items())
    if federation.noise == "simulated":
        text += _SEED
    write_private(pathlib.Path(folder) / SETTINGS, text.encode())
