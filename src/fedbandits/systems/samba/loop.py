"""SAMBA's steps in one compiled loop: plain, distributed, or sealed by a stream cipher."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Ints, Words64
from fedbandits.crypto.keystream import permute
from fedbandits.learners.index_rules import explores
from fedbandits.random import Key
from fedbandits.systems.samba.draws import Batch
from fedbandits.systems.samba.steps import Owners, Scratch, owners_score, owners_take, select_arm


class Pads(NamedTuple):
    """Key stream of all packets of some steps; zeros where nothing is encrypted."""

    scores: Words64  # (steps or 1, iterations, arms)
    bits: NDArray[np.uint8]  # (steps or 1, iterations, arms)


@compiled
def send_scores(masked: Words64, places: Ints, pad: Words64, listed: Words64) -> None:
    """Steps 2 and 3: owners seal under their place's key stream, the Controller permutes."""
    for i in range(places.size):
        listed[places[i]] = masked[i] ^ pad[places[i]]


@compiled
def open_scores(listed: Words64, pad: Words64, opened: Words64) -> None:
    """Step 4: Comp opens its list."""
    for place in range(opened.size):
        opened[place] = listed[place] ^ pad[place]


@compiled
def send_bits(chosen: int, places: Ints, pad: NDArray[np.uint8], bits: NDArray[np.uint8]) -> int:
    """Steps 4 and 5: Comp seals a bit a place, owners open theirs; the owner whose bit is 1."""
    for place in range(bits.size):
        bits[place] = np.uint8(place == chosen) ^ pad[place]
    pulled = -1
    for i in range(places.size):
        if bits[places[i]] ^ pad[places[i]] == 1:
            pulled = i
    return pulled


@compiled
def play_steps(
    world: Any, rule: Any, comparisons: Ints, owners: Owners, key: Key, first: int, draws: Batch,
    pads: Pads, scratch: Scratch, explored: Ints,
) -> int:  # fmt: skip
    """Play as many steps as there are draws; returns 0, or the step whose scores were refused."""
    arms, iterations = scratch.places.size, comparisons.size
    for s in range(draws.exploration.size):
        step = first + s
        exploring = explores(rule, step, arms, draws.exploration[s])
        explored[0] += exploring
        row = min(s, pads.scores.shape[0] - 1)
        for i in range(iterations):
            permute(draws.places[s, i], scratch.places)
            mask = draws.masks[s, i]
            owners_score(rule, i + 1, step, exploring, mask, owners, scratch.masked)
            pad = pads.scores[row, i]
            send_scores(scratch.masked.view(np.uint64), scratch.places, pad, scratch.listed)
            open_scores(scratch.listed, pad, scratch.opened.view(np.uint64))
            place = select_arm(comparisons[i], scratch.opened, draws.waits[s, i], scratch.waits)
            if place < 0:
                return step
            arm = send_bits(place, scratch.places, pads.bits[row, i], scratch.bits)
            owners_take(world, rule, i + 1, iterations, step, arm, owners, key)
    return 0
