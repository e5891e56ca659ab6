"""Imports point one way, and compiled code has a home."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import networkx as nx
import pytest

import fedbandits
from fedbandits._compile.sources import holds_kernels
from fedbandits.systems.registry import BUILT_IN

ROOT = pathlib.Path(fedbandits.__file__).parent
#: A room may import from rooms at its own level or below.
LEVELS = {
    "errors": 0, "client": 1, "_typing": 0, "_compile": 0, "_suggest": 0, "_html": 0,
    "_schema": 0, "_checked": 0, "_lazy": 0, "_version": 0,
    "random": 1, "draws": 1, "rows": 1, "facts": 1,
    "offline": 2, "learners": 2, "privacy": 2, "crypto": 2, "environments": 3, "ledger": 3,
    "federation": 4, "systems": 5,
    "settings": 6,
    "presets": 7, "recording": 7, "experiments": 7, "deployment": 7, "testing": 8, "parties": 8,
    "plot": 8,
    "reproduce": 9, "studio": 9, "cli": 10,
}  # fmt: skip


def modules() -> dict[str, pathlib.Path]:
    """Every module of this package, by its name below the package; the package itself is empty."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported_modules(path: pathlib.Path, known: dict[str, pathlib.Path]) -> Iterator[str]:
    """Modules of this package that a module imports, for types too: submodules where named."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            root, _, inner = name.partition(".")
            if root == "fedbandits":
                yield inner if inner in known else inner.rpartition(".")[0]


def imports(path: pathlib.Path) -> list[str]:
    """Modules of this package that a module imports, also inside functions."""
    return [
        str(node.module)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fedbandits")
    ]


def test_no_room_imports_from_one_above_it():
    broken = []
    for path in ROOT.rglob("*.py"):
        here = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if here in ("__init__", "__main__"):
            continue
        for module in imports(path):
            there = module.split(".")[1] if "." in module else "__init__"
            if there != "__init__" and LEVELS[there] > LEVELS[here]:
                broken.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not broken


def test_imports_make_no_circles():
    """Imports for types and imports inside functions count: each would be there to dodge one."""
    known = modules()
    graph = nx.DiGraph(
        (name, other) for name, path in known.items() for other in imported_modules(path, known)
    )
    circles = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert circles == []


def test_compiled_code_has_a_home():
    """So a digest of these files covers all that a kernel can reach; see ``_compile.sources``."""
    known, makers = modules(), {"compiled", "inlined", "allocation_free", "Kernel"}
    below = {"_typing", "random", "draws"}
    broken = []
    for name, path in known.items():
        here = path.relative_to(ROOT).as_posix()
        if here.startswith("_compile/"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {
            each.name for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "fedbandits._compile"
            for each in node.names
        }  # fmt: skip
        if used & makers and not holds_kernels(here):
            broken.append(f"{here} makes kernels")
        if holds_kernels(here) and name not in below:
            others = imported_modules(path, known)
            outside = {
                other for other in others
                if not holds_kernels(known[other].relative_to(ROOT).as_posix())
            }  # fmt: skip
            broken += [f"{here} imports {other}" for other in sorted(outside)]
    assert broken == []


def test_nothing_imports_the_package_itself():
    """It offers names of all rooms, so it lies above them."""
    known = modules()
    assert [name for name, path in known.items() if "" in imported_modules(path, known)] == []


def test_no_system_imports_from_another():
    """What several share is not a system: it lies beside them."""
    broken = []
    for system in BUILT_IN:
        for path in (ROOT / "systems" / system).rglob("*.py"):
            others = {
                module
                for module in imports(path)
                if module.split(".")[1:2] == ["systems"] and module.split(".")[2:3] != [system]
            }
            broken += [
                f"{path.relative_to(ROOT)} imports {module}"
                for module in others
                if (module.split(".")[2:3] or [""])[0] in BUILT_IN
            ]
    assert not broken


@pytest.mark.parametrize("system", BUILT_IN)
def test_no_room_is_only_an_import(system):
    """A system names rooms that it shares with others: see ``PackageSystem.SHARED_ROOMS``."""
    for path in (ROOT / "systems" / system).rglob("*.py"):
        if path.name != "__init__.py":
            defined = ast.parse(path.read_text(encoding="utf-8")).body
            assert any(
                isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AnnAssign) for node in defined
            ), path


def test_every_folder_of_systems_is_registered():
    """Or is one that systems share."""
    folders = {path.parent.name for path in (ROOT / "systems").glob("*/__init__.py")}
    assert folders - {"agents", "servers", "python_learners", "sums_audit"} == set(BUILT_IN)


def test_no_global_random_generator_is_used():
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "np.random" not in text, path
        assert "import random" not in text, path


def test_tests_have_the_same_order_in_every_process():
    """A set has another order in each: processes that share tests would collect other ones."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in pathlib.Path(__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parametrize")
        for argument in node.args[1:2]
        if _has_open_set(argument)
    ]
    assert found == []


def _has_open_set(node: ast.AST) -> bool:
    """Tell whether values come in the order that a set happens to have."""
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call():
            return ast.unparse(node.func) in ("set", "frozenset", "list", "tuple") and (
                ast.unparse(node.func).endswith("set") or any(map(_has_open_set, node.args))
            )
        case ast.BinOp():
            return _has_open_set(node.left) or _has_open_set(node.right)
        case ast.List() | ast.Tuple():
            return any(_has_open_set(e.value) for e in node.elts if isinstance(e, ast.Starred))
        case ast.ListComp() | ast.GeneratorExp():
            return any(_has_open_set(each.iter) for each in node.generators)
    return False
