"""The studio as its page meets it: one server, asked over HTTP."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import httpx
import pytest

from fedbandits.errors import ConfigError
from fedbandits.studio.library import Library
from fedbandits.studio.processes import Answerer
from tests.studio.texts import SMALL

LONG = SMALL.replace("rounds = 40", "rounds = 4_000_000").replace('"small"', '"long"')


class Studio(NamedTuple):
    """A server, and a client that has its token."""

    process: subprocess.Popen[str]
    client: httpx.Client

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        """End the server."""
        self.client.close()
        self.process.send_signal(how)
        with self.process:
            return self.process.wait(30)

    def events(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield what a stream tells."""
        with self.client.stream("GET", path) as told:
            for line in told.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def add(self, text: str) -> str:
        """Add a run."""
        answer = self.client.post("/api/runs", json={"toml": text, "alone": False})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


def test_no_command_line_has_the_key(tmp_path: pathlib.Path) -> None:
    """Others on the machine can read a browser's command line, and files of theirs."""
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\necho "$1" > {told}.new && mv {told}.new {told}\n')
    browser.chmod(0o755)
    runs = tmp_path / "my runs"
    runs.mkdir()
    (runs / "studio.sqlite").touch(0o644)  # of an earlier version
    with subprocess.Popen(
        [sys.executable, "-m", "fedbandits", "studio", str(runs), "--port", "0"],
        stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1", "BROWSER": f"{browser} %s"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        for _ in range(300):
            if told.exists():
                break
            time.sleep(0.1)
        opened = told.read_text().strip()
        assert address.partition("token=")[2] not in opened
        way = pathlib.Path(unquote(urlsplit(opened).path))
        assert f'url={address}"' in way.read_text(encoding="utf-8")
        modes = {path.name: path.stat().st_mode & 0o777 for path in runs.iterdir()}
        assert modes["open-studio.html"] == modes["studio.sqlite"] == 0o600
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    assert not way.exists()


def begin(folder: pathlib.Path, errors: IO[str] | None = None) -> Studio:
    """Start a server, which writes what goes wrong into ``errors``."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fedbandits", "studio", str(folder), "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE, stderr=errors, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    base, token = address.split("/#token=")
    client = httpx.Client(
        base_url=base, headers={"authorization": f"Bearer {token}"}, timeout=120.0, trust_env=False
    )
    return Studio(process, client)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """Serve one studio for all tests."""
    made = begin(tmp_path_factory.mktemp("runs"))
    yield made
    assert made.end() == 0


@pytest.fixture(scope="module")
def run(studio: Studio) -> str:
    """Play one run."""
    return studio.add(SMALL)


def test_a_run_is_told_until_its_answer(studio: Studio, run: str) -> None:
    told = list(studio.events(f"/api/runs/{run}/events"))
    assert {each["run"]["rounds"] for each in told} == {40}
    assert {tuple(each["run"]["systems"]) for each in told} == {("feducb", "linucb-alone")}
    assert told[-1]["run"]["status"] == "complete"
    assert told[-1]["unit"] == "regret per agent"
    assert told[-1]["lines"]
    details = studio.client.get(f"/api/runs/{run}").json()
    assert details["toml"].startswith('name = "small"')
    assert {curve["n"] for curve in details["curves"]} == {4}
    assert details["elapsed"] > 0.0
    again = list(studio.events(f"/api/runs/{run}/events"))
    assert again[-1]["lines"] == details["lines"]


@pytest.mark.parametrize("name", ["picture.svg", "summary.csv", "config.toml", "report.html"])
def test_files_can_be_taken_away(studio: Studio, run: str, name: str) -> None:
    list(studio.events(f"/api/runs/{run}/events"))
    assert name in studio.client.get(f"/api/runs/{run}").json()["files"]
    answer = studio.client.get(f"/api/runs/{run}/files/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'


def test_what_is_not_there_is_not_found(studio: Studio) -> None:
    for path in ("no", "../etc", "..%2f..%2fetc", "%2e%2e", "small/files/run.json"):
        answer = studio.client.get(f"/api/runs/{path}")
        assert answer.status_code == 404, path


def test_a_run_beside_itself_differs_in_nothing(studio: Studio, run: str) -> None:
    list(studio.events(f"/api/runs/{run}/events"))
    found = studio.client.get("/api/compare", params={"first": run, "second": run}).json()
    assert found["settings"] == []
    assert found["are_pairs"]
    assert all(each["difference"]["mean"] == 0.0 for each in found["systems"])


@pytest.mark.parametrize(
    ("way", "path", "content"),
    [
        ("POST", "/api/runs", b"{"),
        ("POST", "/api/runs", b"[1]"),
        ("POST", "/api/runs", b"\xff\xfe"),
        ("POST", "/api/runs", b"[" * 200_000),
        ("POST", "/api/runs", b'{"toml": 7}'),
        ("POST", "/api/runs", b'{"toml": "rounds = 1"}'),
        ("POST", "/api/setup", b"{}"),
        ("POST", "/api/setup", b"x" * (1 << 20) + b"x"),
        ("POST", "/api/setup", b'{"toml": "a = 1", "set": {"path": "b.c", "value": 1}}'),
        ("POST", "/api/steps", b'{"preset": "no"}'),
        ("POST", "/api/files?name=../x.csv", b"a,b\n1,2\n"),
        ("POST", "/api/files?name=x.csv", b"\x00\x01\x02"),
        ("POST", "/api/files?name=x.png", b"\x89PNG\r\n\x1a\n"),
    ],
    ids=list("abcdefghijklm"),
)
def test_bad_questions_are_refused_in_words(
    studio: Studio, way: str, path: str, content: bytes
) -> None:
    answer = studio.client.request(way, path, content=content)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/api/setup", '{"toml": 7}'),
        ("/api/setup", '{"table": [1]}'),
        ("/api/setup", '{"table": {"a": null}}'),
        ("/api/setup", '{"table": {"rounds": NaN}}'),
        ("/api/setup", '{"toml": "a = ", "set": {"path": "a", "value": 1}}'),
        ("/api/setup", '{"toml": "a = 1", "set": 7}'),
        ("/api/setup", '{"toml": "a = 1", "set": [7]}'),
        ("/api/setup", '{"toml": "a = 1", "set": {"path": "", "value": 1}}'),
        ("/api/setup", '{"toml": "a = 1", "set": {"path": "a", "value": [null]}}'),
        ("/api/setup", json.dumps({"toml": "a = 1", "set": {"path": "a." * 999, "value": 1}})),
        ("/api/setup", '{"toml": "a = \\"' + "x" * 5000 + '\\""}'),
        ("/api/setup", '{"toml": "# \\ud800"}'),
        ("/api/runs", '{"toml": "# \\ud800"}'),
        ("/api/steps", '{"preset": "feducb", "self": 1, "question": 2}'),
        ("/api/attack", '{"preset": "feducb", "epsilon": Infinity}'),
    ],
    ids=list("abcdefghijklmno"),
)
def test_odd_values_are_refused_by_what_is_wrong_with_them(
    studio: Studio, path: str, content: str
) -> None:
    answer = studio.client.post(path, content=content)
    assert answer.status_code == 422
    told = answer.json()["error"]["message"]
    assert "terminal" not in told
    assert "memory" not in told


def test_several_keys_are_changed_at_once(studio: Studio) -> None:
    changes = [{"path": "rounds", "value": 50}, {"path": "systems[0].epsilon", "value": 0.5}]
    found = studio.client.post("/api/setup", json={"toml": SMALL, "set": changes}).json()
    assert found["toml"] == SMALL.replace("= 40", "= 50").replace("= 1.0", "= 0.5")


def test_a_run_whose_files_are_damaged_is_shown(studio: Studio, run: str) -> None:
    list(studio.events(f"/api/runs/{run}/events"))
    folder = pathlib.Path(studio.client.get("/api/start").json()["folder"])
    for name, config in (("results", None), ("text", b"a = \xff"), ("toml", b"a = ")):
        place = shutil.copytree(folder / run, folder / f"damaged {name}")
        (place / "config.toml").write_bytes(config or (place / "config.toml").read_bytes())
        if config is None:
            (place / "results.nc").write_bytes(b"damaged")
        found = studio.client.get(f"/api/runs/{place.name}")
        assert found.status_code == 200, found.text
        assert "cannot be read" in found.json()["lines"][0]
        assert studio.client.delete(f"/api/runs/{place.name}").status_code == 204


def test_a_third_attack_ends_the_first(studio: Studio) -> None:
    job = {"preset": "feducb", "trials": 100_000}
    numbers = [studio.client.post("/api/attack", json=job).json()["id"] for _ in range(3)]
    last = list(studio.events(f"/api/attack/{numbers[0]}/events"))[-1]
    assert last["status"] == "interrupted"
    for each in numbers[1:]:
        studio.client.post(f"/api/attack/{each}/stop")
        assert list(studio.events(f"/api/attack/{each}/events"))[-1]["status"] == "interrupted"


def test_a_table_of_ones_own_becomes_an_experiment(studio: Studio) -> None:
    lines = [f"{n % 3},{n * 7 % 11},{(n * 5) % 13},{n % 2}" for n in range(120)]
    lines[0] = "3" + lines[0][1:]  # the smallest site has one row, and its visits come again
    data = "\n".join(["site,age,dose,target", *lines]) + "\n"
    answer = studio.client.post("/api/files", params={"name": "mine.csv"}, content=data)
    assert answer.status_code == 201, answer.text
    assert "uploads/mine.csv" in answer.json()["toml"]
    assert answer.json()["rows"] == 120
    found = studio.client.post("/api/setup", json={"toml": answer.json()["toml"]})
    assert found.status_code == 200, found.text


def test_a_table_is_asked_about_role_by_role(studio: Studio) -> None:
    lines = [f"{n % 3},{n * 7 % 61},{'ab'[n % 2]},{n % 5},{n % 9 / 10}" for n in range(120)]
    data = "\n".join(["clinic,age,given,paid,share", *lines]) + "\n"
    known: dict[str, str] = {"name": "unclear.csv"}
    asked = []
    for role, column in (("action", "given"), ("reward", "paid"), ("propensity", "share")):
        refused = studio.client.post("/api/files", params=known, content=data)
        assert refused.status_code == 422
        asks = {each["role"]: each for each in refused.json()["error"]["asks"]}
        assert column in asks[role]["columns"]
        assert not {*known.values()} & {*asks[role]["columns"]}
        asked.append(list(asks))
        known[role] = column
    assert asked == [["target", "action"], ["reward", "target"], ["propensity", "target"]]
    alone = {"name": "unclear.csv", "target": "given"}
    assert studio.client.post("/api/files", params=alone, content=data).status_code == 201


def test_an_attack_is_counted(studio: Studio) -> None:
    answer = studio.client.post("/api/attack", json={"preset": "feducb", "trials": 50})
    last = list(studio.events(f"/api/attack/{answer.json()['id']}/events"))[-1]
    assert last["status"] == "complete"
    assert last["done"] == 50
    refused = studio.client.post("/api/attack", json={"preset": "no"})
    last = list(studio.events(f"/api/attack/{refused.json()['id']}/events"))[-1]
    assert last["status"] == "failed"
    assert "allowed" in last["why"]


def test_a_run_is_stopped_queued_and_removed(studio: Studio) -> None:
    first, second = studio.add(LONG), studio.add(LONG)
    assert second != first
    told = studio.events(f"/api/runs/{first}/events")
    assert next(each for each in told if each["run"]["done"] > 0)
    assert studio.client.delete(f"/api/runs/{first}").status_code == 422
    assert studio.client.post(f"/api/runs/{second}/stop").status_code == 204
    assert studio.client.post(f"/api/runs/{first}/stop").status_code == 204
    assert list(told)[-1]["run"]["status"] == "interrupted"
    runs = {each["id"]: each for each in studio.client.get("/api/runs").json()["runs"]}
    for each in (first, second):
        assert runs[each]["status"] == "interrupted"
        assert runs[each]["epsilon"] == pytest.approx(1.0, rel=1e-3)
    assert studio.client.get(f"/api/runs/{second}").json()["files"] == []
    for each in (first, second):
        assert studio.client.delete(f"/api/runs/{each}").status_code == 204
        assert studio.client.get(f"/api/runs/{each}").status_code == 404


def test_who_starts_again_goes_on(tmp_path: pathlib.Path) -> None:
    first = begin(tmp_path)
    run = first.add(LONG.replace("4_000_000", "60_000"))
    assert next(e for e in first.events(f"/api/runs/{run}/events") if e["run"]["done"] > 0)
    first.end(signal.SIGKILL)  # its worker ends by itself, and keeps checkpoints
    second = begin(tmp_path)
    try:
        (known,) = second.client.get("/api/runs").json()["runs"]
        assert known["status"] == "interrupted"
        await_lock(tmp_path / f".{run}.lock")  # until the orphan has let go of the folder
        second.client.post(f"/api/runs/{run}/resume")
        last = list(second.events(f"/api/runs/{run}/events"))[-1]["run"]
        assert last["status"] == "complete", last
    finally:
        assert second.end() == 0


def await_lock(path: pathlib.Path) -> None:
    """Wait until the process that writes a folder has ended."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


#: The server that all other tests share is ended by the second one.
@pytest.mark.parametrize(
    "how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_server_that_ends_says_nothing_of_those_who_wait(
    tmp_path: pathlib.Path, how: signal.Signals
) -> None:
    with (tmp_path / "errors").open("w+", encoding="utf-8") as errors:
        made = begin(tmp_path / "runs", errors)
        events = made.events(f"/api/runs/{made.add(LONG)}/events")
        assert next(each for each in events if each["run"]["done"] > 0)
        slow = _asked(made, "/api/steps", b'{"preset": "samba-ucb", "rounds": 500}')
        waits = [_asked(made, "/api/compare?first=long&second=long") for _ in range(3)]
        assert made.client.get("/").status_code == 200  # so the others are there
        made.process.send_signal(how)
        assert list(events)[-1]["run"]["status"] == "interrupted"
        answers = [_status(each) for each in (slow, *waits)]
        assert made.end(how) in (0, -how)  # asked a second time, it says no more
        errors.seek(0)
        assert errors.read() == ""
    assert answers == ["503"] * 4


def _asked(studio: Studio, path: str, body: bytes | None = None) -> socket.socket:
    """Ask, and do not wait for the answer."""
    address, head = studio.client.base_url, studio.client.headers["authorization"]
    asking = socket.create_connection((address.host, address.port), timeout=60)
    lines = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", f"host: {address.netloc.decode()}",
        f"authorization: {head}", f"content-length: {len(body or b'')}", "", "",
    ]  # fmt: skip
    asking.sendall("\r\n".join(lines).encode() + (body or b""))
    return asking


def _status(asked: socket.socket) -> str:
    with asked, asked.makefile(encoding="utf-8") as lines:
        return lines.readline().split()[1]


def test_a_way_of_asking_that_there_is_not_is_refused_like_all_else(studio: Studio) -> None:
    answer = studio.client.put("/api/runs")
    assert answer.status_code == 405
    assert "PUT" in answer.json()["error"]["message"]
    assert "GET" in answer.headers["allow"]


def test_a_sweep_in_the_folder_stays_as_it_is(tmp_path: pathlib.Path) -> None:
    library = Library(tmp_path, allow_modules=False, answerer=Answerer(tmp_path))
    (tmp_path / "many").mkdir()
    text = SMALL + '[sweep]\n"systems.0.epsilon" = [0.5, 1.0]\n'
    (tmp_path / "many" / "config.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="many: is a sweep"):
        library.resume("many")
    assert library.feeds == {}
    library.close()
