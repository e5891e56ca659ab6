"""How cost grows from 10 to 10,000 agents, for every system: time, memory, messages, bytes.

    python benchmarks/agents.py [--most N] [--seconds S] [--only TEXT] [--picture FILE]

Every case has a process of its own, so its memory is its own. It first plays ten agents, which
compiles, and then the case. A case may take ``--seconds`` and a third of the machine's memory;
where one goes beyond, the table says so, and larger ones of the same kind are not tried.

The tables are for Markdown. Time is processor time of one thread, for each decision of each agent.
Memory is what the process needed beyond that of a run with ten agents. Growth is the slope of a
line through the last two cases on logarithmic axes: 1 where twice the agents take twice as much.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from fedbandits import system
from fedbandits.environments import Bernoulli, Clustered, Environment, Linear, Procurement
from fedbandits.testing.replicates import federate, simulate

SIZES = (10, 100, 1000, 10_000)
#: Parties are played by Python, some hundred times as slow as a loop.
SIZES_OF_PARTIES = (10, 100)


class Kind(NamedTuple):
    """One preset whose number of agents grows.

    Parameters
    ----------
    world
        The environment with n agents.
    rounds
        How many rounds are played with n agents.
    decisions
        Decisions in a run of n agents.
    """

    preset: str
    settings: dict[str, Any]
    world: Callable[[int], Environment]
    rounds: Callable[[int], int]
    decisions: Callable[[int], int]


def linear(preset: str, rounds: int = 1000, **settings: Any) -> Kind:
    return Kind(
        preset, settings, lambda n: Linear(agents=n, dim=10, arms=20), lambda _: rounds,
        lambda n: n * rounds,
    )  # fmt: skip


def clustered(preset: str) -> Kind:
    """Users arrive one a round, each a hundred times."""
    return Kind(
        preset, {}, lambda n: Clustered(users=n), lambda n: 100 * n, lambda n: 100 * n
    )  # fmt: skip


def owners(preset: str) -> Kind:
    """Data owners, one arm each; in every step all of them act."""
    return Kind(
        preset, {}, lambda n: Bernoulli(arms=n), lambda n: n + 100, lambda n: n * 101
    )  # fmt: skip


def buyers(preset: str) -> Kind:
    return Kind(
        preset, {}, lambda n: Procurement(agents=n), lambda _: 1000, lambda n: 1000 * n
    )  # fmt: skip


KINDS = {
    "linucb-alone": linear("linucb-alone"),
    "feducb": linear("feducb"),
    "feducb-hybrid": linear("feducb-hybrid"),
    "feducb-published": linear("feducb-published"),
    "linucb-pooled": linear("linucb-pooled"),
    "ldp-silo": linear("ldp-silo"),
    "feducb-p2p, everybody linked": linear("feducb-p2p"),
    "feducb-p2p, a ring": linear("feducb-p2p", graph="ring"),
    "fedlinucb-async": linear("fedlinucb-async"),
    "fclub": clustered("fclub"),
    "fclub-published": clustered("fclub-published"),
    "pfcb": buyers("pfcb"),
    "samba-ucb": owners("samba-ucb"),
    "samba-silent-ucb": owners("samba-silent-ucb"),
}


class Cost(NamedTuple):
    """What a case took; ``why`` says why it was not played."""

    agents: int
    microseconds: float = math.nan
    mebibytes: float = math.nan
    messages: int = 0
    bytes: int = 0
    why: str = ""


def growth(costs: list[Cost], of: Callable[[Cost], float]) -> float:
    """The slope between the last two cases on logarithmic axes; NaN where there is none."""
    known = [each for each in costs if not each.why and of(each) > 0.0]
    if len(known) < 2:
        return math.nan
    first, last = known[-2:]
    return math.log(of(last) / of(first)) / math.log(last.agents / first.agents)


def play(kind: Kind, agents: int, parties: bool) -> Cost:
    """Play a case in this process."""
    driver = federate if parties else simulate
    config = system(kind.preset, **kind.settings).config

    def played(n: int) -> Any:
        rounds = kind.rounds(n)
        run = driver(config, kind.world(n), rounds, 0, 0)
        began = time.thread_time()
        run.advance(rounds)
        return run, time.thread_time() - began

    played(SIZES[0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run, seconds = played(agents)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    steps = kind.decisions(agents)
    return Cost(agents, 1e6 * seconds / steps, (after - before) / 1024, run.messages, run.bytes)


def case(name: str, agents: int, parties: bool, seconds: float) -> Cost:
    """Play a case in a process of its own."""
    command = [sys.executable, __file__, "--case", name, str(agents), str(int(parties))]
    surroundings = {**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(  # noqa: S603 - this file
            command, capture_output=True, text=True, timeout=seconds, env=surroundings, check=False
        )
    except subprocess.TimeoutExpired:
        return Cost(agents, why=f"more than {seconds:.0f} s")
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"]
        refused = "ConfigError" in lines[-1]
        print(lines[-1], file=sys.stderr)
        return Cost(agents, why="refused" if refused else lines[-1].partition(":")[0])
    return Cost(**json.loads(ended.stdout.splitlines()[-1]))


def limit_memory() -> None:
    """A third of the machine's memory."""
    third = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 3
    resource.setrlimit(resource.RLIMIT_AS, (third, third))


def measure(
    names: list[str], sizes: tuple[int, ...], parties: bool, seconds: float
) -> dict[str, list[Cost]]:
    """All cases; a kind ends with the first case that cannot be played."""
    found: dict[str, list[Cost]] = {}
    for name in names:
        costs = found.setdefault(name, [])
        for agents in sizes:
            costs.append(case(name, agents, parties, seconds))
            print(f"  {name}: {costs[-1]}", file=sys.stderr, flush=True)
            if costs[-1].why:
                break
    return found


def table(found: dict[str, list[Cost]], sizes: tuple[int, ...]) -> str:
    """Markdown: µs a decision at each size, then memory, messages and bytes at the largest."""
    heads = [f"{n:,}" for n in sizes]
    lines = [
        f"| preset | {' | '.join(heads)} | growth | MiB | growth | messages | growth | MB |",
        f"| --- |{' ---: |' * (len(sizes) + 7 - 1)}",
    ]
    for name, costs in found.items():
        cells = [costs[i] if i < len(costs) else Cost(n, why="–") for i, n in enumerate(sizes)]
        times = [each.why or f"{each.microseconds:.3g}" for each in cells]
        last = next((each for each in reversed(costs) if not each.why), Cost(0))
        ends = (
            _slope(growth(costs, lambda c: c.microseconds * c.agents)),
            "–" if math.isnan(last.mebibytes) else f"{last.mebibytes:,.0f}",
            _slope(growth(costs, _whole_mebibytes)),
            f"{last.messages:,}",
            _slope(growth(costs, lambda c: c.messages)),
            f"{last.bytes / 1e6:,.1f}",
        )
        lines.append(f"| `{name}` | {' | '.join([*times, *ends])} |".replace("`,", "`"))
    return "\n".join(lines)


def _whole_mebibytes(cost: Cost) -> float:
    """Memory, or 0 where there is too little to tell it from chance."""
    return cost.mebibytes if cost.mebibytes >= 1.0 else 0.0


def _slope(slope: float) -> str:
    return "–" if math.isnan(slope) else f"{slope:.2f}"


def draw(found: dict[str, list[Cost]], file: str) -> None:
    """Microseconds a decision, memory and messages over the number of agents."""
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    panels = figure.subplots(1, 3)
    styles = ("-", "--", ":")
    for number, (name, costs) in enumerate(found.items()):
        known = [each for each in costs if not each.why]
        agents = [each.agents for each in known]
        style = {"linestyle": styles[number // 10], "marker": "o", "markersize": 3}
        for axes, of in zip(
            panels, (lambda c: c.microseconds, lambda c: c.mebibytes, lambda c: c.messages),
            strict=True,
        ):  # fmt: skip
            values = [of(each) or math.nan for each in known]
            axes.plot(agents, values, label=name, color=f"C{number % 10}", **style)
    labels = ("µs a decision", "MiB beyond ten agents", "messages")
    for axes, label in zip(panels, labels, strict=True):
        axes.set(xscale="log", yscale="log", xlabel="agents", ylabel=label)
        axes.grid(visible=True, alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right", fontsize=8)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--most", type=int, default=SIZES[-1], help="agents at the most")
    parser.add_argument("--seconds", type=float, default=240.0, help="a case may take")
    parser.add_argument("--only", default="", help="kinds with this text in their name")
    parser.add_argument("--picture", type=pathlib.Path)
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case is not None:
        limit_memory()
        name, agents, parties = given.case
        print(json.dumps(play(KINDS[name], int(agents), parties == "1")._asdict()))
        return
    names = [name for name in KINDS if given.only in name]
    for title, sizes, parties in (
        ("Compiled loops", SIZES, False), ("Parties in one process", SIZES_OF_PARTIES, True),
    ):  # fmt: skip
        sizes = tuple(n for n in sizes if n <= given.most)
        found = measure(names, sizes, parties, given.seconds)
        print(f"\n{title}: µs of one thread a decision at each number of agents\n")
        print(table(found, sizes), flush=True)
        if given.picture and not parties:
            draw(found, given.picture)


if __name__ == "__main__":
    main()
