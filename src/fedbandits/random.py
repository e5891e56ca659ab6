"""Counter-based random numbers: any draw can be made again, alone, in any order.

The generator is Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy
as 1, 2, 3", SC 2011). A draw is named by ``(seed, replicate, party, round, purpose)`` and an
index; nothing is stored between draws. The key is derived from ``(seed, replicate)``, the
counter is ``(block, round, party, purpose)``, so draws of different names never share a block.

None of this is fit for noise that leaves a real party: it can be predicted from the seed.
"""

from __future__ import annotations

import enum
import math
from typing import Any, NamedTuple

import numpy as np
from numpy import uint64

from fedbandits._compile import LANES, allocation_free, compiled, counting, inlined, lanes, store
from fedbandits._typing import Floats, Ints, Words32


class Purpose(enum.IntEnum):
    """The purpose of a draw, a part of its name: so purposes never disturb each other."""

    KEY = 0  #: deriving the key of a replicate
    WORLD = 1  #: values drawn once a replicate (a parameter vector, a split of the data)
    CONTEXT = 2  #: decision sets
    REWARD = 3  #: reward noise
    PRIVACY_NOISE = 4  #: *simulated* privacy noise
    TIE = 5  #: the choice among equally good arms
    POSTERIOR = 6  #: samples from an arm's posterior
    ARRIVAL = 7  #: the user who arrives in a round
    LEARNER = 8  #: decisions of a learner in plain Python
    DRIFT = 9  #: changes of a replicate's rewards
    DELAY = 10  #: the time at which a reward is observed
    SCORE = 11  #: the random part of an arm's score


class Key(NamedTuple):
    """The two 32-bit key words of one replicate (held as Python integers or uint64)."""

    low: int
    high: int


_MASK = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_KEY = np.uint64(Purpose.KEY)
_UNIT = 1.0 / (1 << 53)


@inlined
def philox4x32(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Compute one block of Philox4x32-10: four 32-bit words, each held in a uint64.

    Counter words c and key words k are below 2**32.
    """
    k0, k1 = uint64(k0), uint64(k1)
    return _rounds(uint64(c0), uint64(c1), uint64(c2), uint64(c3), k0, k1)


@inlined
def _rounds(
    c0: Any, c1: Any, c2: Any, c3: Any, k0: np.uint64, k1: np.uint64
) -> tuple[Any, Any, Any, Any]:
    """Compute the ten rounds, of counter words that are uint64 or lanes of uint64."""
    for _ in range(10):
        product0 = _MULTIPLIER_0 * c0
        product1 = _MULTIPLIER_1 * c2
        c0 = (product1 >> _WORD) ^ c1 ^ k0
        c1 = product1 & _MASK
        c2 = (product0 >> _WORD) ^ c3 ^ k1
        c3 = product0 & _MASK
        k0 = (k0 + _WEYL_0) & _MASK
        k1 = (k1 + _WEYL_1) & _MASK
    return c0, c1, c2, c3


@compiled
def _derive_key(seed: np.uint64, replicate: np.uint64) -> tuple[Any, Any, Any, Any]:
    low, high = uint64(seed) & _MASK, uint64(seed) >> _WORD
    return philox4x32(uint64(replicate), uint64(0), uint64(0), _KEY, low, high)


def replicate_key(seed: int, replicate: int) -> Key:
    """Derive the key under which one replicate makes all its draws.

    0 ≤ seed < 2**64, and 0 ≤ replicate < 2**32.
    """
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be in [0, 2**64), got {seed}")
    if not 0 <= replicate < 1 << 32:
        raise ValueError(f"replicate must be in [0, 2**32), got {replicate}")
    words = _derive_key(np.uint64(seed), np.uint64(replicate))
    return Key(int(words[0]), int(words[1]))


@allocation_free
def fill_words(words: Words32, key: Key, party: int, round_: int, purpose: int) -> None:
    """Fill ``words`` (4, blocks) uint32: column b holds block b; several blocks side by side."""
    k0, k1 = uint64(key[0]), uint64(key[1])
    c1, c2, c3 = uint64(round_), uint64(party), uint64(purpose)
    blocks = words.shape[1]
    for start in range(0, blocks, LANES):
        b = max(min(start, blocks - LANES), 0)  # the last lanes overlap the ones before
        w0, w1, w2, w3 = _rounds(counting(b), lanes(c1), lanes(c2), lanes(c3), k0, k1)
        store(words, (0, b), w0, blocks)
        store(words, (1, b), w1, blocks)
        store(words, (2, b), w2, blocks)
        store(words, (3, b), w3, blocks)


@compiled
def word_pair(key: Key, party: int, round_: int, purpose: int, index: int) -> tuple[Any, Any]:
    """Return the 64 bits that belong to draw ``index``: half a block."""
    block = philox4x32(
        uint64(index) >> uint64(1),
        uint64(round_),
        uint64(party),
        uint64(purpose),
        uint64(key[0]),
        uint64(key[1]),
    )
    if index & 1:
        return block[2], block[3]
    return block[0], block[1]


@compiled
def _unit_interval(low: Any, high: Any) -> float:
    """Turn 53 bits into a float64 in [0, 1)."""
    return np.float64((high << uint64(21)) | (low >> uint64(11))) * _UNIT


@compiled
def uniform(key: Key, party: int, round_: int, purpose: int, index: int) -> float:
    """Draw ``index`` of this name: uniform on [0, 1), 53 bits."""
    low, high = word_pair(key, party, round_, purpose, index)
    return _unit_interval(low, high)


@compiled
def bernoulli(
    probability: float, key: Key, party: int, round_: int, purpose: int, index: int
) -> bool:
    """Draw ``index`` of this name: True with the given probability (0 and 1 are certain)."""
    return uniform(key, party, round_, purpose, index) < probability


@compiled
def integer(bound: int, key: Key, party: int, round_: int, purpose: int, index: int) -> int:
    """Draw ``index`` of this name: an integer in [0, bound), 1 ≤ bound ≤ 2**32.

    The high word of a 64-bit fraction times ``bound``: the bias is below bound / 2**64.
    """
    low, high = word_pair(key, party, round_, purpose, index)
    n = uint64(bound)
    return int(np.int64((high * n + ((low * n) >> _WORD)) >> _WORD))


@compiled
def _box_muller(u: float, v: float) -> tuple[float, float]:
    radius = math.sqrt(-2.0 * math.log1p(-u))  # 1 - u is in (0, 1], so the logarithm is finite
    return radius * math.cos(2.0 * math.pi * v), radius * math.sin(2.0 * math.pi * v)


@compiled
def normal(key: Key, party: int, round_: int, purpose: int, index: int) -> float:
    """Draw ``index`` of this name: standard normal (Box & Muller 1958)."""
    pair = index & ~1
    u = uniform(key, party, round_, purpose, pair)
    v = uniform(key, party, round_, purpose, pair + 1)
    cosine, sine = _box_muller(u, v)
    return sine if index & 1 else cosine


@allocation_free
def uniforms_from(out: Floats, first: int, key: Key, party: int, round_: int, purpose: int) -> None:
    """Fill a 1-D float64 array: entry i is :func:`uniform` with index ``first`` + i."""
    for index in range(out.size):
        out[index] = uniform(key, party, round_, purpose, first + index)


@allocation_free
def normals_from(out: Floats, first: int, key: Key, party: int, round_: int, purpose: int) -> None:
    """Fill a 1-D float64 array: entry i is :func:`normal` with index ``first`` + i, even."""
    for index in range(0, out.size, 2):
        u = uniform(key, party, round_, purpose, first + index)
        v = uniform(key, party, round_, purpose, first + index + 1)
        cosine, sine = _box_muller(u, v)
        out[index] = cosine
        if index + 1 < out.size:
            out[index + 1] = sine


@allocation_free
def fill_normal(out: Floats, key: Key, party: int, round_: int, purpose: int) -> None:
    """Fill a 1-D float64 array: entry i is :func:`normal` with index i."""
    normals_from(out, 0, key, party, round_, purpose)


@allocation_free
def fill_permutation(out: Ints, key: Key, party: int, round_: int, purpose: int) -> None:
    """Fill a 1-D int64 array with a uniformly random permutation of 0 … size-1 (Fisher-Yates)."""
    for i in range(out.size):
        out[i] = i
    for i in range(out.size - 1, 0, -1):
        j = integer(i + 1, key, party, round_, purpose, i)
        out[i], out[j] = out[j], out[i]


def uniforms(size: int, key: Key, party: int, round_: int, purpose: Purpose) -> Floats:
    """Draw an array of :func:`uniform`; the counterpart of numpy's ``Generator.random``."""
    out = np.empty(size)
    uniforms_from(out, 0, key, party, round_, int(purpose))
    return out


def normals(size: int, key: Key, party: int, round_: int, purpose: Purpose) -> Floats:
    """Draw a fresh array of :func:`normal`."""
    out = np.empty(size)
    fill_normal(out, key, party, round_, int(purpose))
    return out


def permutation(size: int, key: Key, party: int, round_: int, purpose: Purpose) -> Ints:
    """Draw a fresh random permutation of 0 … size-1."""
    out = np.empty(size, dtype=np.int64)
    fill_permutation(out, key, party, round_, int(purpose))
    return out


#: Blocks of four draws that one :func:`binomial` may use: 2**18 trials.
_BINOMIAL_BLOCKS = 16
#: Most trials of one :func:`binomial`.
MOST_TRIALS = 4 << _BINOMIAL_BLOCKS


@compiled
def binomial(
    trials: int, probability: float, key: Key, party: int, round_: int, purpose: int, index: int
) -> int:
    """Draw ``index`` (below 2**16) of this name: successes among ``trials`` ≤ 2**18 trials.

    Every trial compares 32 bits of its own with ``probability``, which is rounded to 2**-32. A
    trial's bits depend neither on ``trials`` nor on ``probability``. So the number of successes
    never falls when ``trials`` or ``probability`` grows.
    """
    limit = np.uint64(np.rint(probability * 4294967296.0))
    k0, k1 = uint64(key[0]), uint64(key[1])
    c1, c2, c3 = uint64(round_), uint64(party), uint64(purpose)
    first = uint64(index) << uint64(_BINOMIAL_BLOCKS)
    successes = 0
    for block in range(trials >> 2):
        w0, w1, w2, w3 = philox4x32(first + uint64(block), c1, c2, c3, k0, k1)
        successes += int(w0 < limit) + int(w1 < limit) + int(w2 < limit) + int(w3 < limit)
    rest = trials & 3
    if rest > 0:
        w0, w1, w2, w3 = philox4x32(first + uint64(trials >> 2), c1, c2, c3, k0, k1)
        successes += int(w0 < limit)
        successes += int(rest > 1 and w1 < limit)
        successes += int(rest > 2 and w2 < limit)
    return successes
