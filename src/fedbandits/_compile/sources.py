"""Digests of source text: of the text that kernels can reach, and that results can depend on.

Compiled code lives in files called ``kernels.py`` and below folders called ``kernels``. They import
nothing of the package but one another, which ``tests/test_architecture.py`` checks. So a kernel can
reach no other text than theirs.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

#: Folder of this package's modules.
PACKAGE = pathlib.Path(__file__).parent.parent
#: Time at which this package was loaded, in ns. A file that changed later may differ from the
#: imported module.
_BEGAN = time.time_ns()
#: Modules beside the homes of kernels that kernels import.
_BELOW_KERNELS = ("_compile/", "random.py", "_typing.py")
#: Rooms on which results depend.
_RESULTS = (
    *_BELOW_KERNELS, "draws.py", "facts.py", "rows.py", "environments/", "learners/", "privacy/",
    "crypto/", "federation/", "systems/", "offline/",
)  # fmt: skip
#: A digest that no other process has.
_NOBODY_ELSES = uuid.uuid4().hex


def holds_kernels(path: str) -> bool:
    """Tell whether a path is a home of compiled code, or a module that such a home imports."""
    parts = path.split("/")
    return path.startswith(_BELOW_KERNELS) or parts[-1] == "kernels.py" or "kernels" in parts[:-1]


def _decides_results(path: str) -> bool:
    return path.startswith(_RESULTS)


@functools.cache
def kernels_digest(package: pathlib.Path) -> str | None:
    """Return a digest of all text that a kernel can reach.

    The result is None if some text changed after this process began: imported modules may be older.
    """
    return digest_of(package, holds_kernels)


def results_digest(package: pathlib.Path) -> str:
    """Return a digest of all text that results can depend on.

    If some text changed after this process began, no other process has the same digest.
    """
    return digest_of(package, _decides_results) or _NOBODY_ELSES


@functools.cache
def digest_of(package: pathlib.Path, counts: Callable[[str], bool]) -> str | None:
    """Return a digest of the modules whose paths count; None if one changed since the start."""
    digest = hashlib.sha256()
    for path in sorted(_modules(package)):
        if not counts(path):
            continue
        with open(package / path, "rb") as file:
            status, text = os.fstat(file.fileno()), file.read()
        if package == PACKAGE and max(status.st_mtime_ns, status.st_ctime_ns) >= _BEGAN:
            return None
        digest.update(path.encode() + b"\0" + hashlib.sha256(text).digest())
    return digest.hexdigest()[:24]


def _modules(package: pathlib.Path) -> Iterator[str]:
    """Walk over the path of every module within the package."""
    for folder, folders, files in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        inside = pathlib.Path(folder).relative_to(package)
        yield from ((inside / name).as_posix() for name in files if name.endswith(".py"))


def is_of_package(thing: Any) -> bool:
    """Tell whether a function or a class is defined in a module of this package."""
    module = sys.modules.get(thing.__module__)
    file = getattr(module, "__file__", None)
    return file is not None and pathlib.Path(file).is_relative_to(PACKAGE)
