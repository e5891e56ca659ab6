"""What participants of a SAMBA run guess about pulls from what no encryption hides.

The Controller knows the order of Comp's lists, and which steps explore; whoever watches the
messages knows whose answer came last. Each guess is held against what is right by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits.learners.kernels.index_rules import UCB, DecreasingEpsilonGreedy, EpsilonGreedy
from fedbandits.privacy.error_rates import rate_bound
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.audit.attack import SCORES_KNOWN, TOLERANCE
from fedbandits.systems.samba.messages import Drawn, Score, Sum
from fedbandits.systems.samba.silent.messages import SumShare, Word


class Hits(NamedTuple):
    """How many guesses were right, of how many, and the share that chance gives."""

    right: int
    of: int
    chance: float

    @property
    def beats_chance(self) -> bool:
        """Whether chance alone would do so less than once in a million."""
        return 1.0 - rate_bound(self.of - self.right, self.of, 1e-6) > self.chance


def pulled_arms(run: PartiesReplicate) -> dict[int, int]:
    """The arm of every step that was decided on, by step."""
    arms = len(run.of("owner"))
    return {step: arm for step, arm, _ in sorted(run.stage.pulled) if step > arms}


def exploring_steps(run: PartiesReplicate) -> list[int]:
    """Steps that explore, which the Controller and all owners know."""
    return [step for step in pulled_arms(run) if run.one("controller").draws.explores(step)]


def guess_by_place(run: PartiesReplicate, steps: Sequence[int]) -> Hits:
    """Who knows the order guesses one place: that which the first half of the steps chose most.

    Parameters
    ----------
    run
        SAMBA's parties, played to the end.
    steps
        Steps whose arm is guessed; the first half is learned from.
    """
    controller, pulled = run.one("controller"), pulled_arms(run)
    last = controller.agreement.iterations
    places = [int(controller.draws.places(step, last)[pulled[step]]) for step in steps]
    half = len(places) // 2
    ((usual, _),) = Counter(places[:half]).most_common(1) or ((0, 0),)
    return Hits(places[half:].count(usual), len(places) - half, 1.0 / controller.agreement.arms)


def guess_by_drawn_score(run: PartiesReplicate, steps: Sequence[int]) -> Hits:
    """Who knows the order and the scores that the Controller drew names the largest's owner.

    Parameters
    ----------
    run
        SAMBA's parties, played to the end.
    steps
        Steps that explore; where no scores were drawn, the guess is owner 0.
    """
    controller, pulled = run.one("controller"), pulled_arms(run)
    drawn = {
        message.step: int(np.argmax(message.scores))
        for _, message in run.network.transcript.deliveries
        if isinstance(message, Drawn)
    }
    right = 0
    for step in steps:
        places = controller.draws.places(step, 1).tolist()
        right += pulled[step] == (places.index(drawn[step]) if step in drawn else 0)
    return Hits(right, len(steps), 1.0 / controller.agreement.arms)


def guess_by_last_answer(run: PartiesReplicate) -> Hits:
    """Whoever watches the owners' messages takes the last one to answer for who pulled.

    By chance is right who always names the arm that is pulled most.
    """
    pulled = pulled_arms(run)
    last: dict[int, str] = {}
    budget = run.one("controller").agreement.budget
    for _, message in run.network.transcript.deliveries:
        if isinstance(message, Score | Word) and message.iteration == 1:
            last[message.step - 1] = message.sender
        elif isinstance(message, Sum | SumShare):
            last[budget] = message.sender
    steps = [step for step in pulled if step in last]
    right = sum(last[step] == f"owner-{pulled[step]}" for step in steps)
    most = max(Counter(pulled[step] for step in steps).values())
    return Hits(right, len(steps), most / len(steps))


def other_sums(run: PartiesReplicate) -> Iterator[tuple[int, frozenset[int]]]:
    """With two owners: the other's sums of rewards that explain owner 0's own bits.

    Its bits tell owner 0 how often the other has pulled, and which score was larger; its own it
    knows. That bounds the other's sum.

    Yields
    ------
    int, frozenset
        The other's true sum before a step's end, and all those that are possible.
    """
    rule, mine, other, possible = run.one("comp").agreement.rule, [0, 0], [0, 0], {0}
    for step, arm, reward in sorted(run.stage.pulled):
        if step > 2 and not run.one("controller").draws.explores(step):
            possible = {s for s in possible if _explains(rule, step, mine, (s, other[1]), arm)}
            yield other[0], frozenset(possible)
        count = mine if arm == 0 else other
        count[0], count[1] = count[0] + int(reward), count[1] + 1
        if arm == 1:
            possible |= {s + 1 for s in possible}


def _explains(rule: object, step: int, mine: Sequence[int], other: Sequence[int], arm: int) -> bool:
    sums, pulls = np.array([mine[0], other[0]]), np.array([mine[1], other[1]])
    own, theirs = SCORES_KNOWN[type(rule)](rule, sums / pulls, pulls, step)
    margin = TOLERANCE * max(own, theirs)
    return bool(own >= theirs - margin if arm == 0 else theirs >= own - margin)


#: Rules whose larger score wins, as a public function of (sᵢ, nᵢ, t).
READS_OTHER = (UCB, EpsilonGreedy, DecreasingEpsilonGreedy)
