"""Two worker processes of a real Dask cluster on the loopback interface."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
import xarray as xr

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.environments import registry as environment_registry
from fedbandits.errors import BackendError
from fedbandits.experiments import runner
from fedbandits.experiments.backends import cluster
from fedbandits.experiments.events import ReplicateAdvanced
from fedbandits.systems import registry
from tests.experiments.test_resume import assert_same
from tests.experiments.test_run import CtrlC
from tests.own_things import COINS, CONFIG
from tests.test_cli import call

dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
from fedbandits.experiments.backends import on_dask  # noqa: E402 (needs distributed)

WORKER = "fedbandits.experiments.backends.cluster"
LOOPBACK = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}


def experiment(**changes):
    settings = {
        "name": "far", "rounds": 60, "replicates": 6, "seed": 4, "checkpoints": 12,
        "environment": Linear(agents=2, dim=3, arms=4),
        "systems": (fb.system("feducb", delta=0.1), fb.system("feducb-published")),
    }  # fmt: skip
    return fb.Experiment(**settings | changes)


@pytest.fixture(scope="module", autouse=True)
def impatience():
    """Dask looks for what has died for half a minute."""
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        yield


@pytest.fixture(scope="module")
def at_home():
    return fb.run(experiment())


@pytest.fixture(scope="module")
def workers():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **LOOPBACK) as started:
        yield started


@pytest.fixture
def client(workers):
    with distributed.Client(workers, set_as_default=False) as client:
        client.wait_for_workers(2)
        yield client


def far(workers, chosen=None, **options):
    return fb.run(
        chosen or experiment(), backend="dask", scheduler=workers.scheduler_address, **options
    )


class At:
    """Does something when the first replicate has come back."""

    def __init__(self, action):
        self.action = action

    def __call__(self, event):
        if isinstance(event, ReplicateAdvanced):
            action, self.action = self.action, lambda: None
            action()


def test_the_command_gives_the_same_bits_from_a_cluster(workers, at_home, tmp_path, monkeypatch):
    (tmp_path / "far.toml").write_text(experiment().to_toml())
    monkeypatch.chdir(tmp_path)
    there = ["--no-alone", "--backend", "dask", "--scheduler", workers.scheduler_address]
    assert call(monkeypatch, "run", "far.toml", "--out", "out", *there) == 0
    with xr.open_dataset("out/results.nc", engine="h5netcdf") as stored:
        assert_same(at_home, stored)
        assert (stored.seconds > 0.0).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far.toml", "out"]


def test_progress_is_told_for_every_finished_replicate(workers):
    played = []

    def note(event):
        if isinstance(event, ReplicateAdvanced):
            played.append((event.system, event.replicate, event.done, event.rounds))

    far(workers, on_event=note, jobs=1)
    labels = ("feducb", "feducb-published")
    assert sorted(played) == [(label, i, 60, 60) for label in labels for i in range(6)]


@pytest.mark.parametrize(("then", "token"), [("here", "token"), ("there", "token that is missed")])
def test_ctrl_c_keeps_what_is_finished_and_resume_goes_on_anywhere(
    workers, at_home, tmp_path, monkeypatch, then, token
):
    monkeypatch.setattr(cluster, "TOKEN", token)  # workers see the client's files, or do not
    monkeypatch.setattr(runner, "write_output", lambda *_: None)  # plots take seconds
    cut = far(workers, out=tmp_path / "r", on_event=CtrlC(1))
    assert cut.attrs["interrupted"] == 1
    finished = np.isfinite(cut.regret).all(dim=("party", "round")).values
    assert 0 < finished.sum() < finished.size
    saved = {path.stem for path in (tmp_path / ".r.checkpoint").glob("*.checkpoint")}
    assert saved >= {f"{system}-{replicate}" for system, replicate in np.argwhere(finished)}
    options = {"backend": "dask", "scheduler": workers.scheduler_address}
    again = fb.run(
        experiment(), out=tmp_path / "r", resume=True, **options if then == "there" else {}
    )
    assert_same(at_home, again)


def test_what_is_finished_is_not_sent_again(workers, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "write_output", lambda *_: None)
    cut = fb.run(experiment(), out=tmp_path / "r", jobs=1, on_event=CtrlC(150))
    finished = np.isfinite(cut.regret).all(dim=("party", "round")).values
    sent = []
    submit = on_dask.DaskCluster.submit
    monkeypatch.setattr(
        on_dask.DaskCluster,
        "submit",
        lambda self, order, task: (sent.append(task), submit(self, order, task))[1],
    )
    far(workers, out=tmp_path / "r", resume=True)
    assert sorted(sent) == [tuple(task) for task in np.argwhere(~finished)]


def test_ctrl_c_makes_workers_leave(workers, client, monkeypatch):
    """Each has one thread: it can do something else only once it has left the endless replicate."""
    wait = on_dask.DaskCluster.finished

    def press(self, handles, seconds):
        ended = wait(self, handles, seconds)
        assert any(client.processing().values())
        signal.raise_signal(signal.SIGINT)
        return ended

    monkeypatch.setattr(on_dask.DaskCluster, "finished", press)
    with pytest.raises(KeyboardInterrupt):
        far(workers, experiment(rounds=2_000_000_000))
    others = [client.submit(abs, -1, workers=[at], pure=False) for at in client.nthreads()]
    try:
        assert [other.result(timeout=30) for other in others] == [1, 1]
    except TimeoutError:
        client.restart()  # or every test that follows would wait for these workers
        raise


@contextmanager
def broken(client, function, *arguments, **chosen):
    """Workers on which a function has patched something; it returns the function that repairs."""
    repairs = client.run(function, *arguments, **chosen)
    try:
        yield
    finally:
        for address, repair in repairs.items():
            client.run(repair, workers=[address])


def replace(module, name, new):
    """On a worker: set an attribute of a module."""
    module = importlib.import_module(module)
    old = getattr(module, name)
    setattr(module, name, new(old))
    return partial(setattr, module, name, old)


def test_a_worker_that_returns_another_replicate_is_caught(workers, client):
    def shift(play):
        return lambda shared, task: play(shared, task._replace(replicate=task.replicate + 1))

    with (
        broken(client, replace, WORKER, "play_replicate", shift),
        pytest.raises(BackendError, match=r"replicate 0 of 'feducb.*': a worker returned someth"),
    ):
        far(workers, experiment(replicates=1))


def test_a_worker_with_another_version_is_refused_before_anything_runs(workers, client):
    chosen = next(iter(client.nthreads()))
    with (
        broken(client, replace, WORKER, "__version__", lambda _: "0.0.9", workers=[chosen]),
        pytest.raises(BackendError, match=rf"{chosen} has fedbandits 0\.0\.9 instead of"),
    ):
        far(workers)


def test_what_fails_on_a_worker_fails_as_at_home(workers, client):
    def spoil(_):
        def refuse(*_):
            raise fb.DataError("u.data: spoilt")

        return refuse

    with (
        broken(client, replace, WORKER, "play_replicate", spoil),
        pytest.raises(fb.DataError, match=r"the worker on \S+: u\.data: spoilt"),
    ):
        far(workers)


def test_a_replicate_that_kills_its_worker_is_named(workers, client):
    dead = client.submit(os.kill, os.getpid(), 0, pure=False)
    dead._state.set_error(distributed.KilledWorker("x", None, 3), None)
    with pytest.raises(BackendError, match="replicate 0 of 'x': every worker"):
        on_dask.DaskCluster(client).result(dead, "replicate 0 of 'x'")


def test_a_scheduler_that_is_lost_is_named(client):
    class Gone:
        def nthreads(self, **_):
            raise distributed.comm.CommClosedError("connection reset")

    with pytest.raises(BackendError, match="scheduler: was lost; --resume goes on"):
        on_dask.DaskCluster(Gone()).slots()
    dropped = client.submit(abs, -1, pure=False)
    client.cancel([dropped])
    with pytest.raises(BackendError, match="scheduler: was lost; --resume goes on"):
        on_dask.DaskCluster(client).result(dropped, "replicate 0")


def test_a_killed_worker_costs_nothing(workers, client, at_home):
    victim = next(iter(client.run(os.getpid).values()))
    assert_same(at_home, far(workers, on_event=At(lambda: os.kill(victim, signal.SIGKILL))))


def test_workers_are_missed_where_there_are_none_and_named_without_fedbandits(
    tmp_path, monkeypatch
):
    package = tmp_path / "fedbandits"
    package.mkdir()
    (package / "__init__.py").write_text("raise ModuleNotFoundError('no fedbandits here')")
    with distributed.LocalCluster(n_workers=0, **LOOPBACK) as scheduler:
        monkeypatch.setattr(cluster, "ANSWER", 0.5)
        with pytest.raises(BackendError, match="has no workers; start some: dask worker tcp://"):
            far(scheduler)
        monkeypatch.setattr(cluster, "ANSWER", 60.0)
        command = [sys.executable, "-m", "distributed.cli.dask_worker"]
        options = ["--no-nanny", "--no-dashboard", "--nthreads", "1", "--host", "127.0.0.1"]
        bare = subprocess.Popen(
            [*command, scheduler.scheduler_address, *options],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
        )
        try:
            with pytest.raises(BackendError, match=r"cannot load .*no fedbandits here.*install it"):
                far(scheduler)
        finally:
            bare.kill()
            bare.wait()


def test_code_that_a_configuration_names_travels(workers, tmp_path, monkeypatch):
    """Workers have never seen the module: its text goes to them, and gives the same bits."""
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(environment_registry, "_registered", {})
    (tmp_path / "coins.py").write_text(COINS, encoding="utf-8")
    (tmp_path / "coins.toml").write_text(CONFIG, encoding="utf-8")
    chosen = fb.load(tmp_path / "coins.toml")
    here = fb.run(chosen)
    (tmp_path / "coins.py").unlink()
    assert_same(here, far(workers, chosen, out=tmp_path / "out"))
    assert (tmp_path / "out" / "coins.py").read_text(encoding="utf-8") == COINS


def test_what_was_registered_by_a_call_does_not_travel(monkeypatch):
    monkeypatch.setattr(environment_registry, "_registered", {})

    @fb.register
    class Here(fb.environments.PythonEnvironment, tag="here"):
        """Known to this process alone."""

        @property
        def dimension(self):
            return 2

        @property
        def arm_count(self):
            return 2

        def decision_set(self, world, agent, round_, draws):
            return np.eye(2), np.array([0.2, 0.6])

    with pytest.raises(fb.ConfigError, match=r"environment 'here' was registered in this process"):
        fb.run(experiment(environment=Here()), backend="dask", scheduler="tcp://127.0.0.1:1")


def test_a_sweep_gives_the_same_bits_from_a_cluster(workers, tmp_path):
    keys, chosen = {"systems.*.epsilon": [0.5, 5.0]}, experiment(replicates=2)
    there = {"backend": "dask", "scheduler": workers.scheduler_address, "out": tmp_path / "s"}
    swept = fb.sweep(chosen, keys, **there)
    xr.testing.assert_equal(swept.drop_vars("seconds"), fb.sweep(chosen, keys).drop_vars("seconds"))
