"""Rules whose scores are public functions of an arm's sum of rewards and number of pulls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.index_rules import (
    KLUCB,
    UCB,
    DecreasingEpsilonGreedy,
    EpsilonGreedy,
    Softmax,
    UCBTuned,
)
from fedbandits.learners.kernels.rule_handles import Records
from fedbandits.learners.open_rules import OpenRule


def _as_owners(rule: Any, mean: Floats, pulls: Ints, step: int) -> Floats:
    """Score arms as owners do, whose rule needs nothing but sums and pulls."""
    arms, sums = len(pulls), np.rint(mean * pulls)
    memory, keys = np.zeros((arms, 1)), np.zeros((arms, 2), np.uint64)
    records = Records(np.ascontiguousarray(pulls), sums, memory, keys)
    return OpenRule(rule, records).score(1, step)


#: Scores as functions of means, pulls and step, for the rules that have such.
SCORES_KNOWN: dict[type, Callable[[Any, Floats, Ints, int], Floats]] = {
    UCB: lambda rule, mean, pulls, step: mean + np.sqrt(rule.scale * np.log(step) / pulls),
    UCBTuned: _as_owners,
    KLUCB: _as_owners,
    Softmax: lambda rule, mean, pulls, step: np.exp(mean / rule.temperature),
    EpsilonGreedy: lambda rule, mean, pulls, step: mean,
    DecreasingEpsilonGreedy: lambda rule, mean, pulls, step: mean,
}
#: Rules whose larger score wins, as a public function of (sᵢ, nᵢ, t).
READS_OTHER = (UCB, UCBTuned, KLUCB, EpsilonGreedy, DecreasingEpsilonGreedy)
