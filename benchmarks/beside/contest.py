"""Bandits in one world: steps a second, memory, regret, and whether LinUCB is LinUCB."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from beside.oracle import agreement
from beside.roster import NOBODY, Entry, entries
from beside.streams import Stream, load_stream, regret, save_stream
from beside.table import mean_and_error, number, ratio, table
from beside.turns import Worker, ratios
from beside.worlds import WORLDS, draw_stream

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
    known = entries(world)
    names = [NOBODY, *(entry.name for entry in known)]
    workers = {name: Worker("beside.worker", world, name) for name in names}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    missing: dict[str, str] = {}
    for name, worker in workers.items():  # what is done once: imports, pages of memory
        if worker.tell(stream=str(paths[0]), replicate=0, steps=min(steps, 50)) is None:
            missing[name] = worker.end()
    for replicate, path in enumerate(paths):
        for name in [each for each in names if each not in missing]:
            told = workers[name].tell(stream=str(path), replicate=replicate, steps=steps)
            if told is None:
                missing[name] = workers[name].end()
            else:
                found[name].append(told)
    for name in [each for each in names if each not in missing]:
        workers[name].end()
    streams = [load_stream(path) for path in paths]
    played = [entry for entry in known if entry.name not in missing]
    text = table(HEAD, [_row(entry, found, played[0].name, streams, steps) for entry in played])
    return text + "".join(f"\n{name} did not play: {why}\n" for name, why in missing.items())


def _row(
    entry: Entry, found: dict[str, list[dict[str, Any]]], base: str, streams: list[Stream],
    steps: int,
) -> list[str]:  # fmt: skip
    runs, empty = found[entry.name], found[NOBODY][0]["peak"]
    seconds = [run["seconds"] for run in runs]
    against = ratios(seconds, [run["seconds"] for run in found[base]])
    return [
        entry.name,
        number(steps / median(seconds)),
        ratio(against),
        number(runs[0]["peak"] - empty),
        mean_and_error([_regret(run, stream) for run, stream in zip(runs, streams, strict=True)]),
        _agreed(entry, runs[0], streams[0]),
    ]


def _regret(run: dict[str, Any], stream: Stream) -> float:
    return run["regret"] if "regret" in run else float(regret(stream, run["arms"])[-1])


def _agreed(entry: Entry, run: dict[str, Any], stream: Stream) -> str:
    """In the first stream: rounds in which its arm has LinUCB's largest score, of all rounds."""
    if "UCB" not in entry.algorithm or "arms" not in run or not stream.contexts.shape[1]:
        return ""
    held = agreement(stream, run["arms"])
    return f"{held.largest:,} of {held.steps:,}"
