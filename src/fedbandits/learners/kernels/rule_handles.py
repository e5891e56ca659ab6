"""Index rules as compiled code meets them, without knowing their types.

Loops are given a :class:`Handle`: the addresses of three C functions, and the scores that one of
them writes. So a new rule compiles its own code, and no loop anew. The C functions are made of what
:func:`.index_rules.declare` was given, see :mod:`fedbandits.learners.open_rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fedbandits._compile import call_float, call_int, inlined
from fedbandits._typing import Floats, Ints, Words64
from fedbandits.learners.kernels.index_rules import Arm
from fedbandits.random import Key


class Handle(NamedTuple):
    """A rule and the arms that it scores, as compiled loops take it: of one type for all rules."""

    packed: int  # address of what the three functions work on
    score: int  # address of int64 score(packed, iteration, step): writes the scores
    note: int  # address of int64 note(packed, iteration, chosen); 0 if the rule keeps nothing
    rate: int  # address of float64 rate(packed, step, arms, 0); 0 if the rule never explores
    scores: Floats  # (arms,): receives the scores


class Records(NamedTuple):
    """Knowledge of some arms, each of its own; a rule changes ``memory`` alone."""

    pulls: Ints  # (arms,)
    rewards: Floats  # (arms,): their sums
    memory: Floats  # (arms, 1): what the rule keeps beside these
    keys: Words64  # (arms, 2): of each arm's own draws


class PackedRule(NamedTuple):
    """All that the functions of a handle work on."""

    rule: Any
    records: Records
    scores: Floats


@inlined
def score_arms(handle: Handle, iteration: int, step: int) -> None:
    """Score all arms, each from its own records, into the handle's array.

    All in one call: called for each arm, a cheap score would cost twice as much.
    """
    call_int(handle.score, handle.packed, iteration, step)


@inlined
def note_chosen(handle: Handle, iteration: int, chosen: int) -> None:
    """Let all arms take note of which of them an iteration chose."""
    if handle.note != 0:
        call_int(handle.note, handle.packed, iteration, chosen)


@inlined
def explores(handle: Handle, step: int, arms: int, draw: float) -> bool:
    """Tell whether a step explores, given a uniform draw that all parties share."""
    return handle.rate != 0 and draw < call_float(handle.rate, handle.packed, step, arms, 0)


def scoring(score: Any) -> Callable[[Any], Any]:
    """Return how the ``score`` of a handle is made of a rule's, for a ``CFunction``."""

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
    """Return how the ``note`` of a handle is made of a rule's ``keep``, for a ``CFunction``."""

    def make(read: Any) -> Any:
        def entry(address: Any, iteration: Any, chosen: Any) -> Any:
            packed = read(address)
            for i in range(packed.scores.size):
                keep(packed.rule, iteration, i == chosen, packed.records.memory[i])
            return 0

        return entry

    return make


def exploring(explore: Any) -> Callable[[Any], Any]:
    """Return how the ``rate`` of a handle is made of a rule's ``explore``, for a ``CFunction``."""

    def make(read: Any) -> Any:
        def entry(address: Any, step: Any, arms: Any, unused: Any) -> Any:
            return explore(read(address).rule, step, arms)

        return entry

    return make
