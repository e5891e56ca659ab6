"""Advice in the folder of a run, which the run's report shows."""

from __future__ import annotations

import json
import pathlib

import msgspec

from fedbandits.errors import OutputExistsError
from fedbandits.experiments.advice.tried import Advice
from fedbandits.experiments.files import replace_durably

_ADVICE = "advice.json"


def store_advice(out: pathlib.Path, advice: Advice) -> None:
    """Put an advice into a folder.

    Raises
    ------
    OutputError
        If the disk is full.
    """
    text = json.dumps(msgspec.to_builtins(advice), indent=1, ensure_ascii=False)
    replace_durably(out / _ADVICE, text.encode())


def read_advice(out: pathlib.Path) -> Advice | None:
    """The advice in a run's folder, if there is one.

    Raises
    ------
    OutputExistsError
        If it cannot be read.
    """
    path = out / _ADVICE
    if not path.is_file():
        return None
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="utf-8")), Advice)
    except (ValueError, msgspec.ValidationError):
        raise OutputExistsError(
            f"{path}: cannot be read; delete it, or run it again with --advise"
        ) from None
