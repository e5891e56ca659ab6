"""Settings for all tests: fixed seeds, no clocks; and which tests one worker plays.

With ``pytest -n`` tests are dealt out group by group. A group is a file, or all tests that need
the same large kernels: two workers that need a kernel at once would both compile it. Groups begin
in the order of ``FIRST``, longest first, so that no worker is left with a long one at the end;
whatever follows finds most of its kernels compiled.
"""

from __future__ import annotations

import functools
import gc
import os
import pathlib
import shutil
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from fedbandits.privacy import sensitivity_check
from fedbandits.systems import find_preset, preset_names
from tests.sized import FEW_PAIRS

#: Folders of tests lie in memory where there is room: ledgers and stores wait for disks, and what
#: they must survive here is that processes die.
MEMORY, ROOM = pathlib.Path("/dev/shm"), 4 * 2**30  # noqa: S108
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

#: Python looks for garbage after so many new objects, and not after 700: a twelfth of the time that
#: tests take. What is left lying meanwhile is small.
YOUNG, MIDDLE, OLD = 20_000, 20, 20
gc.set_threshold(YOUNG, MIDDLE, OLD)

#: Commands are made of functions once, and not for every call: that takes longer than most calls.
_MADE_ONCE: Any = functools.lru_cache(8)(typer.main.get_command)
typer.main.get_command = typer.testing._get_command = _MADE_ONCE  # type: ignore[attr-defined]

settings.register_profile(
    "fedbandits",
    derandomize=True,  # the same examples on every machine
    deadline=None,  # the first call of a kernel may compile it
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fedbandits")

#: Files whose tests need the kernels of one system. One that needs those of two comes after both.
KERNELS = {
    "test_peer_drivers": "feducb_p2p",
    "test_peers": "feducb_p2p",
    "test_async_drivers": "fedlinucb_async",
    "test_fedlinucb_async": "fedlinucb_async",
    "test_async_misbehaviour": "fedlinucb_async",
    "test_drivers": "feducb",
    "test_feducb_simulation": "feducb",
    "test_ratings": "feducb",
    "test_fclub_published_drivers": "fclub",
    "test_fclub_published_simulation": "fclub",
    "test_fclub_drivers": "fclub",
    "test_fclub": "fclub",
    "test_pfcb_drivers": "pfcb",
    "test_pfcb_simulation": "pfcb",
    "test_samba": "samba",
}
#: Those of a variant in ``test_deployed_noise.py``, by the first word of its name.
PARTIES = {"agents": "feducb", "peers": "feducb_p2p", "buyers": "pfcb", "servers": "fclub"}
#: The peers' kernels and FedUCB's share much, so these two do not begin side by side. What else
#: needs FedUCB's begins two groups later: beside that group it would compile them too.
FIRST = (
    "feducb_p2p", "fclub", "feducb", "pfcb", "samba", "test_persons", "test_late_joiners",
    "test_mutants", "fedlinucb_async", "test_ledger_kills", "test_unobserved", "test_examples",
    "test_fclub_figures", "test_clusters", "test_resume", "test_samba_silent", "test_cli",
    "test_commands", "test_docs", "test_door_contract", "test_samba_security", "test_audit",
    "test_procurement",
)  # fmt: skip


#: Modules that make the pictures of a run and of a sweep.
PICTURES = ("fedbandits.experiments.plots", "fedbandits.experiments.plots.swept")


@functools.cache
def drawn(picture: Callable[..., Any], look: Any) -> Any:
    """An image of nothing."""
    return picture(lambda axes: axes, look)


def sketch(picture: Callable[..., Any], draw: Callable[..., Any], look: Any) -> Any:
    """Draw on axes, and return an image of nothing: to make one takes a third of a second."""
    draw(sys.modules["fedbandits.experiments.plots.style"].Figure().add_subplot())
    return drawn(picture, look)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Pictures are made in full only where a test says that it looks at them."""
    loaded = [sys.modules[name] for name in PICTURES if name in sys.modules]
    for module in loaded:
        full = sys.modules["fedbandits.experiments.plots.style"].picture
        whole = item.get_closest_marker("pictures") is not None
        module.picture = full if whole else functools.partial(sketch, full)


def pytest_collection_finish() -> None:
    """Nobody looks for garbage in a million objects of imported modules and collected tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit replaces half as many records at least as it does elsewhere."""
    monkeypatch.setattr(sensitivity_check, "_LEAST", FEW_PAIRS)


@functools.cache
def group_of(nodeid: str) -> str:
    """The group that a test is played in, from its name: all that who deals them out knows."""
    file = pathlib.PurePosixPath(nodeid.partition("::")[0]).stem
    parameters = nodeid.partition("[")[2].rstrip("]")
    if file == "test_systems" and parameters:
        presets = [name for name in preset_names() if parameters.startswith(f"{name}-")]
        return find_preset(max(presets, key=len)).name.removesuffix("_published")
    if file == "test_deployed_noise":
        return PARTIES.get(parameters.lstrip("01-").partition(",")[0], file)
    return KERNELS.get(file, file)


class GroupScheduling(LoadScopeScheduling):
    """Gives one worker after another a whole group."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> GroupScheduling:
    return GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {group: number for number, group in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(group_of(item.nodeid), len(place)))
