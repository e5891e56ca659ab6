"""What Comp can work out from what it sees (the paper's Figure 7 says: nothing).

Masked scores of one step share one unknown factor. A UCB score is a public function of an arm's
sum of rewards and number of pulls, and one arm changes a step, so ratios of scores tell which.
Identities stay hidden: Comp learns the multiset {(sᵢ, nᵢ)}, hence the cumulative reward.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._typing import Floats, Ints
from fedbandits.systems.samba.draws import BIT_BYTES, BITS, SCORE_BYTES, SCORES
from fedbandits.systems.samba.federate import COMP, FederatedRun
from fedbandits.systems.samba.messages import BitList, ScoreList
from fedbandits.systems.samba.packets import floats
from fedbandits.systems.samba.plan import Plan

#: How far, relatively, a score may lie from what a hypothesis predicts: masks are applied without
#: rounding, scores themselves are computed to about 1e-15.
_TOLERANCE = 1e-12
#: More hypotheses than this are never needed in practice; beyond it the step counts as lost.
_MOST = 512


class Observation(NamedTuple):
    """What Comp holds after one comparison."""

    step: int
    iteration: int
    values: Floats  # (arms,) masked scores by place
    chosen: int  # the place it chose


class Recovery(NamedTuple):
    """What is left of the owners' secrets before each step, in Comp's eyes."""

    step: int
    candidates: list[Ints]  # each (arms, 2): sᵢ and nᵢ in lexicographic order


def comp_observations(run: FederatedRun) -> Iterator[Observation]:
    """Open what Comp received in a run, with the key that Comp has.

    Parameters
    ----------
    run
        A finished run of SAMBA's parties.
    """
    chosen = {
        (message.step, message.iteration): message.sealed
        for _, message in run.network.transcript.deliveries
        if isinstance(message, BitList)
    }
    for _, message in run.network.transcript.deliveries:
        if isinstance(message, ScoreList) and message.receiver == COMP:
            turn = (message.step, message.iteration)
            high, low = floats(run.comp.reopen(SCORES, SCORE_BYTES, *turn, message.sealed))
            bits = run.comp.reopen(BITS, BIT_BYTES, *turn, chosen[turn])
            yield Observation(*turn, high + low, bits.index(b"\x01"))


def recover_statistics(
    observations: Iterable[Observation], arms: int, scale: float = 2.0
) -> Iterator[Recovery]:
    """Recover {(sᵢ, nᵢ)} before every step of a UCB run, from score ratios alone.

    Parameters
    ----------
    observations
        See :func:`comp_observations`; every step, in order.
    arms
        K.
    scale
        Of :class:`~fedbandits.learners.index_rules.UCB`.

    Yields
    ------
    Recovery
        All multisets that explain everything seen so far; one where the attack succeeds.
    """
    hypotheses = [_first_pulls(ones, arms) for ones in range(arms + 1)]
    for seen in observations:
        order = np.argsort(-seen.values, kind="stable")
        rank = int(np.flatnonzero(order == seen.chosen)[0])
        fitting = [
            sorted_by_score
            for hypothesis in hypotheses
            if (sorted_by_score := _explain(hypothesis, seen, seen.values[order], scale))
            is not None
        ]
        yield Recovery(seen.step, [_canonical(hypothesis) for hypothesis in fitting])
        hypotheses = _unique(
            following for hypothesis in fitting for following in _after(hypothesis, rank)
        )
        if len(hypotheses) > _MOST:
            return


def _first_pulls(ones: int, arms: int) -> Ints:
    """Every arm pulled once, so many of them with reward 1."""
    return np.array([(1, 1)] * ones + [(0, 1)] * (arms - ones), dtype=np.int64)


def _explain(hypothesis: Ints, seen: Observation, falling: Floats, scale: float) -> Ints | None:
    """The hypothesis in falling order of its scores, if some mask turns them into those seen."""
    sums, pulls = hypothesis[:, 0], hypothesis[:, 1]
    scores = sums / pulls + np.sqrt(scale * math.log(seen.step) / pulls)
    order = np.argsort(-scores, kind="stable")
    predicted = scores[order]
    mask = falling.sum() / predicted.sum()
    error = np.abs(falling - mask * predicted).max()
    return hypothesis[order] if error <= _TOLERANCE * falling[0] else None


def _after(hypothesis: Ints, rank: int) -> Iterator[Ints]:
    """The chosen arm was pulled once more, with reward 0 or 1."""
    for reward in (0, 1):
        following = hypothesis.copy()
        following[rank] += (reward, 1)
        yield following


def _canonical(hypothesis: Ints) -> Ints:
    return hypothesis[np.lexsort((hypothesis[:, 1], hypothesis[:, 0]))]


def _unique(hypotheses: Iterable[Ints]) -> list[Ints]:
    return list({_canonical(h).tobytes(): h for h in hypotheses}.values())


def success_rate(run: FederatedRun) -> float:
    """Share of a UCB run's steps before which Comp knows {(sᵢ, nᵢ)} exactly.

    Parameters
    ----------
    run
        A finished run.
    """
    plan: Plan = run.plan
    truth = dict(_true_statistics(run))
    recovered = sum(
        len(recovery.candidates) == 1
        and np.array_equal(recovery.candidates[0], truth[recovery.step])
        for recovery in recover_statistics(comp_observations(run), plan.arms, plan.rule.scale)
    )
    return recovered / (plan.budget - plan.arms)


def _true_statistics(run: FederatedRun) -> Iterator[tuple[int, Ints]]:
    """{(sᵢ, nᵢ)} before every step, from what the owners know."""
    counts = np.zeros((run.plan.arms, 2), np.int64)
    for step, arm, reward in run.pulled:
        if step > run.plan.arms:
            yield step, _canonical(counts)
        counts[arm] += (int(reward), 1)


def matched_probabilities(seen: Observation) -> NDArray[np.float64]:
    """Softmax or Pursuit: the exact probabilities of a step, by place; the factor cancels."""
    probabilities: Floats = seen.values / seen.values.sum()
    return probabilities


def shows_exploration(seen: Observation) -> bool:
    """ε-greedy without the shortcut: a step that explores has equal scores."""
    return bool((seen.values == seen.values[0]).all())
