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
        flower, ours = list[float](), list[float]()
        for _ in range(1 if quick else TURNS):
            peer = _seconds("beside.flower", clients=clients, numbers=DIMENSION * (DIMENSION + 1))
            own = _seconds("beside.parties", clients=clients, dimension=DIMENSION)
            if isinstance(peer, str) or isinstance(own, str):
                said = f"\nNo rounds: {peer if isinstance(peer, str) else own}\n"
                break
            flower.append(peer)
            ours.append(own)
        if flower:
            rows.append(
                [
                    f"{clients} clients", number(1.0 / median(ours)), number(1.0 / median(flower)),
                    ratio(ratios(flower, ours)),
                ]
            )  # fmt: skip
    head = ("", "ours, rounds a second", "Flower, rounds a second", "Flower's time, ours = 1")
    return table(head, rows) + said


def _seconds(module: str, **told: int) -> float | str:
    """The median of a round's seconds; or why there is none."""
    worker = Worker(module)
    answer = worker.tell(rounds=ROUNDS, **told)
    why = worker.end()
    return why if answer is None else median(answer["seconds"])
