"""A party's folder: what it agrees on with others, who it is, and what it alone decides.

::

    federation.toml   what all members agree on
    party.toml        its own settings, see :class:`PartySettings`
    members.json, request.json, admission.json, keys/    who it is, see :mod:`.identity`
    tokens.json       digests of its applications' tokens
    store.db          its store, unless that is a database elsewhere
    running.json      where its door is, while it runs
"""

from __future__ import annotations

import os
import pathlib
import tomllib
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.deployment.identity.identity import FEDERATION, REQUEST
from fedbandits.deployment.identity.members import decode
from fedbandits.deployment.identity.papers import Request
from fedbandits.deployment.identity.private_files import read_file, write_private
from fedbandits.deployment.process.examples import own_example
from fedbandits.errors import ConfigError, IdentityError
from fedbandits.settings.federation import Federation, load_federation
from fedbandits.settings.schema import convert
from fedbandits.settings.toml_files import parse_toml

Path = str | os.PathLike[str]
#: Names in the folder.
SETTINGS, RUNNING = "party.toml", "running.json"

LogFormat = Literal["json", "plain"]
LogLevel = Literal["debug", "info", "warning", "error"]


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is logged, to standard error. No context, reward or statistic ever is.

    Parameters
    ----------
    format
        One JSON object a line, or plain text.
    level
        The least important that is logged; ``info`` has a line a request.
    """

    format: LogFormat = "json"
    level: LogLevel = "info"


class Simulated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where simulated noise comes from, in a federation whose terms have such: it hides nothing.

    Parameters
    ----------
    seed
        The same for all parties, to be the same as a simulation of that seed.
    """

    seed: Annotated[int, Meta(ge=0, lt=2**32)]


class PartySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A party's own settings. Nobody else sees them.

    Parameters
    ----------
    store
        Its store: a file, from the folder, or the URL of a database that is this party's alone.
    keep_records
        Whether contexts and rewards stay when they are no longer needed.
    own
        What it alone knows of its world, by name; which names there are depends on the system.
    door
        Where applications ask.
    log
        What is logged.
    simulated
        Where simulated noise comes from, if the terms have such.
    earlier
        Stores of earlier federations that have released of the same records, files, from the
        folder: the account goes on from what they have spent.
    """

    store: Annotated[str, Meta(min_length=1)] = "store.db"
    keep_records: bool = False
    own: dict[str, Any] = {}
    door: DoorSettings = DoorSettings()
    log: LogSettings = LogSettings()
    simulated: Simulated | None = None
    earlier: tuple[str, ...] = ()


class PartyFolder(NamedTuple):
    """A party's folder, read.

    Parameters
    ----------
    path
        Where it is.
    member
        Whose it is.
    federation
        What all members agree on.
    settings
        Its own settings.
    """

    path: pathlib.Path
    member: str
    federation: Federation
    settings: PartySettings

    @property
    def store(self) -> str:
        """Its store, as a path or URL."""
        given = self.settings.store
        return given if "://" in given else str(self.path / given)

    @property
    def protects(self) -> bool:
        """Whether its noise is noise: simulated noise comes from a seed, and hides nothing."""
        return self.federation.noise == "secure"


def is_party(path: Path) -> bool:
    """Whether this is a party's folder."""
    return (pathlib.Path(path) / REQUEST).is_file()


def load_party(path: Path) -> PartyFolder:
    """A party's folder.

    Raises
    ------
    ConfigError
        If it is none, or its settings are wrong: with the file, the key, what was given and what
        is allowed.
    IdentityError
        If its request is damaged, or was made under other terms.
    """
    folder = pathlib.Path(path)
    if not is_party(folder):
        raise ConfigError(
            f"{folder}: is no party's folder, it has no {REQUEST}; make one with: fedbandits party "
            "create"
        )
    request = decode(Request, read_file(folder / REQUEST), folder / REQUEST)
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
    if difference is not None:
        raise IdentityError(
            f"{folder / FEDERATION}: has other terms than {request.name} was admitted under: "
            f"{difference.key} is {difference.ours!r} here and was {difference.theirs!r}; put the "
            "file back, or the version of fedbandits"
        )


def load_settings(path: pathlib.Path) -> PartySettings:
    """A party's settings from their file; defaults if there is none.

    Raises
    ------
    ConfigError
        Naming the file, the key, what was given and what is allowed.
    """
    try:
        raw = parse_toml(path.read_text(encoding="utf-8-sig"))
        settings: PartySettings = convert(raw, PartySettings, "")
    except FileNotFoundError:
        return PartySettings()
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {type(error).__name__}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return settings


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
    """Write a party's first settings, with their meaning.

    Raises
    ------
    IdentityError
        If there are some already, or nothing can be written.
    """
    text = _SETTINGS.format(name=name, port=port)
    own = own_example(federation, name)
    if own:
        text += "\n[own]                   # known to this party alone; these are examples\n"
        text += "".join(f"{key} = {value}\n" for key, value in own.items())
    if federation.noise == "simulated":
        text += _SEED
    write_private(pathlib.Path(folder) / SETTINGS, text.encode())
