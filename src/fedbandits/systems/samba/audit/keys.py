"""Every key that can be found in a party or a message, and masks that hide nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.crypto.keystream import KEY_BYTES
from fedbandits.crypto.paillier import PrivateKey
from fedbandits.federation.messages import Message


def keys_held(party: Any) -> tuple[set[bytes], list[PrivateKey]]:
    """Every secret that can be found in a party: 32-byte strings, and Paillier keys."""
    symmetric: set[bytes] = set()
    private: list[PrivateKey] = []
    seen: set[int] = set()
    queue = [party]
    while queue:
        thing = queue.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, bytes):
            symmetric |= {thing} if len(thing) == KEY_BYTES else set()
        elif isinstance(thing, PrivateKey):
            private.append(thing)
        elif isinstance(thing, Mapping):
            queue.extend(itertools.chain(thing.keys(), thing.values()))
        elif isinstance(thing, list | tuple | set):
            queue.extend(thing)
        elif isinstance(thing, msgspec.Struct):
            queue.extend(getattr(thing, field) for field in thing.__struct_fields__)
        elif type(thing).__module__.startswith("fedbandits"):
            queue.extend(vars(thing).values() if hasattr(thing, "__dict__") else ())
    return symmetric, private


def common_divisor(values: Floats) -> float:
    """The largest odd number that divides all significands: an unrounded mask, if there is one."""
    significands = [int(np.ldexp(np.frexp(value)[0], 53)) for value in values if value != 0.0]
    divisor = math.gcd(*significands)
    return float(divisor >> ((divisor & -divisor).bit_length() - 1)) if divisor else 1.0


def keys_in(message: Message) -> Iterator[bytes]:
    """Fields of a message that may be keys."""
    for field in message.__struct_fields__:
        value = getattr(message, field)
        if isinstance(value, bytes) and len(value) == KEY_BYTES and field != "sealed":
            yield value
