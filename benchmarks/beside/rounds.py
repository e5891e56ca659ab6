"""Rounds a second: Flower's simulation, and parties in one process."""

from __future__ import annotations

from statistics import median

from beside.table import number, ratio, table
from beside.turns import Worker, ratios

#: A vector of d × d + d numbers goes to each client, and one comes back.
DIMENSION = 10
CLIENTS = (10, 100)
ROUNDS, TURNS = 5, 5


def compare(quick: bool) -> str:
    """A table with a row for each number of clients."""
    rows, said = [], ""
    for clients in CLIENTS[:1] if quick else CLIENTS:
        found = _played(clients, 3 if quick else TURNS)
        if isinstance(found, str):
            said += f"\nNo rounds of {clients} clients: {found}\n"
            continue
        ours, flower = found
        rows.append(
            [
                f"{clients} clients", number(1.0 / median(ours)), number(1.0 / median(flower)),
                ratio(ratios(flower, ours)),
            ]
        )  # fmt: skip
    head = ("", "ours, rounds a second", "Flower, rounds a second", "Flower's time, ours = 1")
    return table(head, rows) + said


def _played(clients: int, turns: int) -> tuple[list[float], list[float]] | str:
    """Seconds of a round in each turn, ours and Flower's; or why there are none."""
    shape = str(turns), str(ROUNDS)
    ours = Worker("beside.parties", str(clients), str(DIMENSION), *shape)
    flower = Worker("beside.flower", str(clients), str(DIMENSION * (DIMENSION + 1)), *shape)
    found: tuple[list[float], list[float]] = [], []
    for _ in range(turns):
        for worker, seconds in zip((ours, flower), found, strict=True):
            told = worker.tell()
            if told is None:
                return f"{ours.end()} {flower.end()}".strip()
            seconds.append(median(told["seconds"]))
    ours.end()
    flower.end()
    return found
