"""Messages that must be refused in place of the right one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedbandits.federation.messages import Message, pack

_HUGE = 2**62
#: Messages with one of these say which of their kind they are. Of others an authenticated party
#: may send as many as it likes: a server uploads what it says that it has.
COUNTED = {"release", "exchange", "phase", "step", "round"}


def absurd(message: Message) -> Iterator[dict[str, Any]]:
    """Fields of one that must be refused: numbers beyond all bounds, statistics that are none."""
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name in ("sender", "receiver", "version", "terms", "number"):
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            yield from ({name: other} for other in (_HUGE, -1) if other != value)
        if isinstance(value, bytes) and value and len(value) % 8 == 0:
            for entry in (1e200, 1.7e308, -1e16, np.nan, -np.inf):
                yield {name: pack(np.full(len(value) // 8, entry))}
            yield {name: value[:-1]}
