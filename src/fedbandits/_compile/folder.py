"""A cache folder that nobody else can write to: cached code runs without another check."""

from __future__ import annotations

import functools
import os
import stat
import warnings

from fedbandits.errors import CacheWarning

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def root(chosen: str) -> str:
    """Find where compiled kernels are kept: a folder of choice, or the user's cache."""
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "fedbandits", "numba")


@functools.cache
def private(path: str) -> str | None:
    """Make a folder that only this user can write to, mode 0700, and return its real path.

    None, with a :class:`~fedbandits.errors.CacheWarning` the first time, if the path is not
    absolute, the folder belongs to somebody else or can be written by others, a folder above it
    lets somebody else replace it, or it cannot be made.
    """
    refusal = _refusal(path)
    if refusal is None:
        return os.path.realpath(path)
    warnings.warn(
        f"compiled kernels are not kept, so every run compiles them anew: {refusal}. "
        "NUMBA_CACHE_DIR names another folder.",
        CacheWarning,
        stacklevel=2,
    )
    return None


def _refusal(path: str) -> str | None:
    """Say why a folder is not fit; None if it is. What is missing of it is made."""
    if not os.path.isabs(path):
        return f"the cache folder {path!r} is not an absolute path"
    parts = os.path.realpath(path).split(os.sep)
    try:
        for length in range(1, len(parts) + 1):
            here = os.sep.join(parts[:length]) or os.sep
            last = length == len(parts)
            os.makedirs(here, mode=0o700, exist_ok=True)
            refusal = _insecure(here, os.lstat(here), last)
            if refusal is not None:
                return refusal
        if not os.access(path, os.W_OK | os.X_OK):
            return f"{path} cannot be written to"
    except OSError as error:
        return f"{path} cannot be made ({error.strerror or error})"
    return None


def _insecure(path: str, status: os.stat_result, last: bool) -> str | None:
    if not hasattr(os, "getuid"):
        return None  # no owners and modes here; folders of a user are private by default
    owners = {os.getuid()} if last else {os.getuid(), 0}
    if status.st_uid not in owners:
        return f"{path} belongs to another user"
    # In a sticky folder, such as /tmp, others cannot replace what is not theirs.
    if status.st_mode & _WRITABLE_BY_OTHERS and (last or not status.st_mode & stat.S_ISVTX):
        mode = stat.S_IMODE(status.st_mode)
        return f"{path} can be written by others (mode {mode:04o}; chmod go-w mends it)"
    return None
