"""Curves of the page are those of the result, whether they come from events or from a file."""

from __future__ import annotations

import pathlib
import tomllib
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fedbandits as fb
from fedbandits.experiments.folder import read_result
from fedbandits.experiments.signals import Stop
from fedbandits.settings.experiment import Experiment
from fedbandits.studio.curves import by_buttons, curves_of
from fedbandits.studio.playing import play
from tests.studio.texts import SMALL

BERNOULLI = """rounds = 60
replicates = 3
[environment]
kind = "bernoulli"
arms = 4
[[systems]]
preset = "samba-ucb"
"""


def played(folder: pathlib.Path, text: str, stop: Stop | None = None) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    job = {
        "toml": text,
        "folder": str(folder),
        "resume": False,
        "allow_modules": False,
        "alone": False,
    }
    ended = play(job, lambda **line: lines.append(line), stop or Stop())
    assert ended == "complete"
    return lines


def test_the_look_for_the_best_alone_tells_its_own_progress(tmp_path: pathlib.Path) -> None:
    lines: list[dict[str, Any]] = []
    job = {
        "toml": SMALL, "folder": str(tmp_path / "run"), "resume": False, "allow_modules": False,
        "alone": True,
    }  # fmt: skip
    assert play(job, lambda **line: lines.append(line), Stop()) == "complete"
    shares = [line["share"] for line in lines if line["event"] == "phase"]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    began = next(i for i, line in enumerate(lines) if line["event"] == "started")
    assert all(line["event"] != "phase" for line in lines[began:])


@pytest.mark.parametrize("text", [SMALL, BERNOULLI], ids=["linear", "bernoulli"])
def test_events_and_the_file_give_the_same_curves(text: str, tmp_path: pathlib.Path) -> None:
    lines = played(tmp_path / "run", text)
    last: dict[str, Any] = {}
    ends = next(i for i, line in enumerate(lines) if line["event"] == "answer")
    stored = curves_of(read_result(tmp_path / "run"))[1]
    told = [line["curve"] for line in lines[: ends - len(stored)] if line["event"] == "curve"]
    for curve in told:
        last[curve["system"]] = curve
    for curve in stored:
        live = last[curve["system"]]
        assert live["rounds"] == curve["rounds"]
        assert live["n"] == curve["n"]
        np.testing.assert_allclose(live["mean"], curve["mean"], rtol=1e-5)
        np.testing.assert_allclose(live["half"], curve["half"], rtol=1e-4)
        assert sorted(live["replicates"]) == sorted(curve["replicates"])


def test_a_curve_is_the_mean_of_one_party_with_its_interval(tmp_path: pathlib.Path) -> None:
    played(tmp_path / "run", SMALL)
    result = read_result(tmp_path / "run")
    unit, curves = curves_of(result)
    assert unit == "regret per agent"
    for place, curve in enumerate(curves):
        runs = result.regret.values[place].sum(axis=1) / 4.0
        half = stats.t.ppf(0.975, 3) * runs.std(axis=0, ddof=1) / 2.0  # of four replicates
        np.testing.assert_allclose(curve["mean"], runs.mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(curve["half"], half, rtol=1e-5, atol=1e-12)
        assert curve["deviation"] == pytest.approx(runs[:, -1].std(ddof=1), rel=1e-5)


LOG = """rounds = 20
replicates = 3
[environment]
kind = "table"
path = "log.csv"
agents = 2
features = ["age"]
ranges = { age = [0, 20] }
action = "treatment"
classes = [0, 1]
reward = "recovered"
reward_range = [0, 1]
propensity = 0.5
visits = "once"
[[systems]]
preset = "linucb-alone"
"""


@pytest.fixture
def log(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the log, where the text says that it is."""
    rows = [f"{n % 20},{n * 7 % 5 % 2},{n * 3 % 7 % 2}" for n in range(60)]
    text = "\n".join(["age,treatment,recovered", *rows]) + "\n"
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("log")
def test_curves_of_a_log_are_its_estimates(tmp_path: pathlib.Path) -> None:
    """As its picture has them; rewards that were replayed are no value of a system."""
    lines = played(tmp_path / "run", LOG)
    result = read_result(tmp_path / "run")
    unit, (curve,) = curves_of(result)
    value = result.sel(estimator="dr").value.isel(system=0)
    np.testing.assert_allclose(curve["mean"], value.mean("replicate"), rtol=1e-5)
    assert unit.startswith("reward per ")
    told = [line["curve"] for line in lines if line["event"] == "curve"]
    assert told == [curve]  # no value is known before the end


@pytest.mark.usefixtures("log")
def test_rows_of_a_log_do_not_know_the_regret() -> None:
    found: list[Any] = []

    def hear(event: fb.events.Event) -> None:
        if isinstance(event, fb.events.ReplicateFinished):
            found.extend(event.rows)
        if isinstance(event, fb.events.ReplicateAdvanced) and event.row is not None:
            found.append(event.row)

    fb.run(Experiment.from_table(tomllib.loads(LOG)), on_event=hear)
    assert found
    assert all(np.isnan(row.regret) for row in found)


def test_progress_reaches_all_rounds(tmp_path: pathlib.Path) -> None:
    lines = played(tmp_path / "run", SMALL)
    total = next(line["total"] for line in lines if line["event"] == "started")
    done = [line["done"] for line in lines if line.get("done") is not None]
    assert done == sorted(done)
    assert done[-1] == total


def test_rows_of_events_are_what_the_result_records() -> None:
    experiment = fb.load("linear", ["replicates=2", "rounds=30", "checkpoints=5"])
    rows: dict[tuple[str, int], list[Any]] = {}
    whole: dict[tuple[str, int], Any] = {}

    def hear(event: fb.events.Event) -> None:
        if isinstance(event, fb.events.ReplicateAdvanced) and event.row is not None:
            rows.setdefault((event.system, event.replicate), []).append(event.row)
        if isinstance(event, fb.events.ReplicateFinished):
            whole[event.system, event.replicate] = list(event.rows)

    result = fb.run(experiment, on_event=hear)
    assert rows == whole
    for (system, replicate), found in whole.items():
        one = result.sel(system=system, replicate=replicate)
        assert [row.round for row in found] == result["round"].values.tolist()
        for name in ("messages", "bytes", "syncs"):
            assert [getattr(row, name) for row in found] == one[name].values.tolist()
        assert [row.regret for row in found] == one.regret.sum("party").values.tolist()


def test_a_page_tells_of_buttons_and_not_of_options(tmp_path: pathlib.Path) -> None:
    lines = played(tmp_path / "run", SMALL.replace("replicates = 4", "replicates = 2"))
    (answer,) = (line for line in lines if line["event"] == "answer")
    assert not any("--" in line for line in answer["lines"])
    assert "Press Resume" in by_buttons("It is too short. --resume goes on; 3 are needed.")
