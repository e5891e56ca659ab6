"""Exact samples of the discrete Gaussian with σ = 2⁴⁰: OpenDP, and this package."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

from beside.table import number, ratio, table
from beside.turns import ratios, take_turns

#: A single number; the release of an agent with d = 10, which is d (d + 3) / 2; many.
SIZES = (1, 65, 1000)
#: So many samples are drawn in a turn, and fewer by one at a time.
SAMPLES, SINGLE = 10_000, 1000


def compare(quick: bool) -> str:
    """A row for each length of a vector: samples a second of both."""
    from fedbandits.errors import MissingExtraError
    from fedbandits.privacy.secure_noise import opendp_sampler, own_sampler

    try:
        peer = opendp_sampler()
    except MissingExtraError as error:
        return f"Nothing is compared: {error}\n"
    rows = []
    for size in SIZES:
        often = max(1, (SINGLE if size == 1 else SAMPLES) // size // (4 if quick else 1))
        jobs = {
            "ours": _drawn(own_sampler, size, often),
            "OpenDP": _drawn(peer, size, often),
        }
        found = take_turns(jobs, 3 if quick else 5)
        rows.append(
            [
                "one at a time" if size == 1 else f"vectors of {size:,}",
                number(1.0 / median(found["ours"])), number(1.0 / median(found["OpenDP"])),
                ratio(ratios(found["OpenDP"], found["ours"])),
            ]
        )  # fmt: skip
    head = ("", "ours, samples a second", "OpenDP, samples a second", "OpenDP's time, ours = 1")
    return table(head, rows)


def _drawn(sampler: Callable[[int], Sequence[int]], size: int, often: int) -> Callable[[], float]:
    """Seconds of one sample."""

    def seconds() -> float:
        began = time.process_time()
        for _ in range(often):
            sampler(size)
        return (time.process_time() - began) / (often * size)

    return seconds
