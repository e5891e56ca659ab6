"""A worker of a cluster: it checks that its program is the same, then plays one replicate.

What travels to it is text and numbers, see :class:`Order`; what travels back is a
:class:`~fedbandits.experiments.trace.ReplicateTrace`. The worker builds the simulation itself.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import socket
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from fedbandits import _compile
from fedbandits._version import __version__
from fedbandits.errors import BackendError, DataError, FedbanditsError
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.replicate import Shared, compile_kernels, play_replicate
from fedbandits.experiments.signals import Leaving, Stop, Stream
from fedbandits.experiments.trace import ReplicateTrace, Task
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.modules import Module, write_modules

#: In the folder of checkpoints: who reads the right text there shares the client's file system.
TOKEN = "token"  # noqa: S105 (no secret)
#: What else the bits of a result depend on.
_PACKAGES = ("numpy", "numba", "scipy")
#: Keys whose text is a name, never a file.
_NAMING = ("name", "label", "preset", "kind", "module", "module_digests")


class DataFile(msgspec.Struct, frozen=True):
    """A file that the experiment reads, which a worker must find with the same content."""

    keys: tuple[str | int, ...]  # where the configuration names it
    path: str
    digest: str


class Order(msgspec.Struct, frozen=True):
    """The common part of a run's replicates, as it travels."""

    identity: dict[str, str]  # what the client is, see :func:`identity`; a worker must be the same
    config: str  # the resolved configuration, as TOML
    files: tuple[DataFile, ...]  # data files that the configuration names
    #: The client's output folder, and what the :data:`TOKEN` file beside it says; empty if there is
    #: none.
    out: str
    token: str
    save_every: float  # seconds between two checkpoints of a replicate
    modules: tuple[Module, ...] = ()  # code that the configuration names


def identity() -> dict[str, str]:
    """Return all that must be equal on two machines for equal results."""
    versions = {name: version(name) for name in _PACKAGES}
    kernels = _compile.results_digest(_compile.PACKAGE)
    return {"fedbandits": __version__, "kernels": kernels} | versions


def refuse_stranger(where: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Refuse a worker that would play something else, and say in a BackendError what differs."""
    differing = [key for key in ours if theirs.get(key) != ours[key]]
    if differing:
        listed = ", ".join(f"{key} {theirs.get(key)} instead of {ours[key]}" for key in differing)
        raise BackendError(
            f"{where} has {listed}; install the same versions there and restart the workers"
        )


def data_files(experiment: Experiment) -> tuple[DataFile, ...]:
    """Find the files that a configuration names, told from other words by a dot or a slash."""
    return tuple(
        DataFile(keys, str(pathlib.Path(text).resolve()), _digest(text))
        for keys, text in _texts(experiment.to_table(), ())
        if ("/" in text or "." in text or os.sep in text) and os.path.isfile(text)
    )


def _texts(node: Any, keys: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(node, str):
        yield keys, node
    elif isinstance(node, dict | list):
        for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
            if key not in _NAMING:
                yield from _texts(inner, (*keys, key))


def _digest(path: str) -> str:
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def play(
    order: Mapping[str, Any], system: int, replicate: int, stop: Stop | None = None
) -> ReplicateTrace | None:
    """Play one replicate of an :class:`Order`, given as plain values.

    Returns None if ``stop`` became true before its end. Errors are of the kind that the same
    failure has at home, and begin with the name of this machine.
    """
    where = f"the worker on {socket.gethostname()}"
    refuse_stranger(where, identity(), order["identity"])
    given = msgspec.convert(order, Order)
    try:
        asked, played = _prepare(given.config, given.files, given.modules)
        folder = _shared_folder(given, asked)
        shared = Shared(played, Stream(), Leaving(stop), folder, given.save_every)
        return play_replicate(shared, Task(system, replicate))
    except FedbanditsError as error:
        raise type(error)(f"{where}: {error}") from None


@functools.lru_cache(maxsize=1)  # a process knows one module of a name
def _prepare(
    config: str, files: tuple[DataFile, ...], modules: tuple[Module, ...]
) -> tuple[Experiment, Experiment]:
    """Return the experiment as asked for, and as played here: data loaded, kernels compiled."""
    table = tomllib.loads(config)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fedbandits-modules-") if modules else ".")
    write_modules(modules, folder)  # it stays as long as the process: code may be compiled later
    asked = Experiment.from_table(table, folder)
    for file in files:
        _refuse_other_data(file)
        holder: Any = table
        for key in file.keys[:-1]:
            holder = holder[key]
        holder[file.keys[-1]] = file.path  # relative paths mean something else in other folders
    played = Experiment.from_table(table, modules=modules)
    played.check()
    compile_kernels(Shared(played, Stream(), Leaving(), None, 0.0))
    return asked, played


#: Environments keep what they have read for as long as the process lives.
_read: dict[str, str] = {}


def _refuse_other_data(file: DataFile) -> None:
    try:
        found = _digest(file.path)
    except OSError as error:
        raise DataError(
            f"{file.path}: cannot be read ({error.strerror}); put it there under the same path"
        ) from None
    if found != file.digest:
        raise DataError(f"{file.path}: another content than at home")
    if _read.setdefault(file.path, found) != found:
        raise DataError(f"{file.path}: has changed since it was read; restart the workers")


def _shared_folder(order: Order, experiment: Experiment) -> CheckpointFolder | None:
    """Find the folder to save in, if this machine sees the client's checkpoints."""
    if not order.out:
        return None
    folder = CheckpointFolder(pathlib.Path(order.out), experiment)
    try:
        seen = (folder.path / TOKEN).read_text(encoding="utf-8") == order.token
    except OSError:
        return None
    return folder if seen and os.access(folder.path, os.W_OK) else None
