"""Parties whose role says that it is not compiled call nothing compiled: they never load Numba."""

from __future__ import annotations

import sys

import pytest

import fedbandits as fb
from fedbandits._compile.lazy import LightKernel
from fedbandits.environments import Linear, Procurement
from tests.kernel_calls import noting_kernels

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


@pytest.mark.parametrize("preset", PLAYED)
def test_a_role_that_is_not_compiled_calls_nothing_compiled(preset):
    run = fb.parties.federate(fb.system(preset).config, PLAYED[preset], 80, 0, 0)
    roles = [role for role in run.system.roles(run.plan).roles if not role.is_compiled]
    kinds = {type(run.network.parties[name]) for role in roles for name in role.parties}
    assert [role.name for role in roles] == ["controller", "helper"]
    files = {sys.modules[kind.__module__].__file__ for kind in kinds}
    noted = set()
    with noting_kernels(lambda _: noted.add(_caller(files)), besides=LightKernel):
        run.advance(80)
    assert run.syncs > 0
    assert noted == {"elsewhere"}  # agents compute
