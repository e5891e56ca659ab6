from __future__ import annotations

import math
import sys
import textwrap

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


def test_digest_covers_what_a_module_imports_at_any_depth():
    closure = _compile._closure("fedbandits.systems.feducb.simulate")
    assert "fedbandits.random" in closure
    assert "fedbandits.learners.ridge" in closure
    assert not any(name.startswith("numpy") for name in closure)


def test_editing_a_helper_changes_the_cache_of_its_callers(tmp_path, monkeypatch):
    package = tmp_path / "fedbandits_probe"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("def f(): return 1\n")
    (package / "caller.py").write_text(
        textwrap.dedent("""
            from fedbandits_probe.helper import f
            def g(): return f()
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(_compile, "_PACKAGE", "fedbandits_probe")

    def digest():
        _compile._source_digest.cache_clear()
        _compile._imports.cache_clear()
        return _compile._source_digest("fedbandits_probe.caller")

    try:
        before = digest()
        assert digest() == before
        (package / "helper.py").write_text("def f(): return 2\n")
        assert digest() != before
    finally:
        _compile._source_digest.cache_clear()
        _compile._imports.cache_clear()
        for name in [n for n in sys.modules if n.startswith("fedbandits_probe")]:
            del sys.modules[name]


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
