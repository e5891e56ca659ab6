"""Requests and outcomes that no party can take, as an application might send them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

#: Digits that are in every hostile number, and must be in no error.
MARK = "76543"
#: Farther than any number that is counted with.
FAR = 10**30
#: A number that is legal in a context, one that is longer than any, and one beyond float32.
_SMALL, _LONG, _HUGE = 0.07654321, 7.654321, 7.654321e307


def hostile_requests(legal: dict[str, Any], plan: Any) -> Iterator[bytes]:
    """Make requests that are almost right, as JSON, from one that is right."""
    value: Any
    for value in ([], None, "x", {**legal, "unknown": 1}):
        yield msgspec.json.encode(value)
    yield b"{"
    for field, values in legal.items():
        yield msgspec.json.encode({key: v for key, v in legal.items() if key != field})
        for value in (None, "x", {}, True, [[["x"]]]):
            yield msgspec.json.encode({**legal, field: value})
        others = _contexts(values, plan) if isinstance(values, list) else _users(plan, values)
        for other in others:
            if not (_clips(plan) and (repr(_HUGE) in repr(other) or repr(_LONG) in repr(other))):
                yield msgspec.json.encode({**legal, field: other})
        if isinstance(values, list):
            for number in (b"NaN", b"1e400", b"-Infinity"):
                data = msgspec.json.encode({**legal, field: values})
                yield data.replace(b"[[", b"[[" + number + b",", 1).replace(b":[", b":[" + number)
    if "context" in legal:
        arms = plan.facts.arms
        for some in ([], [-1], [arms], [0, 0], [0.5], [FAR], "x", list(range(arms)) * 2):
            yield msgspec.json.encode({**legal, "available": some})


def _contexts(values: list[Any], plan: Any) -> Iterator[list[Any]]:
    """Make contexts of a wrong shape, or with numbers that are none of a context's."""
    if not isinstance(values[0], list):
        yield from ([], [_SMALL] * (len(values) - 1), [_SMALL] * (len(values) + 1))
        yield [_HUGE] * len(values)
        yield [_LONG] * len(values)
        return
    rows, row = [[_SMALL] * len(values[0])] * len(values), [_SMALL] * len(values[0])
    most = plan.facts.arms if hasattr(plan.facts, "arms") else plan.facts.items
    yield from ([], [[]], [[]] * len(rows), [r[1:] for r in rows], [[*r, _SMALL] for r in rows])
    yield [row[1:], *rows[1:]]  # ragged
    yield [*rows[1:], [*row, _SMALL]]
    yield [*rows, row] if len(rows) == most else [row] * (most + 1)  # one too many
    yield [[_HUGE] * len(row)] * len(rows)
    yield [*rows[1:], [-_HUGE, *row[1:]]]
    yield [*rows[1:], [-_LONG, *row[1:]]]


def _users(plan: Any, user: int) -> Iterator[int]:
    """List users who do not live where this one does."""
    home = plan.facts.home
    yield from (-1, len(home), FAR, 7654321)
    yield from (other for other, server in enumerate(home) if server != home[user])


def hostile_outcomes(outcome: Any, plan: Any) -> Iterator[bytes]:
    """Make outcomes that are almost right, as JSON, where one like ``outcome`` is right."""
    value: Any
    for value in ([], None, "x", {}, {"reward": None}, {"reward": "x"}, {"reward": {}}):
        yield msgspec.json.encode(value)
    for number in (b"NaN", b"1e400", b"-Infinity", b'"1"'):
        yield b'{"reward":' + number + b"}"
    yield msgspec.json.encode({"reward": 0, "unknown": 1})
    if isinstance(outcome, np.ndarray):
        none, beyond = [0] * outcome.size, [7654321] * outcome.size
        for good in (none[1:], [*none, 0], beyond, [-1, *none[1:]], [0.5, *none[1:]], [FAR] * 5):
            yield msgspec.json.encode({"reward": good})
        for units in (none[1:], beyond, [-1, *none[1:]], [2**64 - 1, *none[1:]]):
            yield msgspec.json.encode({"reward": none, "units": units})
        yield msgspec.json.encode({"reward": [1, *none[1:]], "units": none})
    elif not _clips(plan):
        for reward in (7654321.0, -7654321.0, _HUGE, -_HUGE, -math.pi):
            yield msgspec.json.encode({"reward": reward})


def _clips(plan: Any) -> bool:
    """Tell whether what is out of bounds is cut down instead of refused."""
    return bool(getattr(getattr(plan, "constants", None), "clip", False))
