"""Curves of the page are those of the result, whether they come from events or from a file."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.experiments.folder import read_result
from fedbandits.experiments.intervals import interval
from fedbandits.experiments.signals import Stop
from fedbandits.studio.curves import curves_of
from fedbandits.studio.playing import play

TEXT = """rounds = 40
replicates = 4
checkpoints = 8
[environment]
kind = "linear"
agents = 4
dim = 3
arms = 5
[[systems]]
preset = "feducb"
epsilon = 1.0
[[systems]]
preset = "linucb-alone"
"""
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


@pytest.mark.parametrize("text", [TEXT, BERNOULLI], ids=["linear", "bernoulli"])
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
    played(tmp_path / "run", TEXT)
    result = read_result(tmp_path / "run")
    axes, curves = curves_of(result)
    assert axes.unit == "regret of an agent"
    for place, curve in enumerate(curves):
        runs = result.regret.values[place].sum(axis=1) / 4.0
        found = interval(runs)
        np.testing.assert_allclose(curve["mean"], found.mean, rtol=1e-5)
        np.testing.assert_allclose(curve["half"], found.half, rtol=1e-5)
        assert curve["deviation"] == pytest.approx(runs[:, -1].std(ddof=1), rel=1e-5)


def test_progress_reaches_all_rounds(tmp_path: pathlib.Path) -> None:
    lines = played(tmp_path / "run", TEXT)
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
