"""Counter blocks of many packets at once, for simulations that seal in bulk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 16


def counter_blocks(
    direction: int, first_step: int, steps: int, iterations: int, slots: int
) -> NDArray[np.uint8]:
    """Counter blocks of all packets of some steps, (steps, iterations, slots, 16) uint8.

    Iterations are counted from 1. A block is the packet's position and four zero bytes. Its key
    stream is what :meth:`.StreamCipher.seal` uses for packets of 16 bytes at most, under a nonce of
    zeros. For simulations, which keep no packet that somebody could see.
    """
    blocks = np.zeros((steps, iterations, slots, _BLOCK), np.uint8)
    blocks[..., 0] = direction
    blocks[..., 1] = np.arange(1, iterations + 1)[None, :, None]
    numbers = np.arange(first_step, first_step + steps).astype(">u8").view(np.uint8)
    blocks[..., 2:8] = numbers.reshape(steps, 1, 1, 8)[..., 2:]
    blocks[..., 8:12] = np.arange(slots).astype(">u4").view(np.uint8).reshape(1, 1, slots, 4)
    return blocks
