"""Bandits in one world: steps a second, memory, regret, and whether LinUCB is LinUCB."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from beside.oracle import agreement
from beside.roster import NOBODY, Entry, entries, steps_of
from beside.streams import Stream, load_stream, regret, save_stream
from beside.table import mean_and_error, number, ratio, table
from beside.turns import Worker, ratios
from beside.worlds import WORLDS, draw_stream

#: What each has answered, turn by turn.
Found = dict[str, list[dict[str, Any]]]
HEAD = (
    "contender", "steps a second", "time, ours = 1", "memory, MiB", "regret", "chooses as LinUCB",
)  # fmt: skip


def draw_streams(world: str, steps: int, turns: int, folder: Path) -> list[Path]:
    """Files of as many streams as there are turns: every turn plays another replicate."""
    paths = [folder / f"{world}-{replicate}.npz" for replicate in range(turns)]
    for replicate, path in enumerate(paths):
        save_stream(draw_stream(WORLDS[world], steps, replicate), path)
    return paths


def fill_caches(world: str, stream: Path, steps: int) -> None:
    """Have all compiled code stored, so that nobody's memory is that of a compiler."""
    for entry in entries(world):
        if entry.package == "fedbandits":
            worker = Worker("beside.worker", world, entry.name)
            worker.tell(stream=str(stream), replicate=0, steps=steps)
            worker.end()


def compete(world: str, steps: int, turns: int, folder: Path) -> str:
    """A table of all who play in a world; below it a line for each who could not."""
    paths = draw_streams(world, steps, turns, folder)
    fill_caches(world, paths[0], steps)
    found, missing = _played(world, steps, paths)
    results = Results(world, steps, [load_stream(path) for path in paths], found)
    present = [entry for entry in entries(world) if entry.name in found]
    text = table(HEAD, [results.row(entry, present[0].name) for entry in present])
    return text + "".join(f"\n{name} did not play: {why}\n" for name, why in missing.items())


def _played(world: str, steps: int, paths: list[Path]) -> tuple[Found, dict[str, str]]:
    """What all have done, a turn each stream; and why those who could not play did not."""
    names = [NOBODY, *(entry.name for entry in entries(world))]
    workers = {name: Worker("beside.worker", world, name) for name in names}
    found: Found = {name: [] for name in names}
    missing: dict[str, str] = {}
    # The first time is not counted: imports are done in it, and what else is done once.
    turns = [(0, paths[0], min(steps, 50)), *((i, path, steps) for i, path in enumerate(paths))]
    for replicate, path, most in turns:
        for name in list(found):
            often = steps_of(world, name, most)
            told = workers[name].tell(stream=str(path), replicate=replicate, steps=often)
            if told is None:
                del found[name]
                missing[name] = workers[name].end()
            else:
                found[name].append(told)
    for name, runs in found.items():
        del runs[0]
        workers[name].end()
    return found, missing


class Results(NamedTuple):
    """What all contenders of a world have done, a turn each stream."""

    world: str
    steps: int
    streams: list[Stream]
    found: Found

    def row(self, entry: Entry, base: str) -> list[str]:
        """The cells of one contender; ratios are to ``base``."""
        steps = steps_of(self.world, entry.name, self.steps)
        each, others = self._seconds(entry.name), self._seconds(base)
        empty = self.found[NOBODY][0]["peak"]
        return [
            entry.name,
            number(1.0 / median(each)),
            ratio(ratios(each, others)),
            number(self.found[entry.name][0]["peak"] - empty),
            self._regret_told(entry, steps),
            self._agreed(entry),
        ]

    def _seconds(self, name: str) -> list[float]:
        """Of one step, in each turn."""
        steps = steps_of(self.world, name, self.steps)
        return [run["seconds"] / steps for run in self.found[name]]

    def _regret_told(self, entry: Entry, steps: int) -> str:
        told = mean_and_error(self._regrets(entry.name, steps))
        if steps == self.steps:
            return told
        same = f"fedbandits: {entry.algorithm} in numpy"
        ours = mean_and_error(self._regrets(same, steps))
        return f"{told} after {steps} steps, ours {ours}"

    def _regrets(self, name: str, steps: int) -> list[float]:
        pairs = zip(self.found[name], self.streams, strict=True)
        return [
            run["regret"] if "regret" in run else float(regret(stream, run["arms"][:steps])[-1])
            for run, stream in pairs
        ]

    def _agreed(self, entry: Entry) -> str:
        """In the first stream: rounds in which its arm has LinUCB's largest score, of all."""
        run, stream = self.found[entry.name][0], self.streams[0]
        online = "UCB" in entry.algorithm and "batches" not in entry.algorithm
        if not online or "arms" not in run or not stream.contexts.shape[1]:
            return ""
        held = agreement(stream, run["arms"])
        return f"{held.largest:,} of {held.steps:,}"
