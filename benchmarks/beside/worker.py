"""A contender in a process of its own: it plays a stream whenever it is told to.

    python -m beside.worker WORLD NAME

A line of JSON comes in with the file of a stream, the replicate and the steps to play; one goes out
with processor seconds, the arms or the final regret, and the largest memory so far. What libraries
print goes to the error channel.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from beside.contenders import BATCH
from beside.roster import entries
from beside.streams import Stream, load_stream

#: A compiled run is repeated for so many seconds, for the clock to see it.
LONG_ENOUGH = 0.2
#: What is imported of each package; ours with what makes the contenders.
_MODULES = {
    "mabwiser": "mabwiser.mab",
    "contextualbandits": "contextualbandits.online",
    "river": "river.bandit",
    "coba": "coba.learners",
    "vowpalwabbit": "vowpalwabbit",
    "fedbandits": "beside.ours",
}


def peak_mib() -> float:
    """The largest memory that this process has had, MiB; a child does not inherit it."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def play(contender: Any, stream: Stream, steps: int, replicate: int) -> dict[str, Any]:
    """Play the first steps of a stream."""
    if hasattr(contender, "begin"):
        return _play_compiled(contender, steps, replicate)
    if hasattr(contender, "decide_many"):
        return _play_in_batches(contender, stream, steps)
    rewards = stream.rewards.tolist()
    arms, began = [], time.process_time()
    for t in range(steps):
        arm = contender.decide(t)
        contender.learn(t, arm, rewards[t][arm])
        arms.append(arm)
    return {"seconds": time.process_time() - began, "arms": arms}


def _play_in_batches(contender: Any, stream: Stream, steps: int) -> dict[str, Any]:
    arms, began = list[int](), time.process_time()
    for first in range(0, steps, BATCH):
        end = min(first + BATCH, steps)
        chosen = contender.decide_many(first, end)
        contender.learn_many(first, end, chosen, stream.rewards[range(first, end), chosen])
        arms += chosen.tolist()
    return {"seconds": time.process_time() - began, "arms": arms}


def _play_compiled(contender: Any, steps: int, replicate: int) -> dict[str, Any]:
    contender.begin(steps, replicate).advance(steps)  # what is left to compile
    seconds = runs = 0.0
    while seconds < LONG_ENOUGH:
        run = contender.begin(steps, replicate)
        began = time.process_time()
        run.advance(steps)
        seconds += time.process_time() - began
        runs += 1
    return {"seconds": seconds / runs, "regret": float(run.regret.sum())}


def main(world: str, name: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    entry = next((each for each in entries(world) if each.name == name), None)
    if entry is not None:
        importlib.import_module(_MODULES[entry.package])
    for line in sys.stdin:
        told = json.loads(line)
        stream, answer = load_stream(Path(told["stream"])), {}
        if entry is not None:
            contender = entry.make(stream, told["replicate"])
            answer = play(contender, stream, told["steps"], told["replicate"])
        answers.write(json.dumps({**answer, "peak": peak_mib()}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
