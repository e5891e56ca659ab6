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
import tomllib
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from fedbandits._schema import convert
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.deployment.identity.admission import Request, read_request
from fedbandits.deployment.identity.identity import FEDERATION, REQUEST, Path
from fedbandits.deployment.identity.private_files import write_private
from fedbandits.deployment.process.examples import own_example
from fedbandits.errors import ConfigError, IdentityError
from fedbandits.settings.federation import Federation, load_federation
from fedbandits.settings.toml_files import parse_toml

#: Names in the folder.
SETTINGS, RUNNING, STARTING = "party.toml", "running.json", "starting.json"

LogFormat = Literal["json", "plain"]
LogLevel = Literal["debug", "info", "warning", "error"]


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the log, which goes to standard error.

    Contexts, rewards and statistics are never logged.

    Parameters
    ----------
    format
        ``json``: one JSON object on each line. ``plain``: plain text.
    level
        Lowest level that is logged. ``info`` writes one line for each request.
    """

    format: LogFormat = "json"
    level: LogLevel = "info"


class Simulated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Source of simulated noise, if the terms say that noise is simulated; it protects nothing.

    Parameters
    ----------
    seed
        The seed of the noise. If all parties have the same seed, they do the same as a simulation
        with that seed.
    """

    seed: Annotated[int, Meta(ge=0, lt=2**32)]


class PartySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A party's own settings, which no other party sees.

    Parameters
    ----------
    store
        The party's store: a file, relative to the folder, or the URL of a database. Only this party
        may use it.
    keep_records
        Whether to keep contexts and rewards that are no longer needed.
    own
        What only this party knows of its world, by name. The system determines the names.
    door
        Settings of the door, through which applications reach the party.
    log
        Settings of the log.
    simulated
        Source of simulated noise, if the terms say that noise is simulated.
    earlier
        Stores of earlier federations that released statistics of the same records. They are files,
        relative to the folder. The privacy account starts from what they have spent.
    """

    store: Annotated[str, Meta(min_length=1)] = "store.db"
    keep_records: bool = False
    own: dict[str, Any] = {}
    door: DoorSettings = DoorSettings()
    log: LogSettings = LogSettings()
    simulated: Simulated | None = None
    earlier: tuple[str, ...] = ()


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
        given = self.settings.store
        return given if "://" in given else str(self.path / given)

    @property
    def protects(self) -> bool:
        """True if its noise protects data; simulated noise, which comes from a seed, does not."""
        return self.federation.noise == "secure"


def is_party(path: Path) -> bool:
    """Tell whether ``path`` is the folder of a party."""
    return (pathlib.Path(path) / REQUEST).is_file()


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
    folder = pathlib.Path(path)
    if not is_party(folder):
        raise ConfigError(
            f"{folder}: is not the folder of a party: it has no {REQUEST}; make one with: "
            "fedbandits party create"
        )
    request = read_request(folder / REQUEST)
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
            f"{difference.key} is {difference.ours!r} here and was {difference.theirs!r}; restore "
            "the file, or install the version of fedbandits that was used then"
        )


def load_settings(path: pathlib.Path) -> PartySettings:
    """Read a party's settings from the file at ``path``; defaults if there is no file.

    Raises
    ------
    ConfigError
        If a setting is wrong. The message names the file, the key, what was given and what is
        allowed.
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
