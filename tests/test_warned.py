"""Warnings that are said once are not swallowed, and say what is so."""

from __future__ import annotations

import io
import pathlib
import re
import warnings

import pytest
from rich.console import Console

import fedbandits as fb
from fedbandits._compile import cache
from fedbandits.environments.linear import Linear
from fedbandits.errors import CacheWarning, ConfigWarning
from fedbandits.experiments import best_alone
from fedbandits.experiments.answers import advise
from fedbandits.experiments.events import Compiling
from fedbandits.experiments.progress import TerminalProgress
from fedbandits.settings.experiment import Experiment

SOURCE = pathlib.Path(fb.__file__).parent


def _experiment(**settings):
    return fb.Experiment(
        name="e",
        rounds=10,
        replicates=2,
        environment=Linear(agents=2, dim=2, arms=2),
        systems=(fb.system("feducb", **settings),),
    )


@pytest.mark.parametrize("mutes", [best_alone._judged_and_alone, advise.work])
def test_only_what_is_said_again_is_muted(mutes, monkeypatch):
    checked = Experiment.check

    def warns(self):
        warnings.warn("said again by whoever runs it", ConfigWarning, stacklevel=1)
        warnings.warn("said once in a process", CacheWarning, stacklevel=1)
        return checked(self)

    monkeypatch.setattr(Experiment, "check", warns)
    with pytest.warns(CacheWarning, match="once") as told:
        mutes(_experiment())
    assert not [one for one in told if issubclass(one.category, ConfigWarning)]


def test_nothing_mutes_everything():
    """But for what others say of retries, which is told in other words."""
    bare = re.compile(r"simplefilter\(\"ignore\"\)")
    found = [p.name for p in SOURCE.rglob("*.py") if bare.search(p.read_text(encoding="utf-8"))]
    assert found == ["classification.py"]


@pytest.mark.parametrize(("kept", "said"), [(True, "it is kept, and"), (False, "it is not kept")])
def test_whether_compiled_code_is_kept_is_told_as_it_is(kept, said, monkeypatch):
    monkeypatch.setattr(cache, "are_kept", lambda: kept)
    text = io.StringIO()
    with TerminalProgress(Console(file=text, width=200)) as progress:
        progress._begin("rounds")
        progress._tasks = {"a": progress._bars.add_task("a")}
        progress(Compiling(kernel="k", count=1))
    assert said in text.getvalue()


def test_a_disk_that_is_full_is_warned_of_once(tmp_path):
    (tmp_path / "file").touch()
    cache._warn.cache_clear()
    with pytest.warns(CacheWarning, match="cannot be written to"):
        cache._write(str(tmp_path / "file" / "kernel.nbc"), ())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache._write(str(tmp_path / "file" / "kernel.nbc"), ())
    cache._warn.cache_clear()


@pytest.mark.parametrize(("delta", "warned"), [(0.5, True), (0.1, False), (1e-5, False)])
def test_a_large_delta_is_cautioned_against(delta, warned):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _experiment(epsilon=1.0, delta=delta).check()
    assert any("delta: given 0.5" in str(one.message) for one in told) is warned
