"""Choosing a backend, and what a worker does; no cluster is needed, but for one of Ray."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import socket
import subprocess
import sys

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import RatingData
from fedbandits.errors import BackendError, ConfigError, DataError
from fedbandits.experiments.backends import cluster
from fedbandits.experiments.backends.backend import choose_backend
from fedbandits.experiments.checkpoint import CheckpointFolder
from fedbandits.experiments.signals import Stop
from tests.experiments.test_resume import assert_same, experiment
from tests.test_cli import TOML, call

ours = cluster.identity()


@pytest.fixture
def silent_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]  # bound, but nobody listens


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--backend", "spark"], "backend: given 'spark', allowed: local, dask, ray"),
        (["--backend", "dask"], "backend: dask needs --scheduler ADDRESS"),
        (["--scheduler", "tcp://h:8786"], "scheduler: needs --backend dask or ray"),
        (["--backend", "dask", "--scheduler", "tcp://127.0.0.1:{port}"], "does not answer"),
        (["--backend", "dask", "--scheduler", "nonsense"], "nonsense does not answer"),
        (["--backend", "ray", "--scheduler", "127.0.0.1:{port}"], "does not answer"),
    ],
)
def test_what_cannot_be_reached_ends_with_one_line_and_code_2(
    tmp_path, monkeypatch, capsys, silent_port, arguments, message
):
    if importlib.util.find_spec("ray") is None and "ray" in arguments:
        message = "ray is not installed"
    (tmp_path / "tiny.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    arguments = [argument.format(port=silent_port) for argument in arguments]
    assert call(monkeypatch, "run", "tiny.toml", "--no-alone", *arguments) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert not list((tmp_path / "runs").glob(".*"))  # not even checkpoints are begun


def test_what_listens_but_is_no_scheduler_is_no_reason_to_wait(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "ANSWER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(BackendError, match=r"does not answer: waited 0\.5 seconds"):
            fb.run(experiment(), backend="dask", scheduler=address)


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_named_with_the_remedy(monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"fedbandits.experiments.backends.on_{name}", raising=False)
    with pytest.raises(BackendError, match=r"not installed; install the extra 'cluster'"):
        choose_backend(name, "tcp://127.0.0.1:1")


def test_who_stays_at_home_does_not_wait_for_clusters_to_be_imported():
    look = (
        "import sys, fedbandits.cli, fedbandits.experiments.run\n"
        "assert not {'distributed', 'ray'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", look], check=True)


def order(chosen=None, folder=None, **changes):
    made = cluster._order_of(chosen or experiment(replicates=1), folder, 0.0)
    return msgspec.to_builtins(msgspec.structs.replace(made, **changes))


def test_only_text_and_numbers_travel_to_a_worker(tmp_path):
    def kinds(node):
        inner = node.values() if isinstance(node, dict) else node
        nested = isinstance(node, dict | list | tuple)
        return set().union(*map(kinds, inner)) if nested else {type(node)}

    folder = CheckpointFolder(tmp_path / "r", experiment())
    folder.begin(resume=False)
    assert kinds(order(folder=folder)) == {str, float}


@pytest.mark.parametrize("what", ["fedbandits", "kernels", "numpy", "numba", "scipy"])
def test_a_worker_that_came_later_with_another_version_refuses(what):
    with pytest.raises(BackendError, match=rf"the worker on \S+ has {what} \S+ instead of other;"):
        cluster.play(order(identity=ours | {what: "other"}), 0, 0)


def rated(path):
    pairs = ((user, item) for user in range(1, 10) for item in range(1, 10))
    path.write_text("".join(f"{user}\t{item}\t{1 + user * item % 5}\t0\n" for user, item in pairs))
    environment = RatingData(path=path.name, agents=2, dim=3, arms=4)
    return experiment(environment=environment, replicates=1, rounds=30)


def test_a_data_file_must_be_the_same_on_a_worker(tmp_path, monkeypatch):
    path = tmp_path / "u.data"
    monkeypatch.chdir(tmp_path)
    chosen = rated(path)
    sent = order(chosen)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    there = cluster.play(sent, 0, 0).regret  # before this process has read the file itself
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(there, fb.run(chosen).regret[0, 0])
    cluster._prepare.cache_clear()
    path.write_text(path.read_text() + "1\t10\t1\t0\n")
    with pytest.raises(DataError, match=r"the worker on \S+: \S+u\.data: another content"):
        cluster.play(sent, 0, 0)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="has changed since it was read; restart the workers"):
        cluster.play(order(chosen), 0, 0)  # this process still holds what it read first
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        cluster.play(sent, 0, 0)


def test_names_are_no_files(tmp_path, monkeypatch):
    (tmp_path / "v1.0").write_text("a file that is called like a label")
    monkeypatch.chdir(tmp_path)
    named = experiment(name="v1.0", systems=(fb.system("feducb", label="v1.0"),))
    assert cluster.data_files(named) == ()


class AfterLooks(Stop):
    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    def __bool__(self):
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("shares", [True, False])
def test_a_worker_that_sees_the_checkpoints_plays_on_from_them(tmp_path, shares):
    chosen = experiment(replicates=1)
    folder = CheckpointFolder(tmp_path / "r", chosen)
    folder.begin(resume=False)
    sent = order(chosen, folder)
    if not shares:
        (folder.path / cluster.TOKEN).write_text("of another run")
    assert cluster.play(sent, 0, 0, AfterLooks(3)) is None
    assert bool(list(folder.path.glob("*.checkpoint"))) == shares
    trace = cluster.play(sent, 0, 0)
    assert len(trace.spells) == (2 if shares else 1)
    np.testing.assert_array_equal(trace.regret, fb.run(chosen).regret[0, 0])


def test_what_cannot_be_written_down_is_not_sent():
    spoilt = experiment()
    entry = spoilt.systems[0]
    other = msgspec.structs.replace(entry, config=msgspec.structs.replace(entry.config, delta=0.25))
    table = spoilt.to_table()
    msgspec.structs.force_setattr(spoilt, "systems", (other, *spoilt.systems[1:]))
    type_ = type(spoilt)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type_, "to_table", lambda _: table)
        with pytest.raises(ConfigError, match="cannot travel"):
            cluster._order_of(spoilt, None, 5.0)


def test_a_cluster_without_workers_is_given_up_after_a_while(monkeypatch):
    presence = cluster._Presence()
    presence.note(0)
    monkeypatch.setattr(cluster, "PATIENCE", -1.0)
    presence.note(2)
    with pytest.raises(BackendError, match="had no worker"):
        presence.note(0)


def test_a_ray_cluster_gives_the_same_bits(monkeypatch, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: it is in the extra 'cluster' only")
    cache = os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))  # what is compiled already stays compiled
    monkeypatch.setenv("HOME", str(tmp_path))  # Ray keeps a secret of its own there
    assert_same(fb.run(experiment()), fb.run(experiment(), backend="ray"))
