"""A party's own settings, in ``party.toml``: its store, its door, its log."""

from __future__ import annotations

import pathlib
import tomllib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fedbandits._schema import convert
from fedbandits.deployment.door.settings import DoorSettings
from fedbandits.errors import ConfigError
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
