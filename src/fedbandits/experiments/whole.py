"""``run.json`` shows that a run's folder is complete: it is written last and removed first."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from collections.abc import Mapping

from fedbandits.experiments.files import stage, sync_folder, write_durably

#: Names all other files of the run, each with its SHA-256.
MARKER = "run.json"


def is_whole(out: pathlib.Path) -> bool:
    """Whether a folder holds all files of one run, as they were written.

    A run that was killed while it replaced the files of an earlier one leaves a folder that is not.
    """
    try:
        files = json.loads((out / MARKER).read_text(encoding="utf-8"))["files"]
        return bool(files) and all(
            (out / name).is_file()
            and hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
            for name, digest in files.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def put_in_place(files: Mapping[str, bytes], out: pathlib.Path) -> None:
    """Write the files of a run: all of them beside the folder first, then into it.

    A new folder appears whole; in an old one only what a run makes is replaced.

    Raises
    ------
    OutputError
        If the disk is full, before anything in the folder has changed.
    """
    with stage(out) as beside:
        made = beside / "run"
        for name, data in {**files, MARKER: _marker(files)}.items():
            file = made / name
            file.parent.mkdir(parents=True, exist_ok=True)
            write_durably(file, data, out)
        for folder in (made, *{(made / name).parent for name in files}):
            sync_folder(folder)
        if not out.exists():
            os.replace(made, out)
            sync_folder(out.parent)
            return
        (out / MARKER).unlink(missing_ok=True)
        sync_folder(out)  # from here on it is not whole
        for name in sorted(files):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(made / name, out / name)
        for folder in {(out / name).parent for name in files}:
            sync_folder(folder)
        os.replace(made / MARKER, out / MARKER)
        sync_folder(out)


def _marker(files: Mapping[str, bytes]) -> bytes:
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    return json.dumps({"files": digests}, indent=1).encode()
