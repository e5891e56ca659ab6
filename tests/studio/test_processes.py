"""Processes that are stopped early, die, or cannot be started."""

from __future__ import annotations

import asyncio
import io
import json
import math
import pathlib
import sys
from typing import Any

import pytest

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.studio import playing, processes, questions, worker
from fedbandits.studio.processes import Answerer, Worker
from fedbandits.studio.routes import Api


def scripted(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let processes do what a script says."""

    async def start(work: str, folder: pathlib.Path) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-c", script, stdin=pipe, stdout=pipe
        )

    monkeypatch.setattr(processes, "start", start)


async def told(made: Worker) -> list[dict[str, Any]]:
    return [line async for line in made.lines("run", {})]


def test_a_line_that_was_cut_ends_a_job_and_not_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    scripted(monkeypatch, """print('{"event": "a"}\\nnoise\\n[1]\\n{"event": "b', end="")""")
    first, last = asyncio.run(told(Worker(tmp_path)))
    assert first == {"event": "a"}
    assert last["status"] == "failed"


def test_a_process_that_cannot_be_started_ends_its_job(tmp_path: pathlib.Path) -> None:
    (last,) = asyncio.run(told(Worker(tmp_path / "gone")))
    assert last["status"] == "failed"
    assert "cannot be started" in last["why"]


def test_who_stops_a_job_before_it_has_begun_stops_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    scripted(monkeypatch, "while True: pass")

    async def stopped() -> list[dict[str, Any]]:
        made = Worker(tmp_path)
        await made.stop()
        return await told(made)

    (last,) = asyncio.run(stopped())
    assert last == {"event": "ended", "status": "interrupted", "why": ""}


def test_a_question_may_have_any_keys_and_outlives_one_that_was_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    echo = """import sys, json
for line in sys.stdin:
    given = json.loads(line)["given"]
    if "waits" not in given: print(json.dumps({"answer": given}), flush=True)
"""
    scripted(monkeypatch, echo)

    async def asked() -> Any:
        answerer = Answerer(tmp_path)
        waiting = asyncio.ensure_future(answerer.ask("steps", waits=True))
        await asyncio.sleep(0)
        waiting.cancel()
        answers = [await answerer.ask("steps", **{name: 1}) for name in ("self", "question")]
        await answerer.stop()
        return answers

    assert asyncio.run(asked()) == [{"self": 1}, {"question": 1}]


def test_a_question_that_fails_is_told_and_the_next_one_is_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(questions.QUESTIONS, "fails", lambda: 1 / 0)
    monkeypatch.setitem(questions.QUESTIONS, "odd", lambda: float("nan"))
    monkeypatch.setitem(questions.QUESTIONS, "works", lambda: 7)
    asked = [json.dumps({"question": q, "given": {}}) for q in ("fails", "odd", "works")]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(asked)))
    out = io.StringIO()
    worker._answer(worker._teller(out))
    first, second, third = map(json.loads, out.getvalue().splitlines())
    assert "terminal of the studio shows why" in first["error"]["message"]
    assert "error" in second
    assert third == {"answer": 7}
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_studio_ends_when_what_it_plays_has_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    scripted(
        monkeypatch,
        """import sys, time
print('{"event": "advanced", "done": 1}', flush=True)
sys.stdin.read()
time.sleep(0.1)
print('{"event": "ended", "status": "interrupted", "why": ""}', flush=True)
""",
    )

    async def ended() -> list[str]:
        api = Api(tmp_path, False)
        await api.begin()
        first, second = (api.library.add("", name, alone=False) for name in "ab")
        while api.library.feeds[first].parts["run"]["done"] < 1:
            await anext(api.library.feeds[first].stream(0, "curves"))
            await asyncio.sleep(0)
        await api.end()
        return [api.library.feeds[run].parts["run"]["status"] for run in (first, second)]

    assert asyncio.run(ended()) == ["interrupted", "interrupted"]


def test_many_replicates_are_not_told_whole_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(playing, "_PACE", math.inf)
    world = Linear(agents=2, dim=2, arms=3)
    experiment = fb.Experiment(
        environment=world, systems=(fb.system("linucb-alone"),), rounds=20, replicates=30
    )
    lines = list[dict[str, Any]]()
    fb.run(experiment, on_event=playing._Heard(experiment, lambda **line: lines.append(line)))
    done = [line["done"] for line in lines if line["event"] in ("advanced", "curve")]
    assert done[-1] == 20 * 30
    assert [line["event"] for line in lines].count("curve") == 2  # at the beginning and at the end
