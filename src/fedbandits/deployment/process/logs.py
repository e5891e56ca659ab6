"""Logs of a party's process: one line each, to standard error, without data.

Of an error that nobody expected the kind and the place are told, not its text: that may hold what
was asked.
"""

from __future__ import annotations

import datetime
import logging
import pathlib
import sys
import traceback
from typing import Any

import msgspec

from fedbandits.deployment.delivery.nats_connection import worth_telling
from fedbandits.deployment.process.folder import LogSettings


class JsonLines(logging.Formatter):
    """Formats the log of a party: one JSON object a line."""

    def __init__(self, party: str) -> None:
        super().__init__()
        self._party = party

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as a line."""
        told = {"at": _time(record), "level": record.levelname.lower(), "party": self._party}
        told |= _said(record)
        return msgspec.json.encode(told | _failure(record)).decode()


class PlainLines(logging.Formatter):
    """Formats the log of a party: one line of text each."""

    def __init__(self, party: str) -> None:
        super().__init__()
        self._party = party

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as a line."""
        words = {**_said(record), **_failure(record)}
        message = str(words.pop("message", ""))
        if not message.startswith(f"{self._party}: "):
            message = f"{self._party}: {message}"
        more = "".join(f" {name}={value}" for name, value in words.items())
        return f"{_time(record)} {record.levelname.lower():8} {message}{more}"


def _time(record: logging.LogRecord) -> str:
    at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return at.isoformat(timespec="milliseconds")


def _said(record: logging.LogRecord) -> dict[str, Any]:
    """Read what a record says; some are objects already."""
    message = record.getMessage()
    if message.startswith("{"):
        try:
            return msgspec.json.decode(message, type=dict[str, Any])
        except msgspec.DecodeError:
            pass  # it is text that begins so
    return {"message": " ".join(message.split("\n"))}


def _failure(record: logging.LogRecord) -> dict[str, str]:
    """Tell the kind of an error, and where it came from."""
    if not record.exc_info or record.exc_info[0] is None:
        return {}
    frames = traceback.extract_tb(record.exc_info[2])
    place = f"{pathlib.PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return {"error": record.exc_info[0].__name__, "place": place}


def log_to_stderr(party: str, settings: LogSettings) -> None:
    """Log to standard error from now on, as the settings say; others' warnings, too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter({"json": JsonLines, "plain": PlainLines}[settings.format](party))
    logging.getLogger("asyncio").addFilter(worth_telling)
    root = logging.getLogger()
    for other in list(root.handlers):
        root.removeHandler(other)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("fedbandits").setLevel(settings.level.upper())
    logging.captureWarnings(True)
