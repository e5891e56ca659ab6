"""Index rules for compiled code, which does not know their types.

Loops are given a :class:`Handle`: the addresses of three C functions, and the scores that one of
them writes. So a new rule compiles its own code, and no loop anew. The C functions are made of the
arguments of :func:`.index_rules.declare`, see :mod:`fedbandits.learners.open_rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fedbandits._compile import call_float, call_int, inlined
from fedbandits._typing import Floats, Ints, Words64
from fedbandits.learners.kernels.index_rules import Arm
from fedbandits.random import Key


class Handle(NamedTuple):
    """A rule and its arms for compiled loops: of one type for all rules."""

    packed: int  # address of the argument of the three functions
    score: int  # address of int64 score(packed, iteration, step): writes the scores
    note: int  # address of int64 note(packed, iteration, chosen); 0 if the rule keeps nothing
    rate: int  # address of float64 rate(packed, step, arms, 0); 0 if the rule never explores
    scores: Floats  # (arms,): receives the scores


class Records(NamedTuple):
    """Records of some arms, each of its own; a rule changes ``memory`` alone."""

    pulls: Ints  # (arms,)
    rewards: Floats  # (arms,): their sums
    memory: Floats  # (arms, 1): the rule's memory
    keys: Words64  # (arms, 2): of each arm's own draws


class PackedRule(NamedTuple):
    """The argument of a handle's functions."""

    rule: Any
    records: Records
    scores: Floats


@inlined
def score_arms(handle: Handle, iteration: int, step: int) -> None:
    """Score all arms, each from its own records, into the handle's array.

    One call scores all arms: a call for each arm would double the cost of a cheap score.
    """
    call_int(handle.score, handle.packed, iteration, step)


@inlined
def note_chosen(handle: Handle, iteration: int, chosen: int) -> None:
    """Update the memory of all arms after an iteration's choice."""
    if handle.note != 0:
        call_int(handle.note, handle.packed, iteration, chosen)


@inlined
def explores(handle: Handle, step: int, arms: int, draw: float) -> bool:
    """Tell whether a step explores, given a uniform draw that all parties share."""
    return handle.rate != 0 and draw < call_float(handle.rate, handle.packed, step, arms, 0)


def scoring(score: Any) -> Callable[[Any], Any]:
    """Return a maker of a handle's ``score`` from a rule's ``score``, for a ``CFunction``."""

    def make(read: Any) -> Any:
        def entry(address: Any, iteration: Any, step: Any) -> Any:
            packed = read(address)
            pulls, rewards, memory, keys = packed.records
            for i in range(packed.scores.size):
                arm = Arm(pulls[i], rewards[i], Key(keys[i, 0], keys[i, 1]))
                packed.scores[i] = score(packed.rule, iteration, step, arm, memory[i])
            return 0

        return entry

    return make


def noting(keep: Any) -> Callable[[Any], Any]:
    """Return a maker of a handle's ``note`` from a rule's ``keep``, for a ``CFunction``."""

    def make(read: Any) -> Any:
        def entry(address: Any, iteration: Any, chosen: Any) -> Any:
            packed = read(address)
            for i in range(packed.scores.size):
                keep(packed.rule, iteration, i == chosen, packed.records.memory[i])
            return 0

        return entry

    return make


def exploring(explore: Any) -> Callable[[Any], Any]:
    """Return a maker of a handle's ``rate`` from a rule's ``explore``, for a ``CFunction``."""

    def make(read: Any) -> Any:
        def entry(address: Any, step: Any, arms: Any, unused: Any) -> Any:
            return explore(read(address).rule, step, arms)

        return entry

    return make
