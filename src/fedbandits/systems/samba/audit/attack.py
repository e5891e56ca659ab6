"""Attacks: statistics that Comp works out from its view, keys of parties, guesses about pulls.

The paper's Figure 7 says that Comp works out nothing. But masked scores of one step share one
unknown factor. Where a score is a public function of an arm's sum of rewards and number of pulls,
ratios of scores tell these two numbers of every arm, and one arm changes a step. Identities stay
hidden: Comp learns the multiset {(sᵢ, nᵢ)}, hence the cumulative reward.

The Controller knows the order of Comp's lists, and the steps that explore. An observer of the
messages knows the owner of the last answer. Each guess is compared with chance.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.crypto.keystream import KEY_BYTES
from fedbandits.crypto.paillier import PrivateKey
from fedbandits.federation.messages import Message
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
from fedbandits.privacy.error_rates import rate_bound
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.audit.views import Opened
from fedbandits.systems.samba.ciphers import BIT, BITS, SCORES, floats
from fedbandits.systems.samba.messages import BitList, Drawn, Score, ScoreList, Sum, SumShare, Word

#: Largest relative distance of a score from a hypothesis: scores and their masking are computed to
#: about 1e-15.
TOLERANCE = 1e-12
#: Readings of the winner's place as an owner: unchanged, or through the server's own order.
_READINGS = ("won", "unshuffled", "shuffled")
#: Most hypotheses that are followed; later steps count as lost.
_MOST = 4096


def _as_owners(rule: Any, mean: Floats, pulls: Ints, step: int) -> Floats:
    """Score arms as owners do, by a rule of sums and pulls alone."""
    arms, sums = len(pulls), np.rint(mean * pulls)
    memory, keys = np.zeros((arms, 1)), np.zeros((arms, 2), np.uint64)
    records = Records(np.ascontiguousarray(pulls), sums, memory, keys)
    return OpenRule(rule, records).score(1, step)


#: Scores as functions of means, pulls and step, by rule.
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


class Observation(NamedTuple):
    """Masked scores, and Comp's choice, after a comparison."""

    step: int
    values: Floats  # (arms,) masked scores by place; empty in a step that explores
    chosen: int  # Comp's place


class Recovery(NamedTuple):
    """Statistics of all owners that are possible, for Comp, before a step."""

    step: int
    candidates: list[Ints]  # each (arms, 2): sᵢ and nᵢ in lexicographic order


def comp_observations(run: PartiesReplicate) -> Iterator[Observation]:
    """Open the lists of a run with Comp's key; first iterations only."""
    comp = run.one("comp")
    lists, answers = {}, {}
    for _, message in run.network.transcript.deliveries:
        if isinstance(message, ScoreList):
            lists[message.step, message.iteration] = message.sealed
        elif isinstance(message, BitList):
            answers[message.step, message.iteration] = message.sealed
    for turn, sealed in sorted(answers.items()):
        if turn[1] > 1:
            continue
        bits = comp.reopen(BITS, *turn, sealed)
        values = np.empty(0)
        if turn in lists:
            values = floats(comp.reopen(SCORES, *turn, lists[turn]))
        yield Observation(turn[0], values, bits.index(BIT[1]))


def recover_statistics(
    observations: Iterable[Observation], arms: int, rule: Any
) -> Iterator[Recovery]:
    """Recover {(sᵢ, nᵢ)} before every step from score ratios alone.

    The observations are Comp's after every step, in order, see :func:`comp_observations`.
    The rule's scores must be functions of (sᵢ, nᵢ, t), see ``SCORES_KNOWN``. Yields all multisets
    that explain all observations so far; a single multiset where the attack succeeds.
    """
    hypotheses = [_first_pulls(ones, arms) for ones in range(arms + 1)]
    for seen in observations:
        if len(seen.values) == 0:  # any arm may have been pulled
            hypotheses = _unique(_after(h, range(arms)) for h in hypotheses)
        else:
            fitting = [fit for h in hypotheses if (fit := _explain(h, seen, rule)) is not None]
            yield Recovery(seen.step, [_canonical(hypothesis) for hypothesis in fitting])
            hypotheses = _unique(_after(h, _chosen(seen)) for h in fitting)
        if len(hypotheses) > _MOST:
            return


def _first_pulls(ones: int, arms: int) -> Ints:
    """Return the first pulls: every arm once, so many of them with reward 1."""
    return np.array([(1, 1)] * ones + [(0, 1)] * (arms - ones), dtype=np.int64)


def _explain(hypothesis: Ints, seen: Observation, rule: Any) -> Ints | None:
    """Return the hypothesis in falling order of scores, if some mask explains the observation."""
    pulls = hypothesis[:, 1]
    scores = SCORES_KNOWN[type(rule)](rule, hypothesis[:, 0] / pulls, pulls, seen.step)
    order = np.argsort(-scores, kind="stable")
    predicted, falling = scores[order], -np.sort(-seen.values)
    if predicted.sum() == 0.0:
        return hypothesis[order] if falling.sum() == 0.0 else None
    mask = falling.sum() / predicted.sum()
    error = np.abs(falling - mask * predicted).max()
    return hypothesis[order] if error <= TOLERANCE * falling[0] else None


def _chosen(seen: Observation) -> Ints:
    """List the ranks that the chosen arm may have, in falling order of scores."""
    falling = -np.sort(-seen.values)
    close = np.abs(falling - seen.values[seen.chosen]) <= TOLERANCE * falling[0]
    return np.flatnonzero(close)


def _after(hypothesis: Ints, ranks: Iterable[int]) -> Iterator[Ints]:
    """Pull an arm of these ranks once more, with reward 0 or 1."""
    for rank in ranks:
        for reward in (0, 1):
            following = hypothesis.copy()
            following[rank] += (reward, 1)
            yield following


def _canonical(hypothesis: Ints) -> Ints:
    return hypothesis[np.lexsort((hypothesis[:, 1], hypothesis[:, 0]))]


def _unique(groups: Iterable[Iterable[Ints]]) -> list[Ints]:
    return list({(c := _canonical(h)).tobytes(): c for group in groups for h in group}.values())


class Recovered(NamedTuple):
    """Counts of comparisons before which Comp knows hidden numbers exactly."""

    statistics: int  # comparisons before which Comp knows {(sᵢ, nᵢ)}
    rewards: int  # comparisons before which Comp knows the cumulative reward
    of: int  # all comparisons


def count_recovered(run: PartiesReplicate) -> Recovered:
    """Count Comp's exact knowledge before each comparison."""
    truth, agreed = dict(_true_statistics(run)), run.one("comp").agreement
    observations = list(comp_observations(run))
    statistics = rewards = 0
    for recovery in recover_statistics(observations, agreed.arms, agreed.rule):
        true, candidates = truth[recovery.step], recovery.candidates
        statistics += len(candidates) == 1 and np.array_equal(candidates[0], true)
        sums = {int(candidate[:, 0].sum()) for candidate in candidates}
        rewards += sums == {int(true[:, 0].sum())}
    return Recovered(statistics, rewards, sum(len(seen.values) > 0 for seen in observations))


def _true_statistics(run: PartiesReplicate) -> Iterator[tuple[int, Ints]]:
    """List {(sᵢ, nᵢ)} before every step, from the pulls of all owners."""
    arms = len(run.of("owner"))
    counts = np.zeros((arms, 2), np.int64)
    for step, arm, reward in run.stage.pulled:
        if step > arms:
            yield step, _canonical(counts)
        counts[arm] += (int(reward), 1)


def keys_of_party(party: Any) -> tuple[set[bytes], list[PrivateKey]]:
    """Find every secret in a party: 32-byte strings, and Paillier keys."""
    symmetric: set[bytes] = set()
    private: list[PrivateKey] = []
    seen: set[int] = set()
    queue = [party]
    while queue:
        value = queue.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, bytes):
            symmetric |= {value} if len(value) == KEY_BYTES else set()
        elif isinstance(value, PrivateKey):
            private.append(value)
        elif isinstance(value, Mapping):
            queue.extend(itertools.chain(value.keys(), value.values()))
        elif isinstance(value, list | tuple | set):
            queue.extend(value)
        elif isinstance(value, msgspec.Struct):
            queue.extend(getattr(value, field) for field in value.__struct_fields__)
        elif type(value).__module__.startswith("fedbandits"):
            queue.extend(vars(value).values() if hasattr(value, "__dict__") else ())
    return symmetric, private


def common_divisor(values: Floats) -> float:
    """Return the largest odd divisor of all significands, which an unrounded mask would be."""
    significands = [int(np.ldexp(np.frexp(value)[0], 53)) for value in values if value != 0.0]
    divisor = math.gcd(*significands)
    return float(divisor >> ((divisor & -divisor).bit_length() - 1)) if divisor else 1.0


def keys_of_message(message: Message) -> Iterator[bytes]:
    """Find the fields of a message that may be keys."""
    for field in message.__struct_fields__:
        value = getattr(message, field)
        if isinstance(value, bytes) and len(value) == KEY_BYTES and field != "sealed":
            yield value


class Hits(NamedTuple):
    """Counts of right guesses and of all guesses, and the share of right guesses by chance."""

    right: int
    of: int
    chance: float

    @property
    def beats_chance(self) -> bool:
        """True if chance alone would do so less than once in a million."""
        return 1.0 - rate_bound(self.of - self.right, self.of, 1e-6) > self.chance


def pulled_arms(run: PartiesReplicate) -> dict[int, int]:
    """Return the arm of every step after the first pulls, by step."""
    arms = len(run.of("owner"))
    return {step: arm for step, arm, _ in sorted(run.stage.pulled) if step > arms}


def exploring_steps(run: PartiesReplicate) -> list[int]:
    """List the steps that explore, which the Controller and all owners know."""
    return [step for step in pulled_arms(run) if run.one("controller").draws.explores(step)]


def guess_by_place(run: PartiesReplicate, steps: Sequence[int]) -> Hits:
    """Predict, knowing the order, the most frequent place of the first half of the steps.

    The arms of the second half are guessed.
    """
    controller, pulled = run.one("controller"), pulled_arms(run)
    last = controller.agreement.iterations
    places = [int(controller.draws.places(step, last)[pulled[step]]) for step in steps]
    half = len(places) // 2
    ((usual, _),) = Counter(places[:half]).most_common(1) or ((0, 0),)
    return Hits(places[half:].count(usual), len(places) - half, 1.0 / controller.agreement.arms)


def guess_by_drawn_score(run: PartiesReplicate, steps: Sequence[int]) -> Hits:
    """Predict, knowing the order and the scores that the Controller drew, the largest's owner.

    Where no scores were drawn, the guess is owner 0.
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
    """Take the last owner to answer for the owner that pulled.

    The guess by chance always names the arm with most pulls.
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


def guess_by_winner(run: PartiesReplicate, opened: Sequence[Opened]) -> Hits:
    """Take the winner's place, unchanged or through the server's order, for an owner.

    ``opened`` are the server's results of every turn; their first half shows the best reading.
    """
    pulled, iterations = pulled_arms(run), run.one("controller").agreement.iterations
    last = opened[iterations - 1 :: iterations]
    arms = [pulled[step] for step in sorted(pulled)]
    half, count = len(arms) // 2, len(run.of("owner"))
    hits = {
        reading: [int(getattr(o, reading)[0]) == arm for o, arm in zip(last, arms, strict=True)]
        for reading in _READINGS
    }
    best = max(_READINGS, key=lambda reading: sum(hits[reading][:half]))
    return Hits(sum(hits[best][half:]), len(arms) - half, 1.0 / count)


def other_sums(run: PartiesReplicate) -> Iterator[tuple[int, frozenset[int]]]:
    """List owner 1's sums of rewards that explain owner 0's bits, in a run of two owners.

    Its bits tell owner 0 the number of owner 1's pulls, and the larger of both scores. With owner
    0's own score they bound owner 1's sum. Yields the true sum before a step's end, and all
    possible sums.
    """
    rule, mine, other, possible = run.one("comp").agreement.rule, [0, 0], [0, 0], {0}
    for step, arm, reward in sorted(run.stage.pulled):
        if step > 2 and not run.one("controller").draws.explores(step):
            possible = {s for s in possible if _allows(rule, step, mine, (s, other[1]), arm)}
            yield other[0], frozenset(possible)
        count = mine if arm == 0 else other
        count[0], count[1] = count[0] + int(reward), count[1] + 1
        if arm == 1:
            possible |= {s + 1 for s in possible}


def _allows(rule: object, step: int, mine: Sequence[int], other: Sequence[int], arm: int) -> bool:
    sums, pulls = np.array([mine[0], other[0]]), np.array([mine[1], other[1]])
    own, theirs = SCORES_KNOWN[type(rule)](rule, sums / pulls, pulls, step)
    margin = TOLERANCE * max(own, theirs)
    return bool(own >= theirs - margin if arm == 0 else theirs >= own - margin)
