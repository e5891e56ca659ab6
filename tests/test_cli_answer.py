"""What ``fedbandits run`` says first, and the system that it adds to be able to."""

from __future__ import annotations

import json
import warnings

import pytest

import fedbandits as fb
from fedbandits.errors import ResumeWarning
from fedbandits.experiments.audits.verdict import Audit
from tests.test_cli import call

TOML = """
name = "tiny"
rounds = 20
replicates = 3
[environment]
kind = "linear"
agents = 2
dim = 2
arms = 3
[[systems]]
preset = "feducb"
exploration_scale = 0.5
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "tiny.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_first_line_says_whether_it_pays(folder, monkeypatch, capsys):
    assert call(monkeypatch, "run", "tiny.toml") == 0
    shown = capsys.readouterr()
    first = shown.out.splitlines()[0]
    assert "earning together privately" in first
    assert "regret an agent in 20 rounds" in first  # one line, where no terminal sets a width
    assert first == fb.answer(folder / "runs" / "tiny").headline
    stored = json.loads((folder / "runs" / "tiny" / "answer.json").read_text(encoding="utf-8"))
    assert stored["lines"][0] == first
    assert stored["comparisons"][0]["baseline"] == "alone"


def test_beside_the_verdict_stands_what_it_was_compared_with(folder, monkeypatch, capsys):
    assert call(monkeypatch, "run", "tiny.toml") == 0
    second = capsys.readouterr().out.splitlines()[1]
    stored = json.loads((folder / "runs" / "tiny" / "answer.json").read_text(encoding="utf-8"))
    assert second == stored["lines"][1]
    assert second.startswith("Compared with learning alone: ")
    assert second.endswith(", in regret an agent in 20 rounds.")
    names = [one["name"] for one in stored["opponents"]]
    assert names[0] == "alone"
    assert all(f"{one['mean']:.3g} " in second for one in stored["opponents"])


def test_what_is_added_is_said_and_kept(folder, monkeypatch, capsys):
    assert call(monkeypatch, "run", "tiny.toml") == 0
    assert "Added 'alone' (linucb-alone), to see whether learning together pays; --no-alone" in (
        capsys.readouterr().err
    )
    kept = fb.load(folder / "runs" / "tiny" / "config.toml")
    assert [entry.label for entry in kept.systems] == ["feducb", "alone"]
    assert kept.systems[1] == fb.with_alone("tiny.toml").systems[1]


def test_a_run_from_its_own_configuration_is_the_same_experiment(folder, monkeypatch, capsys):
    assert call(monkeypatch, "run", "tiny.toml") == 0
    before = capsys.readouterr().out
    for config in ("tiny.toml", "runs/tiny/config.toml"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResumeWarning)
            assert call(monkeypatch, "run", config, "--resume") == 0
        shown = capsys.readouterr()
        assert shown.out == before
        assert ("Added" in shown.err) == (config == "tiny.toml")


def test_it_can_be_left_out(folder, monkeypatch, capsys):
    assert call(monkeypatch, "run", "tiny.toml", "--no-alone") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Whether it pays is not known: no system of this run learns alone.")
    assert "Added" not in shown.err
    assert "Compared with" not in shown.out
    assert len(fb.load(folder / "runs" / "tiny" / "config.toml").systems) == 1
    assert call(monkeypatch, "run", "tiny.toml") == 2
    assert "differs in best_alone, systems" in capsys.readouterr().err


@pytest.mark.parametrize("steps", ["audit run audit", "run audit", "run--no-alone audit"])
def test_an_audit_may_come_before_or_after_in_the_same_folder(folder, monkeypatch, steps):
    monkeypatch.setattr("fedbandits.experiments.audits.audit.audit", lambda *_, **__: Audit(()))
    for step in steps.split():
        command, dashes, option = step.partition("--")
        assert call(monkeypatch, command, "tiny.toml", *filter(None, [dashes + option])) == 0
    report = (folder / "runs" / "tiny" / "report.html").read_text(encoding="utf-8")
    assert "Does it pay?" in report
    assert "<h2>Audit" in report


class TestAdvise:
    def test_it_says_what_it_tries_and_then_what_it_found(self, folder, monkeypatch, capsys):
        assert call(monkeypatch, "run", "tiny.toml", "--advise") == 0
        shown = capsys.readouterr()
        tried = "--advise tries agents 2, 4, 8; ε 0.1, 0.3, 1, 3, 10: 3 replicates each of 'feducb'"
        assert tried in shown.err
        *_, parties, epsilon, report = shown.out.splitlines()
        assert "agents" in parties
        assert epsilon.startswith("With 2 agents ")
        assert report.startswith("Report: ")
        stored = fb.answer(folder / "runs" / "tiny"), folder / "runs" / "tiny" / "advice.json"
        assert stored[0].advice is None  # it is computed from the result alone
        assert json.loads(stored[1].read_text(encoding="utf-8"))["lines"] == [parties, epsilon]

    def test_where_nothing_is_private_it_says_so(self, monkeypatch, capsys):
        arguments = ("--set", 'systems.0.privatizer="none"', "--advise")
        assert call(monkeypatch, "run", "tiny.toml", *arguments) == 0
        assert "No advice: advise: no system claims a finite ε" in capsys.readouterr().err

    def test_a_sweep_has_none(self, monkeypatch, capsys):
        arguments = ("--sweep", "systems.*.epsilon=1,2", "--advise")
        assert call(monkeypatch, "run", "tiny.toml", *arguments) == 2
        assert "--advise: is for one experiment" in capsys.readouterr().err
