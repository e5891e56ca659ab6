"""Open index rules: compiled loops get a handle, and parties call methods.

Two threads must not share an open rule: its arrays are overwritten in every step.

:func:`check_arm_score_locality` checks the first condition of Theorem 1 (Ciucanu et al. 2022): a
score depends on its own arm's records alone.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from fedbandits._compile import c_function, laid_out
from fedbandits._typing import Floats
from fedbandits.errors import ConfigError
from fedbandits.learners.kernels import rule_handles
from fedbandits.learners.kernels.index_rules import RULES
from fedbandits.learners.kernels.rule_handles import Handle, PackedRule, Records
from fedbandits.random import Key, Purpose, uniforms

_NO_KEY = Key(0, 0)
#: Size of the made-up history for a check of locality, and the key of its draws.
_ARMS, _STEPS = 4, 40
_KEY = Key(1, 2)


class OpenRule:
    """An index rule, and the records of its arms, which are not copied.

    ``handle`` is for compiled loops, and valid as long as the open rule exists.
    """

    def __init__(self, rule: Any, records: Records) -> None:
        declared, self.records = RULES[type(rule)], records
        self._scores = np.empty(len(records.pulls))
        packed = laid_out(PackedRule(rule, records, self._scores))
        self._kept = rule, packed  # keeps the memory at the address
        self._address = packed.address
        self._score = c_function(rule_handles.scoring, int, 3, declared.score).of(packed)
        self._note = self._rate = None
        if declared.keep:
            self._note = c_function(rule_handles.noting, int, 3, declared.keep).of(packed)
        if declared.explore:
            self._rate = c_function(rule_handles.exploring, float, 4, declared.explore).of(packed)
        self.handle = Handle(
            self._address, self._score.address, self._note.address if self._note else 0,
            self._rate.address if self._rate else 0, self._scores,
        )  # fmt: skip

    def score(self, iteration: int, step: int) -> Floats:
        """Score all arms, (arms,), each from its own records; the next call reuses the array."""
        self._score.call(self._address, iteration, step)
        return self._scores

    def note(self, iteration: int, chosen: int) -> None:
        """Update the memory of all arms after an iteration's choice."""
        if self._note:
            self._note.call(self._address, iteration, chosen)

    def explores(self, step: int, arms: int, draw: float) -> bool:
        """Tell whether a step explores, given a uniform draw that all parties share."""
        return bool(self._rate and draw < self._rate.call(self._address, step, arms, 0))


class OneArm:
    """An index rule for one arm, whose records are given with every call.

    ``key`` names the arm's own draws; :meth:`explores` alone needs no key.
    """

    def __init__(self, rule: Any, key: Key = _NO_KEY) -> None:
        self._records = Records(
            np.zeros(1, np.int64), np.zeros(1), np.zeros((1, 1)), np.array([key], np.uint64)
        )
        self._open = OpenRule(rule, self._records)
        self.explores = self._open.explores
        self.iterations = len(RULES[type(rule)].iterations)

    def score(self, iteration: int, step: int, pulls: int, rewards: float, memory: float) -> float:
        """Return the arm's score; the parameters are those of :func:`.index_rules.declare`."""
        own = self._records
        own.pulls[0], own.rewards[0], own.memory[0, 0] = pulls, rewards, memory
        return float(self._open.score(iteration, step)[0])

    def remembered(self, iteration: int, chosen: bool, memory: float) -> float:
        """Return the rule's memory after an iteration has chosen this arm, or another arm."""
        self._records.memory[0, 0] = memory
        self._open.note(iteration, 0 if chosen else -1)
        return float(self._records.memory[0, 0])


class NotLocalError(ConfigError):
    """A rule whose scores depend on other arms, so SAMBA's owners could not compute them."""


def check_arm_score_locality(rule: Any) -> None:
    """Refuse a rule that breaks arm score locality (Ciucanu et al. 2022, Theorem 1).

    Every arm's scores over a made-up history are computed twice: by a copy of the rule that serves
    all arms in turn, and by a copy that serves this arm alone. A rule that carries state from arm
    to arm gives different scores: NotLocalError is raised then.
    """
    together = copy.deepcopy(rule)
    served = np.array([_play(together, arm) for arm in range(_ARMS)])
    jointly = _play_jointly(copy.deepcopy(rule))
    alone = np.array([_play(copy.deepcopy(rule), arm) for arm in range(_ARMS)])
    if not (np.array_equal(alone, served) and np.array_equal(alone, jointly)):
        raise NotLocalError(
            f"{type(rule).__name__}: an arm's score depends on other arms; SAMBA needs scores that "
            "each data owner can compute alone (arm score locality)"
        )


def _play_jointly(rule: Any) -> Floats:
    served, memory = OneArm(rule, _KEY), [1.0 / _ARMS] * _ARMS
    scores = np.empty((_ARMS, _STEPS))
    for step in range(_STEPS):
        for arm in range(_ARMS):
            scores[arm, step], memory[arm] = _score(served, arm, step, memory[arm])
    return scores


def _play(rule: Any, arm: int) -> Floats:
    served, memory = OneArm(rule, _KEY), 1.0 / _ARMS
    scores = np.empty(_STEPS)
    for step in range(_STEPS):
        scores[step], memory = _score(served, arm, step, memory)
    return scores


def _score(served: OneArm, arm: int, step: int, memory: float) -> tuple[float, float]:
    """Compute an arm's last score of a step, and its memory, from a history of its own."""
    history = uniforms(step + 1, _KEY, arm, 0, Purpose.REWARD) < 0.3 + 0.1 * arm
    rewards, score = float(history.sum()), 0.0
    for iteration in range(1, served.iterations + 1):
        score = served.score(iteration, _ARMS + step + 1, step + 1, rewards, memory)
        memory = served.remembered(iteration, bool(history[-1]), memory)
    return score, memory
