"""The folder of a run when the disk is full, a process is killed, or two write at once."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pathlib
import resource
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.errors import FedbanditsError, OutputBusyError, OutputError, OutputExistsError
from fedbandits.experiments import files as files_module
from fedbandits.experiments import output
from fedbandits.experiments.files import MARKER, is_whole, locked, stage
from fedbandits.experiments.folder import holds_complete_run
from fedbandits.experiments.output import write_output
from fedbandits.experiments.plots import Picture


def experiment():
    return fb.Experiment(
        rounds=20, environment=Linear(agents=2, dim=2, arms=2), systems=(fb.system("linucb-alone"),)
    )


@pytest.fixture(scope="module")
def result():
    return fb.run(experiment())


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Plots and reports take seconds, and these tests are not about them."""
    monkeypatch.setattr(output, "draw_plots", lambda *_: {"regret": Picture(b"p" * 3000, b"s")})
    monkeypatch.setattr(output, "render_report", lambda *_: "report" * 1000)


def other(result):
    """What another run of the same experiment leaves: as long, and not the same."""
    changed = result.copy(deep=True)
    changed.regret[:] += 1.0
    changed.seconds[:] += 1.0
    return changed


def content(out):
    return {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def pairs(out):
    """Whether summary and results are of one run."""
    with xr.open_dataset(out / "results.nc", engine="h5netcdf") as stored:
        found = float(stored.regret.isel(round=-1).sum("party").mean())
    row = (out / "summary.csv").read_text().splitlines()[1].split(",")
    return float(row[3]) == pytest.approx(found)


@pytest.mark.parametrize("limit", [0, 100, 3500])
def test_on_a_full_disk_the_earlier_results_stay(tmp_path, result, limit):
    """The limit of a file's size: at the first file, or at the largest one."""
    out = tmp_path / "r"
    write_output(out, experiment(), result)
    before, limits = content(out), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"r: cannot be written") as caught:
            write_output(out, experiment(), other(result))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert isinstance(caught.value, FedbanditsError)
    assert content(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert holds_complete_run(out)


@pytest.mark.parametrize("number", range(6))
def test_whichever_file_finds_no_room_nothing_changes(tmp_path, result, number, monkeypatch):
    out, left = tmp_path / "r", [number]
    write_output(out, experiment(), result)
    before, sync = content(out), os.fsync

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(files_module.os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_output(out, experiment(), other(result))
    monkeypatch.undo()
    assert content(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_run_that_found_no_room_is_resumed(tmp_path, result, monkeypatch):
    out = tmp_path / "r"

    def full(*_):
        raise OutputError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(output, "put_in_place", full)
        with pytest.raises(OutputError):
            fb.run(experiment(), out=out)
    assert (tmp_path / ".r.checkpoint").is_dir()
    resumed = fb.run(experiment(), out=out, resume=True)
    np.testing.assert_array_equal(resumed.regret, result.regret)
    assert holds_complete_run(out)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("renames", range(10))
def test_killed_between_renames_a_folder_says_that_it_is_not_whole(
    tmp_path, result, renames, monkeypatch
):
    """After each of them; and the next run makes it whole."""
    out, left, replace = tmp_path / "r", [renames], os.replace
    write_output(out, experiment(), result)

    def replace_or_die(old, new):
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_or_die)
        with contextlib.suppress(Killed):
            write_output(out, experiment(), other(result))
    finished = left[0] >= 0
    assert is_whole(out) == holds_complete_run(out) == finished
    assert not is_whole(out) or pairs(out)
    assert renames != 6 or not pairs(out), "this is what must not be taken for a run"
    fb.run(experiment(), out=out)
    assert holds_complete_run(out)
    assert pairs(out)


def test_what_was_changed_afterwards_is_no_whole_run(tmp_path, result):
    out = tmp_path / "r"
    write_output(out, experiment(), result)
    named = set(json.loads((out / MARKER).read_text())["files"])
    assert named == {str(path) for path in content(out)} - {MARKER}
    whole = content(out)
    for name in ("results.nc", "summary.csv", MARKER):
        (out / name).write_bytes(whole[pathlib.Path(name)][:-9])
        assert not holds_complete_run(out)
        (out / name).write_bytes(whole[pathlib.Path(name)])
        assert holds_complete_run(out)
    for junk in ("[" * 100_000, "[]", "{}", '{"files": 5}', '{"files": {"/dev/zero": "x"}}', "\0"):
        (out / MARKER).write_text(junk)
        assert not is_whole(out)


def test_what_is_in_the_file_is_what_was_in_memory(tmp_path, result):
    write_output(tmp_path / "r", experiment(), result)
    with xr.open_dataset(tmp_path / "r" / "results.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), result)


@pytest.mark.parametrize("place", ["r", ".r.lock", ".r.checkpoint", "r/plots", ".r.points"])
def test_no_link_is_followed_in_the_place_of_what_a_run_writes(tmp_path, result, place):
    """Whoever can write to a folder above could have any file of the user's written over."""
    disk, mine = tmp_path / "disk", tmp_path / "mine"
    disk.mkdir()
    mine.mkdir()
    kept = mine / "kept"
    kept.write_text("mine")
    (tmp_path / "runs").symlink_to(disk)  # the user's own way to a disk
    out = tmp_path / "runs" / "r"
    if place == "r/plots":
        write_output(out, experiment(), result)
        (out / "plots" / "regret.png").unlink()
        (out / "plots" / "regret.svg").unlink()
        (out / "plots").rmdir()
    link = tmp_path / "runs" / place
    link.symlink_to(kept if place == ".r.lock" else mine)
    whole = content(disk)

    def play():
        if place == ".r.points":
            fb.sweep(experiment(), {"rounds": [10, 20]}, out=out)
        else:
            fb.run(experiment(), out=out)

    with pytest.raises(OutputExistsError, match=r"is a link, which is not followed"):
        play()
    if place != "r/plots":
        with pytest.raises(OutputExistsError, match=r"is a link, which is not followed"):
            output.write_audit(out, experiment(), None)
    assert content(mine) == {pathlib.Path("kept"): b"mine"}
    # A run that is refused at its end keeps its checkpoints, so that nothing is played again.
    files = {file: data for file, data in content(disk).items() if file.suffix != ".checkpoint"}
    assert files == whole
    link.unlink()
    play()
    assert holds_complete_run(out)


HOLDS = """
import pathlib, sys
from fedbandits.experiments.files import locked, stage
with locked(pathlib.Path(sys.argv[1])), stage(pathlib.Path(sys.argv[1])) as folder:
    (folder / "half").write_text("half")
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_runs_do_not_write_one_folder_and_what_a_killed_one_left_is_removed(tmp_path):
    out = tmp_path / "r"
    command = [sys.executable, "-c", HOLDS, str(out)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(OutputBusyError, match=f"process {holder.pid} on "):
            fb.run(experiment(), out=out)
        with stage(tmp_path / "r2"):
            fb.run(experiment(), out=tmp_path / "other")
            assert len(list(tmp_path.glob(".r.stage-*"))) == 1, "not its own"
            holder.kill()
            holder.wait()
            (tmp_path / ".r.stage-x.checkpoint").mkdir()  # of a run with such a name
            fb.run(experiment(), out=out)
            names = {path.name for path in tmp_path.iterdir() if ".r2." not in path.name}
            assert names == {"r", "other", ".r.stage-x.checkpoint"}
            assert len(list(tmp_path.glob(".r2.stage-*"))) == 1, "of a living one, elsewhere"
    assert not list(out.rglob("half"))


def test_one_process_does_not_write_a_folder_twice_at_once(tmp_path):
    with locked(tmp_path / "r"):
        with pytest.raises(OutputBusyError, match=f"process {os.getpid()} on "):
            fb.run(experiment(), out=tmp_path / "r")
        with pytest.raises(OutputBusyError):
            output.write_audit(tmp_path / "r", experiment(), None)
    assert not list(tmp_path.iterdir())


def test_an_audit_of_half_a_run_is_kept_for_the_next_one(tmp_path, result, monkeypatch):
    out, chosen = tmp_path / "r", experiment()
    write_output(out, chosen, result)
    (out / MARKER).unlink()
    before = content(out)
    monkeypatch.setattr(output, "render_audit", lambda *_: "audit")
    monkeypatch.setattr(output.msgspec, "to_builtins", lambda _: {"verdicts": []})
    output.write_audit(out, chosen, None)
    changed = content(out)
    assert {name: changed[name] for name in before} == before
    assert set(changed) - set(before) == {pathlib.Path("audit.json"), pathlib.Path("audit.html")}
