from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr

import fedbandits as fb
from fedbandits import _compile
from fedbandits.environments import Linear
from fedbandits.errors import CheckpointError, ConfigError, ResumeWarning
from fedbandits.experiments.events import ReplicateFinished, RunFinished, RunStarted
from fedbandits.experiments.signals import ended_by_ctrl_c
from tests.experiments import killed
from tests.experiments.test_run import CtrlC
from tests.privacy.ledgers import forks, in_child

SYSTEMS = (
    fb.system("feducb", delta=0.1), fb.system("feducb-published"), fb.system("linucb-alone"),
)  # fmt: skip
MEASURED = ("regret", "reward", "messages", "bytes", "syncs", "epsilon")


def experiment(**changes):
    settings = {
        "name": "long", "rounds": 500, "replicates": 2, "checkpoints": 12,
        "environment": Linear(agents=2, dim=3, arms=4), "systems": SYSTEMS,
    }  # fmt: skip
    return fb.Experiment(**settings | changes)


def assert_same(one, two):
    for name in MEASURED:
        np.testing.assert_array_equal(one[name], two[name])


def outcome_of(config, out, events, afresh):
    """Exit status of a process that plays and kills itself, negative for a signal.

    Most are forks of this one, which has compiled and imported everything, but knows nothing of
    the run; some start afresh, as after a crash.
    """
    if afresh:
        command = [sys.executable, "-m", "tests.experiments.killed", config, out, str(events)]
        return subprocess.run(command, check=False).returncode
    child = in_child(lambda: killed.play(config, out, events))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@forks
def test_killed_anywhere_a_run_resumes_to_the_same_bits(tmp_path):
    """SIGKILL at twenty-odd random events, one after another, in a single long run."""
    undisturbed = fb.run(experiment())
    config, out = tmp_path / "long.toml", tmp_path / "out"
    config.write_text(experiment().to_toml())
    rng = np.random.default_rng(0)
    kills = 0
    while True:
        status = outcome_of(config, out, int(rng.integers(7, 22)), afresh=kills % 10 == 0)
        if status == 0:
            break
        assert status == -signal.SIGKILL
        kills += 1
        assert kills < 60
    assert kills >= 20
    assert not (tmp_path / ".out.checkpoint").exists()
    with xr.open_dataset(out / "results.nc", engine="h5netcdf") as resumed:
        assert_same(undisturbed, resumed)


@pytest.mark.parametrize("after", [1, 150, 700, 1400, 2900])
def test_ctrl_c_and_resume_give_the_same_bits(tmp_path, after):
    out = tmp_path / "r"
    try:
        cut = fb.run(experiment(), out=out, jobs=1, on_event=CtrlC(after))
        assert cut.attrs["interrupted"] == 1
    except KeyboardInterrupt:
        assert not out.exists()
    assert (tmp_path / ".r.checkpoint").is_dir()
    resumed = fb.run(experiment(), out=out, resume=True)
    assert_same(fb.run(experiment()), resumed)
    assert not (tmp_path / ".r.checkpoint").exists()


def interrupted(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fb.run(experiment(), out=tmp_path / "r", jobs=1, on_event=CtrlC(100))
    return tmp_path / "r"


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path):
    out = interrupted(tmp_path)
    with pytest.raises(CheckpointError, match="another configuration"):
        fb.run(experiment(rounds=501), out=out, resume=True)
    assert not out.exists()


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    out = interrupted(tmp_path)
    monkeypatch.setattr(_compile, "results_digest", lambda _: "another")
    with pytest.raises(CheckpointError, match="another version"):
        fb.run(experiment(), out=out, resume=True)


@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_damaged_checkpoint_is_named(tmp_path, keep):
    out = interrupted(tmp_path)
    (file,) = (tmp_path / ".r.checkpoint").glob("*.checkpoint")
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match=r"0-0\.checkpoint: damaged"):
        fb.run(experiment(), out=out, resume=True)


def test_without_resume_a_run_begins_anew(tmp_path):
    out = interrupted(tmp_path)
    assert_same(fb.run(experiment(), out=out), fb.run(experiment()))


def test_resume_without_checkpoints_says_so_and_is_a_plain_run(tmp_path):
    with pytest.warns(ResumeWarning, match="nothing to resume.* starts from the beginning"):
        resumed = fb.run(experiment(), out=tmp_path / "r", resume=True)
    assert_same(resumed, fb.run(experiment()))


def test_a_complete_run_is_returned_and_not_played_again(tmp_path):
    whole, told = fb.run(experiment(), out=tmp_path / "r"), []
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "r").rglob("*")}
    with pytest.warns(ResumeWarning, match="complete run already; nothing is played"):
        again = fb.run(experiment(), out=tmp_path / "r", resume=True, on_event=told.append)
    xr.testing.assert_identical(again.drop_attrs(), whole.drop_attrs())
    assert again.attrs == whole.attrs
    assert [type(event) for event in told] == [RunStarted, RunFinished]
    assert len(told[0].finished) == told[0].total == told[1].total == 6
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "r").rglob("*")} == before


def test_a_complete_run_that_was_begun_anew_goes_on_where_that_stopped(tmp_path):
    whole = fb.run(experiment(), out=tmp_path / "r")
    with pytest.raises(KeyboardInterrupt):
        fb.run(experiment(), out=tmp_path / "r", jobs=1, on_event=CtrlC(100))
    told = []
    again = fb.run(experiment(), out=tmp_path / "r", resume=True, on_event=told.append)
    assert_same(again, whole)
    assert any(isinstance(event, ReplicateFinished) for event in told)


def test_a_damaged_run_is_nothing_to_resume(tmp_path):
    whole = fb.run(experiment(), out=tmp_path / "r")
    (tmp_path / "r" / "results.nc").write_bytes(b"damaged")
    with pytest.warns(ResumeWarning, match="nothing to resume"):
        assert_same(fb.run(experiment(), out=tmp_path / "r", resume=True), whole)


def test_resume_needs_a_folder():
    with pytest.raises(ConfigError, match="resume"):
        fb.run(experiment(), resume=True)


def test_ctrl_c_while_compiling_is_no_failure_of_the_compiler():
    def interrupted():
        with contextlib.suppress(KeyboardInterrupt):  # as a callback from C swallows it
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5.0)
        raise RuntimeError("no compiled object yet")

    with pytest.raises(KeyboardInterrupt), ended_by_ctrl_c():
        interrupted()
    with pytest.raises(RuntimeError, match="a mistake"), ended_by_ctrl_c():
        raise RuntimeError("a mistake")
