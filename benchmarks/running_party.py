"""What a running party holds in memory, and what an operator's commands cost.

    python benchmarks/running_party.py [--ticks 2] [--commands 5]

The three clinics of examples/federation run as processes, with a broker, secure noise and TLS.
Applications ask for decisions over some rounds of the clock. Then each party's memory is read: RSS,
PSS, which divides pages that several processes share, and what the process has for itself alone.
The commands are measured before: user and system time of the whole process, median of several.
"""

from __future__ import annotations

import argparse
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples" / "federation"
sys.path.insert(0, str(EXAMPLES))
from machine import Machine  # noqa: E402

from fedbandits.client import Client  # noqa: E402

CLINICS = EXAMPLES / "clinics" / "federation.toml"
EVERY, DECISIONS = 3.0, 20
#: What is asked: processor seconds of a command, and MB of a party.
SECONDS, MEMORY = 0.5, 150.0


def memory(pid: int) -> dict[str, float]:
    """MB of a process, by kind."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name[:-1]: int(size) / 1024 for name, size, _ in (line.split() for line in lines)}


def seconds(*arguments: object, fails: int = 0) -> float:
    """User and system time of one command, children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "fedbandits", *map(str, arguments)],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != fails:
        raise SystemExit(f"{arguments} has ended with {done.returncode}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(here: pathlib.Path, made: Machine) -> Iterator[tuple[str, float]]:
    """Give an operator's commands once; ``made`` is a federation that has run."""
    config, admits, new = made.folder.with_suffix(".toml"), here / "admits", here / "new"
    north = made.folder / "north"
    yield "federation init", seconds("federation", "init", config, "--out", admits)
    yield (
        "party create",
        seconds("party", "create", "north", "--federation", config, "--out", new),
    )
    request = new / "north" / "request.json"
    yield "federation admit", seconds("federation", "admit", admits, request)
    (admission,) = admits.rglob("*north*.json")
    yield "party admit", seconds("party", "admit", new / "north", admission)
    yield "party status", seconds("party", "status", north, fails=3)
    yield "federation status", seconds("federation", "status", made.folder, fails=3)
    yield "party inspect", seconds("party", "inspect", north)
    yield "party token", seconds("party", "token", north, "--name", here.name)
    yield "party backup", seconds("party", "backup", north, here / "copy.db")


def play(machine: Machine, ticks: int, tokens: dict[str, str]) -> None:
    """Ask every clinic for decisions, and tell rewards, over so many rounds."""
    machine.wait_for_start()
    rng = np.random.default_rng(0)
    for tick in range(ticks):
        for name, token in tokens.items():
            with Client(machine.running(name)["url"], token) as client:
                for _ in range(DECISIONS):
                    actions = rng.normal(size=(5, 4))
                    actions /= 1.001 * np.linalg.norm(actions, axis=1, keepdims=True)
                    client.reward(client.decide(actions=actions).id, 0.5)
        time.sleep(max(0.0, machine.start + (tick + 1.2) * EVERY - time.time()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=2)
    parser.add_argument("--commands", type=int, default=5)
    given = parser.parse_args()
    spent: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(name)
        machine = Machine(CLINICS, here / "clinics", every=f"{EVERY:g} s")
        clinics = ("north", "south", "east")
        tokens = {each: machine.token(each, "waiting-room") for each in clinics}
        with machine.up():
            play(machine, given.ticks, tokens)
            members = [path.parent.name for path in machine.folder.glob("*/running.json")]
            held = {each: memory(machine.running(each)["pid"]) for each in sorted(members)}
        for turn in range(given.commands):
            (here / str(turn)).mkdir()
            for command, cost in commands(here / str(turn), machine):
                spent.setdefault(command, []).append(cost)
    print(f"\n{'MB of a party':20} {'RSS':>6} {'PSS':>6} {'own':>6}   asked: RSS <= {MEMORY:g}")
    for each, found in held.items():
        own = found["Private_Clean"] + found["Private_Dirty"]
        print(f"{each:20} {found['Rss']:6.1f} {found['Pss']:6.1f} {own:6.1f}")
    print(f"\n{'processor seconds':20} {'median':>6}   asked: <= {SECONDS:g}")
    for command, costs in spent.items():
        print(f"{command:20} {statistics.median(costs):6.2f}")


if __name__ == "__main__":
    main()
