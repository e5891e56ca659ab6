"""Files that only their owner reads, written whole or not at all, and their names in a folder."""

from __future__ import annotations

import os
import pathlib
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fedbandits.errors import DeploymentError, IdentityError, OutputExistsError

#: No file here is as long as this, bytes.
_MOST_BYTES = 1 << 24


Path = str | os.PathLike[str]
#: Names in a party's folder.
FEDERATION, MEMBERS, KEYS = "federation.toml", "members.json", "keys"
REQUEST, ADMISSION = "request.json", "admission.json"
#: Names in the folder of a pair of keys.
SEALING, TLS, CERTIFICATE, ISSUER = "sealing.key", "tls.key", "tls.pem", "issuer.pem"


def write_private(
    path: pathlib.Path,
    data: bytes,
    *,
    replace: bool = False,
    kind: type[DeploymentError] = IdentityError,
) -> None:
    """Write a file of mode 0600: at any time there is all of it, or what was there before.

    Without ``replace`` there must be none: keys are never written over. Raises an error of the
    given ``kind`` if there is one that must stay, or if nothing can be written.
    """
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        try:
            _write(beside, data)
            if replace:
                beside.replace(path)
            else:
                os.link(beside, path)
            _sync(path.parent)
        finally:
            beside.unlink(missing_ok=True)
    except FileExistsError:
        raise kind(f"{path}: is there already, and is never written over") from None
    except OSError as error:
        raise _unwritable(path, error, kind) from None


def _write(path: pathlib.Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)


def _sync(folder: pathlib.Path) -> None:
    """Force names to disk, where folders can be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _unwritable(
    path: pathlib.Path, error: OSError, kind: type[DeploymentError] = IdentityError
) -> DeploymentError:
    return kind(f"{path}: cannot be written ({error.strerror or error}); nothing changed")


def read_file(path: pathlib.Path) -> bytes:
    """Read a file that anyone may read.

    Raises IdentityError if it is missing, cannot be read, or is far too long.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise IdentityError(f"{path}: no such file") from None
    except OSError as error:
        raise IdentityError(f"{path}: cannot be read ({error.strerror or error})") from None
    if len(data) > _MOST_BYTES:
        raise IdentityError(f"{path}: is far too long for such a file; restore it from a backup")
    return data


def read_private(path: pathlib.Path) -> bytes:
    """Read a file that its owner alone may read; raises as :func:`read_file`, and if others can."""
    refuse_readable(path)
    return read_file(path)


def refuse_readable(path: pathlib.Path) -> None:
    """Refuse a key that others than its owner can read, as ssh does.

    Raises IdentityError if it is missing, or others can read it.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise IdentityError(f"{path}: cannot be read ({error.strerror or error})") from None
    if os.name == "posix" and mode & 0o077:
        raise IdentityError(
            f"{path}: can be read by others (mode {mode:04o}), so they may know it; make new keys, "
            "or run chmod 600 on it if you are sure that nobody has read it. Under Kubernetes copy "
            "it into a folder of the party's own first, see the page on operating a party"
        )


@contextmanager
def new_folder(out: pathlib.Path) -> Iterator[pathlib.Path]:
    """Make a folder of mode 0700 to fill; it takes its name at the end, if all went well.

    Raises OutputExistsError if there is something of that name already, and IdentityError if
    nothing can be written.
    """
    beside = out.parent / f".{out.name}.{uuid.uuid4().hex}"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir(mode=0o700)
    except OSError as error:
        raise _unwritable(out, error) from None
    try:
        if out.exists():
            raise OutputExistsError(f"{out}: is there already, and is never written over")
        yield beside
        try:
            beside.rename(out)
        except OSError as error:
            raise _unwritable(out, error) from None
        _sync(out.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def make_folder(path: pathlib.Path) -> None:
    """Make a folder of mode 0700, if there is none."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None


@contextmanager
def only_one(
    folder: pathlib.Path, lock: str = ".lock", kind: type[DeploymentError] = IdentityError
) -> Iterator[None]:
    """Let one process at a time change what is in a folder; others wait. It ends with the process.

    Raises an error of the given ``kind`` if there is no such folder.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # no POSIX
        yield
        return
    try:
        descriptor = os.open(folder / lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unwritable(folder, error, kind) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
