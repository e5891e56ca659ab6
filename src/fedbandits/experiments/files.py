"""Files that are complete or absent: written beside their place, forced to disk, then renamed.

A run locks its folder; unfinished files beside a locked folder belong to no run. No link is
followed in the place of a run's own files and folders: somebody else may have put the link there.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from fedbandits.errors import OutputBusyError, OutputError, OutputExistsError


def write_durably(file: pathlib.Path, data: bytes, place: pathlib.Path) -> None:
    """Write a file, which will belong to ``place``, and force it to disk.

    If the disk is full, the part that was written is removed, and OutputError raised.
    """
    try:
        _write(file, data)
    except OSError as error:
        raise OutputError(
            f"{place}: cannot be written ({error.strerror or error}); free some space. Earlier "
            "files have not changed, and finished replicates are kept for --resume"
        ) from error


def _write(file: pathlib.Path, data: bytes, mode: str = "wb") -> None:
    """Write a file and force it to disk; after a failure, remove the part that was written."""
    with open(file, mode) as stream:
        try:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            with suppress(OSError):
                file.unlink(missing_ok=True)
            raise


def write_whole(file: pathlib.Path, data: bytes, replaces: bool) -> None:
    """Write a file whole or not at all; an old file is replaced as a whole, or stays.

    A pipe, or anything else that is no file, is written to. Raises FileExistsError if one is
    there that must stay, and OSError if nothing can be written.
    """
    if not replaces:
        _write(file, data, "xb")
    elif file.exists() and not file.is_file():
        file.write_bytes(data)
    else:
        file = pathlib.Path(os.path.realpath(file))
        beside = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
        _write(beside, data, "xb")
        if file.exists():
            shutil.copymode(file, beside)
        os.replace(beside, file)
        sync_folder(file.parent)


def replace_durably(file: pathlib.Path, data: bytes) -> None:
    """Write a file so that any reader, at any time, finds the old one or the new one.

    Raises as :func:`write_durably`; the old one is then there.
    """
    beside = file.with_name(f"{file.stem}.{uuid.uuid4().hex}")  # another machine may write it too
    write_durably(beside, data, file.parent)
    os.replace(beside, file)
    sync_folder(file.parent)


def sync_folder(folder: pathlib.Path) -> None:
    """Force names to disk, where folders can be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def stage(out: pathlib.Path) -> Iterator[pathlib.Path]:
    """Make a folder beside ``out`` to work in; its content is removed at the end."""
    folder = out.parent / f".{out.name}.stage-{uuid.uuid4().hex}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(out: pathlib.Path) -> Iterator[None]:
    """Keep an output folder for this process, and remove what killed ones left half-made.

    The lock goes with the process, however it ends. Where a file system has no locks there are
    none, and nothing is removed.

    Raises
    ------
    OutputBusyError
        Naming the process that has it.
    OutputExistsError
        If nothing can be written there, or a link is in its place.
    """
    refuse_links(out)
    path = out.parent / f".{out.name}.lock"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        descriptor, held = _acquire(path, out)
    except (OSError, ValueError) as error:
        raise unwritable(out, error) from None
    try:
        if held:
            _collect(out)
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)  # while it is held: the next one makes a new file
        os.close(descriptor)


def refuse_links(out: pathlib.Path) -> None:
    """Refuse a link in the place of an output folder, or of what a run keeps beside it.

    Links further up are the user's own way to a disk. Raises OutputExistsError, which names the
    link, or the place if no file can have its name.
    """
    beside = ("lock", "checkpoint", "points")
    for path in (out, *(out.parent / f".{out.name}.{name}" for name in beside)):
        try:
            is_link = path.is_symlink()
        except OSError as error:
            raise unwritable(out, error) from None
        if is_link:
            leads = f"it leads to {os.readlink(path)}"
            raise OutputExistsError(
                f"{path}: is a link, which is not followed ({leads}); choose another --out"
            )


def unwritable(out: pathlib.Path, error: Exception) -> OutputExistsError:
    """Make the error for a place that nothing can be written to."""
    reason = getattr(error, "strerror", None) or str(error)
    return OutputExistsError(f"{out}: cannot be written ({reason}); choose another --out")


def _acquire(path: pathlib.Path, out: pathlib.Path) -> tuple[int, bool]:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644)
        try:
            held = _lock(descriptor)
            # The former holder may have removed the file in between: then the lock is void.
            if not held or _is_at(descriptor, path):
                os.truncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()} on {socket.gethostname()}".encode(), 0)
                return descriptor, held
        except BlockingIOError:
            who = os.pread(descriptor, 300, 0).decode(errors="replace") or "that has just begun"
            os.close(descriptor)
            raise OutputBusyError(
                f"{out}: is being written by process {who}; wait for it, or choose another --out"
            ) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file, or return False where there are no locks; a lock held elsewhere raises."""
    try:
        import fcntl
    except ModuleNotFoundError:  # no POSIX
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _is_at(descriptor: int, path: pathlib.Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _collect(out: pathlib.Path) -> None:
    """Remove stages of this folder: under its lock no other run makes one."""
    own = re.compile(rf"\.{re.escape(out.name)}\.stage-[0-9a-f]{{32}}")
    for path in out.parent.iterdir():
        if own.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


#: Flag that opens no link, where the system has one.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
#: Names all other files of the run, each with its SHA-256.
MARKER = "run.json"


def is_whole(out: pathlib.Path) -> bool:
    """Return whether a folder holds all files of one run, as they were written.

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
    OutputExistsError
        If a folder in it is a link, before anything has changed.
    """
    for folder in {out / name for path in files for name in pathlib.PurePath(path).parents}:
        if folder.is_symlink():
            raise OutputExistsError(f"{folder}: is a link, which is not followed; remove it")
    with stage(out) as beside:
        staged = beside / "run"
        for name, data in {**files, MARKER: _marker(files)}.items():
            file = staged / name
            file.parent.mkdir(parents=True, exist_ok=True)
            write_durably(file, data, out)
        for folder in (staged, *{(staged / name).parent for name in files}):
            sync_folder(folder)
        if not out.exists():
            os.replace(staged, out)
            sync_folder(out.parent)
            return
        (out / MARKER).unlink(missing_ok=True)
        sync_folder(out)  # from here on it is not whole
        for name in sorted(files):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staged / name, out / name)
        for folder in {(out / name).parent for name in files}:
            sync_folder(folder)
        os.replace(staged / MARKER, out / MARKER)
        sync_folder(out)


def _marker(files: Mapping[str, bytes]) -> bytes:
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    return json.dumps({"files": digests}, indent=1).encode()
