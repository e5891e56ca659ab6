"""Pages of the API: every public name once, on the page where a reader looks for it."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import re
from typing import Any, NamedTuple

from markdown import plain, table
from public_names import public_names
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError


class Section(NamedTuple):
    """A heading of a page, and what stands below it.

    Parameters
    ----------
    title
        The heading; empty for none.
    module
        Where users find the names.
    names
        Which names; all that the module offers if there are none.
    """

    title: str
    module: str
    names: tuple[str, ...] = ()


_RUN = ("Experiment", "Variant", "system", "load", "run", "audit", "Stop")
_STORED = (
    "find_runs", "StoredRun", "compare_runs", "RunComparison", "SettingDifference",
    "SystemDifference",
)  # fmt: skip
#: Pages in the order in which a name is looked for: it stands on the first that offers it.
PAGES: dict[str, tuple[Section, ...]] = {
    "errors": (Section("", "fedbandits.errors"),),
    "experiments": (
        Section("", "fedbandits", _RUN),
        Section("Does it pay?", "fedbandits", ("answer", "advise", "with_alone", "with_opponents")),
        Section("Sweeps", "fedbandits", ("sweep",)),
        Section("Results", "fedbandits.experiments.result"),
        Section("Runs in folders", "fedbandits.experiments.folder", _STORED),
    ),
    "plot": (Section("", "fedbandits.plot"),),
    "offline": (Section("", "fedbandits.offline"),),
    "environments": (
        Section("", "fedbandits.environments"),
        Section("For an environment of your own", "fedbandits.environments.base"),
        Section("In plain Python", "fedbandits.environments.python"),
        Section("Public facts", "fedbandits.facts"),
    ),
    "learners": (
        Section("", "fedbandits", ("Learner", "PrivateLearner", "register")),
        Section("From scikit-learn", "fedbandits.learners"),
    ),
    "systems": (
        Section("", "fedbandits.systems"),
        Section("What a simulation of parties measures", "fedbandits.systems.base"),
        Section("Guides to runs step by step", "fedbandits.systems.guide"),
        Section("Models that leave a federation", "fedbandits", ("load_model",)),
    ),
    "privacy": (
        Section("Claims", "fedbandits.privacy.claims"),
        Section("Accounting", "fedbandits.privacy.accounting"),
        Section("Gaussian differential privacy", "fedbandits.privacy.gaussian"),
        Section("Sums under continual observation", "fedbandits.privacy.continual"),
        Section("Running sums", "fedbandits.privacy.running_sum"),
        Section("Secure noise", "fedbandits.privacy.secure_noise"),
        Section("Auditing", "fedbandits.privacy.auditing"),
        Section("What an attacker sees", "fedbandits.privacy.attacks", ("Transcripts",)),
    ),
    "ledger": (Section("", "fedbandits.ledger"),),
    "parties": (
        Section("", "fedbandits.parties"),
        Section("Runs step by step", "fedbandits.recording.recording"),
    ),
    "federation": (
        Section("What all agree on", "fedbandits.settings.federation"),
        Section("The keys of its file", "fedbandits.settings.federation_file"),
        Section("A party's folder", "fedbandits.deployment.process.folder"),
        Section("A party's own settings", "fedbandits.deployment.process.own_settings"),
        Section("A party's door", "fedbandits.deployment.door.settings"),
    ),
    "events": (Section("", "fedbandits.experiments.events"),),
    "client": (Section("", "fedbandits.client"),),
    "testing": (
        Section("Environments", "fedbandits.testing.environments"),
        Section("Learners", "fedbandits.testing.learners"),
        Section("Systems", "fedbandits.testing.systems"),
        Section("Applications", "fedbandits.testing.applications"),
    ),
}


#: Where structs are defined that are settings: they are found by the configurations they are in.
_SETTINGS = re.compile(
    r"fedbandits\.(systems\.\w+\.(config|declare)|systems\.aggregation|federation\.graphs)\b"
)


class Entry(NamedTuple):
    """A name on a page: where users find it, and what it is."""

    path: str
    thing: Any


def page(name: str) -> str:
    """The body of a page: for each section what its module says, a table, and every name."""
    parts: list[str] = []
    for section in PAGES[name]:
        entries = _entries(section)
        here = [entry for entry in entries if _homes()[id(entry.thing)] == (name, entry.path)]
        if section.title:
            parts.append(f"## {section.title}")
        if not section.names:
            parts.append(_rst(f".. automodule:: {section.module}"))
        parts.append(table(["name", "what it is"], map(_row, entries)))
        parts += [_rst(_directive(entry)) for entry in here]
    return "\n\n".join(parts)


def settings() -> str:
    """Structs that configurations are made of, and that stand on no other page."""
    parts: list[str] = []
    for module, entries in itertools.groupby(_left_over(), lambda entry: entry.thing.__module__):
        listed = list(entries)
        parts += [f"## {module}", table(["name", "what it is"], map(_row, listed))]
        parts += [_rst(_directive(entry)) for entry in listed]
    return "\n\n".join(parts)


def check_that_nothing_is_left_out(app: Sphinx, env: BuildEnvironment) -> None:
    """Every public name stands on a page."""
    known = {*_homes(), *(id(entry.thing) for entry in _left_over())}
    for path, thing in _tops():
        if id(thing) not in known and not path.startswith("fedbandits.presets."):
            raise ExtensionError(f"{path} is public, and on no page of docs/_ext/api_pages.py")


def _tops() -> list[Entry]:
    """Public classes and functions, without their members."""
    return [
        Entry(path, thing)
        for path, thing in public_names().items()
        if _is_shown(thing) and "." not in thing.__qualname__
    ]


def _left_over() -> list[Entry]:
    return [
        entry
        for entry in _tops()
        if id(entry.thing) not in _homes() and _SETTINGS.match(entry.path)
    ]


@functools.cache
def _homes() -> dict[int, tuple[str, str]]:
    """The page and the path of every name, by the identity of what it names."""
    found: dict[int, tuple[str, str]] = {}
    for name, sections in PAGES.items():
        for entry in itertools.chain.from_iterable(map(_entries, sections)):
            found.setdefault(id(entry.thing), (name, entry.path))
    return found


@functools.cache
def _entries(section: Section) -> list[Entry]:
    module = importlib.import_module(section.module)
    names = section.names or getattr(module, "__all__", None) or _own(module)
    entries = [Entry(f"{section.module}.{name}", getattr(module, name)) for name in names]
    return [entry for entry in entries if _is_shown(entry.thing)]


def _is_shown(thing: Any) -> bool:
    return inspect.isclass(thing) or (callable(thing) and hasattr(thing, "__qualname__"))


def _own(module: Any) -> list[str]:
    """What a module defines itself, in the order of its text."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def _row(entry: Entry) -> list[str]:
    name = entry.path.rpartition(".")[2]
    summary = (inspect.getdoc(entry.thing) or "").partition("\n")[0]
    return [f"{{py:obj}}`{name} <{entry.path}>`", plain(summary)]


def _directive(entry: Entry) -> str:
    if not inspect.isclass(entry.thing):
        return f".. autofunction:: {entry.path}"
    return f".. autoclass:: {entry.path}\n   :members:"


def _rst(text: str) -> str:
    return f"```{{eval-rst}}\n{text}\n```"
