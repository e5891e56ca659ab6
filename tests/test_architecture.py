"""Imports point one way."""

from __future__ import annotations

import ast
import pathlib

import fedbandits

ROOT = pathlib.Path(fedbandits.__file__).parent
#: A room may import from rooms at its own level or below.
LEVELS = {
    "errors": 0, "_typing": 0, "_compile": 0, "random": 1, "environments": 2, "learners": 2,
    "privacy": 2, "crypto": 2, "federation": 3, "systems": 4, "experiments": 5, "console": 6,
    "cli": 6,
}  # fmt: skip


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "cli"


def test_no_room_imports_from_one_above_it():
    broken = []
    for path in ROOT.rglob("*.py"):
        here = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if here in ("__init__", "__main__"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fedbandits."):
                there = room(str(node.module))
                if LEVELS[there] > LEVELS[here]:
                    broken.append(f"{path.relative_to(ROOT)} imports {node.module}")
    assert not broken


def test_modules_stay_readable():
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in ROOT.rglob("*.py")}
    assert {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > 330} == {}


def test_no_global_random_generator_is_used():
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "np.random" not in text, path
        assert "import random" not in text, path
