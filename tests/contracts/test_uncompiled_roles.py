"""Parties whose role says that it is not compiled call nothing compiled: they never load Numba."""

from __future__ import annotations

import contextlib
import sys

import pytest

import fedbandits as fb
from fedbandits._compile.lazy import Kernel, LightKernel
from fedbandits.environments import Linear, Procurement

PLAYED = {
    "feducb-secure": Linear(agents=4, dim=3, arms=5),
    "feducb-secure-hybrid": Linear(agents=4, dim=3, arms=5),
    "pfcb-secure": Procurement(),
}


def _caller(files):
    """The file among some that is nearest on the stack; "elsewhere" if none of them is there."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename in files:
            return frame.f_code.co_filename
        frame = frame.f_back
    return "elsewhere"


@contextlib.contextmanager
def calls_noted(files, noted):
    """Note from which of some files compiled functions are called, or by what these call."""
    loaded = [module for name, module in sys.modules.items() if name.startswith("fedbandits")]
    kernels = {
        each for module in loaded for each in vars(module).values()
        if isinstance(each, Kernel) and not isinstance(each, LightKernel)
    }  # fmt: skip
    before = {kernel: kernel._load() for kernel in kernels}

    def noting(kernel, call):
        def note(*arguments, **named):
            noted.add(_caller(files))
            return call(*arguments, **named)

        return note

    for kernel, call in before.items():
        kernel.__call__ = noting(kernel, call)
    try:
        yield
    finally:
        for kernel, call in before.items():
            kernel.__call__ = call


@pytest.mark.parametrize("preset", PLAYED)
def test_a_role_that_is_not_compiled_calls_nothing_compiled(preset):
    run = fb.parties.federate(fb.system(preset).config, PLAYED[preset], 80, 0, 0)
    roles = [role for role in run.system.roles(run.plan).roles if not role.is_compiled]
    kinds = {type(run.network.parties[name]) for role in roles for name in role.parties}
    assert [role.name for role in roles] == ["controller", "helper"]
    files = {sys.modules[kind.__module__].__file__ for kind in kinds}
    noted = set()
    with calls_noted(files, noted):
        run.advance(80)
    assert run.syncs > 0
    assert noted == {"elsewhere"}  # agents compute
