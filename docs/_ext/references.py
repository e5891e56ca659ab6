"""Links from docstrings: a reference must name something that exists; what is public is a link.

Docstrings name things as their own modules know them; pages show them where users find them, as
``fedbandits.environments.Linear``. So a reference is looked up by import, as Python would, and then
linked to the page on which the same object stands.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from typing import Any

import msgspec
import xarray
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from fedbandits.experiments import events

PACKAGE = "fedbandits"
_MISSING = object()


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("doctree-read", be_exact)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", keep_first_line, priority=400)
    app.connect("autodoc-process-docstring", keep_bars, priority=400)
    app.connect("autodoc-process-signature", shorten)
    events.xr = xarray  # a name that only types need, and that events do not wait for
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def keep_first_line(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Properties begin with a sentence; napoleon takes what is before a colon for a type."""
    if what in ("property", "attribute", "data"):
        lines.insert(0, "")


def be_exact(app: Sphinx, doctree: nodes.document) -> None:
    """A name means what it means where it stands, and not the same name anywhere else."""
    for node in doctree.findall(addnodes.pending_xref):
        if node.get("refdomain") == "py":
            node.attributes.pop("refspecific", None)


def keep_bars(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """``|y|`` is an absolute value here, and never a substitution."""
    for number, line in enumerate(lines):
        pieces = line.split("``")
        pieces[::2] = [piece.replace("|", "\\|") for piece in pieces[::2]]
        lines[number] = "``".join(pieces)


def shorten(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, given: str, result: str
) -> tuple[str, str] | None:
    """Structs show names and defaults; types and limits are in the tables of their keys."""
    if not (inspect.isclass(thing) and issubclass(thing, msgspec.Struct)):
        return None
    shown = []
    for field in msgspec.structs.fields(thing):
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        shown.append(field.name if default is msgspec.NODEFAULT else f"{field.name}={default!r}")
    return f"({', '.join(shown)})", ""


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, text: nodes.Node
) -> nodes.Node | None:
    """Where a reference leads that Sphinx itself does not find; None stops a strict build."""
    if node.get("refdomain") != "py":
        return None
    found = _lookup(node)
    if found is _MISSING:
        # A type of another library, or an alias of a type, is shown as it is written.
        return text if _is_annotation(node) else None
    place = _places(env).get(id(found))
    if place is None:
        return text
    name, docname, anchor = place
    made = app.builder.get_relative_uri(node["refdoc"], docname)
    link = nodes.reference("", "", internal=True, refuri=f"{made}#{anchor}", reftitle=name)
    link += text
    return link


def _is_annotation(node: nodes.Node) -> bool:
    above: nodes.Node | None = node
    while above is not None:
        if isinstance(above, addnodes.desc_signature | nodes.field_name):
            return True
        above = above.parent
    # Types of parameters and results stand in emphasis, and not in code.
    return not isinstance(node.children[0] if node.children else None, nodes.literal)


def _lookup(node: addnodes.pending_xref) -> Any:
    target = node["reftarget"].lstrip(".").removesuffix("()")
    kind, module = node.get("py:class"), node.get("py:module")
    for start in _contexts(module, kind):
        found = functools.reduce(_member, target.split("."), start)
        if found is not _MISSING:
            return found
    return _anywhere(target)


def _contexts(module: str | None, kind: str | None) -> list[Any]:
    """Where a name is looked for: in its class, in the modules that define it, in its module."""
    if not module:
        return []
    shown = importlib.import_module(module)
    found = [shown]
    if kind:
        owner = functools.reduce(_member, kind.split("."), shown)
        above = getattr(owner, "__mro__", ())
        found = [owner, *(sys.modules[base.__module__] for base in above), shown]
    return found


def _member(owner: Any, name: str) -> Any:
    found = getattr(owner, name, _MISSING)
    if found is _MISSING and any(
        name in vars(base).get("__annotations__", ()) for base in getattr(owner, "__mro__", ())
    ):
        return (owner, name)  # an attribute that instances have
    return found


def _anywhere(target: str) -> Any:
    """A module of the package, or a name in one, whose path ends so."""
    if target.startswith(PACKAGE):
        try:
            return importlib.import_module(target)
        except ModuleNotFoundError:
            pass
    first, _, rest = target.partition(".")
    for path, module in sorted(sys.modules.items()):
        if not path.startswith(PACKAGE) or module is None:
            continue
        if path == target or path.endswith(f".{target}"):
            return module
        if path == first or path.endswith(f".{first}"):
            found = functools.reduce(_member, rest.split("."), module) if rest else module
        else:
            found = functools.reduce(_member, target.split("."), _own(module, first))
        if found is not _MISSING:
            return found
    return _by_path(target)


def _own(module: Any, name: str) -> Any:
    """The module, if it defines that name itself."""
    thing = vars(module).get(name)
    return module if getattr(thing, "__module__", None) == module.__name__ else None


def _by_path(target: str) -> Any:
    path, _, name = target.rpartition(".")
    if not path.startswith(PACKAGE):
        return _MISSING
    try:
        return _member(importlib.import_module(path), name)
    except ModuleNotFoundError:
        return _MISSING


@functools.cache
def _places(env: BuildEnvironment) -> dict[int, tuple[str, str, str]]:
    """Where each object stands that pages show, by its identity."""
    known: dict[int, tuple[str, str, str]] = {}
    for name, entry in env.domains["py"].objects.items():
        thing = _shown(name)
        if thing is not None:
            known.setdefault(id(thing), (name, entry.docname, entry.node_id))
    return known


#: Objects are told apart by identity, so they stay alive.
_KEPT: list[Any] = []


def _shown(name: str) -> Any:
    steps = name.split(".")
    for count in range(len(steps), 0, -1):
        try:
            start = importlib.import_module(".".join(steps[:count]))
        except ModuleNotFoundError:
            continue
        found = functools.reduce(_member, steps[count:], start)
        if found is _MISSING:
            return None
        _KEPT.append(found)
        return found
    return None
