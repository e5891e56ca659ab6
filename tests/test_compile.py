from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys

import numba
import pytest

from fedbandits import _compile
from fedbandits._compile import compiled, fma

A = 1.0 + 2.0**-30


@numba.njit
def fused(a, b, c):
    return fma(a, b, c)


def test_fma_rounds_once():
    # A·A - 1 exactly is 2^-29 + 2^-60; rounding the product first loses the last term.
    assert fused(A, A, -1.0) == 2.0**-29 + 2.0**-60
    assert A * A - 1.0 == 2.0**-29


@pytest.fixture
def package(tmp_path):
    """A copy of the package's sources."""
    copy = tmp_path / "fedbandits"
    shutil.copytree(_compile.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.mark.parametrize(
    ("module", "matters"),
    [
        ("learners/ridge.py", True),
        ("environments/linear.py", True),  # reached by the type of the world, not by an import
        ("environments/classification.py", True),
        ("systems/feducb/loop.py", True),
        ("experiments/report.py", False),
    ],
)
def test_editing_any_kernel_starts_a_new_cache(package, module, matters):
    before = _compile.kernels_digest(package)
    with (package / module).open("a", encoding="utf-8") as file:
        file.write("# an edit\n")
    _compile.kernels_digest.cache_clear()
    assert (_compile.kernels_digest(package) != before) is matters


def test_every_module_with_a_kernel_is_in_the_digest():
    for path in _compile.PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        uses = re.search(r"^@(compiled|inlined|implements)\b", text, re.MULTILINE)
        assert not uses or "_compile import" in text or "@implements" in text, path


def test_kernels_divide_by_zero_quietly():
    @compiled
    def divide(a, b):
        return a / b

    assert divide(1.0, 0.0) == math.inf


def test_decorating_leaves_numbas_settings_alone():
    before = _compile.numba_config.CACHE_DIR

    @compiled
    def nothing():
        return 0

    assert before == _compile.numba_config.CACHE_DIR
    assert nothing() == pytest.approx(0)


SCRIPT = """
import sys
from typing import NamedTuple
from fedbandits._compile import compiled
sys.path.insert(0, {folder!r})
import kernel
{setup}
print(kernel.first(mine))
"""


def test_a_type_that_is_gone_does_not_spoil_the_cache(tmp_path):
    """A named tuple of one script must not keep the next one from running."""
    (tmp_path / "kernel.py").write_text(
        "from fedbandits._compile import compiled\n\n\n"
        "@compiled\ndef first(pair):\n    return pair[0]\n",
        encoding="utf-8",
    )
    (tmp_path / "gone.py").write_text(
        "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    a: int\n",
        encoding="utf-8",
    )
    own = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for setup in ("import gone; mine = gone.Pair(7)", "mine = (7,)"):
        script = SCRIPT.format(folder=str(tmp_path), setup=setup)
        done = subprocess.run(
            [sys.executable, "-c", script], env=own, check=True, capture_output=True, text=True
        )
        assert done.stdout.strip() == "7"
        (tmp_path / "gone.py").unlink(missing_ok=True)
    assert any((tmp_path / "cache").rglob("*.nbi"))
