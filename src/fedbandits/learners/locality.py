"""A check of Theorem 1's first condition: a score depends on its own arm's records alone."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import ConfigError
from fedbandits.learners.open_rules import OneArm
from fedbandits.random import Key, Purpose, uniforms

_ARMS, _STEPS = 4, 40
_KEY = Key(1, 2)


class NotLocalError(ConfigError):
    """A rule whose scores depend on other arms: SAMBA's owners could not compute them."""


def check_arm_score_locality(rule: Any) -> None:
    """Refuse a rule that breaks arm score locality (Ciucanu et al. 2022, Theorem 1).

    Every arm's scores over a made-up history are computed twice: by a copy of the rule that
    serves all arms in turn, and by one that serves this arm alone. A rule that carries something
    from arm to arm gives itself away: NotLocalError is raised if the two differ.
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
    """Compute an arm's last score of a step in a history that is its own, and what it keeps."""
    history = uniforms(step + 1, _KEY, arm, 0, Purpose.REWARD) < 0.3 + 0.1 * arm
    rewards, score = float(history.sum()), 0.0
    for iteration in range(1, served.iterations + 1):
        score = served.score(iteration, _ARMS + step + 1, step + 1, rewards, memory)
        memory = served.remembered(iteration, bool(history[-1]), memory)
    return score, memory
