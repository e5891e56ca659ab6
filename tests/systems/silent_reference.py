"""A selection of silent SAMBA written down once more, with both servers and what reaches them.

Many runs are played side by side: a row of an array is a run. Owners are plain Python (NumPy).
``flaw`` names a mistake that a test wants to see caught.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits.crypto.kernels.comparison import FIRST_WORDS, SECOND_WORDS
from fedbandits.crypto.kernels.dealing import (
    deal,
    first_width,
    masked_share,
    new_for_first,
    new_for_second,
    permuted_share,
    second_width,
    unit_vector,
)
from fedbandits.crypto.shares import comparisons
from fedbandits.systems.samba.audit.views import (
    FirstView,
    SecondView,
    expanded_first,
    expanded_second,
    second_share,
)
from fedbandits.systems.samba.silent import Contests

TIE_BITS, SCALE = 8, 2.0**40
#: permute() leaves everything where it is if every word is this one.
STAND = np.uint64(2**64 - 1)
TWO = np.uint64(2)

#: Mistakes in what is dealt, in pads, and in messages.
DEALT = (
    "first order stands", "second order stands", "no shuffle", "orders kept", "triples again",
    "r again", "short r", "mask again", "one seed", "block again",
)  # fmt: skip
SENT = ("pads kept", "answer pad is the pad", "winner told")
SCORED = ("ties equal",)


class Turn(NamedTuple):
    first: FirstView
    second: SecondView
    winners: np.ndarray  # (runs,) by owner: who reads 1
    told: np.ndarray  # (runs, arms) what the Controller sends the owners


def uniform(draws, *shape) -> np.ndarray:
    return draws.integers(0, 2**64, shape, np.uint64)


class Servers:
    """Both servers, the dealer, and the pads, of many runs."""

    def __init__(self, runs, arms, arity, draws, flaw="") -> None:
        self.runs, self.arms, self.arity, self.draws, self.flaw = runs, arms, arity, draws, flaw
        self.compared = comparisons(arms, arity)
        self.kept = None

    def seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """Words of both servers' seeds for one selection."""
        n, c = self.arms, self.compared
        first = uniform(self.draws, self.runs, first_width(n, c))
        second = uniform(self.draws, self.runs, second_width(n, c))
        if self.kept is None:
            self.kept = first.copy(), second.copy()
        of_first = first[:, 3 * n :].reshape(self.runs, c, FIRST_WORDS)
        of_second = second[:, 5 * n :].reshape(self.runs, c, SECOND_WORDS)
        order_one, order_two = np.s_[:, :n], np.s_[:, 4 * n : 5 * n]
        if self.flaw in ("first order stands", "no shuffle"):
            first[order_one] = STAND
        if self.flaw in ("second order stands", "no shuffle"):
            second[order_two] = STAND
        if self.flaw == "orders kept":
            first[order_one], second[order_two] = self.kept[0][order_one], self.kept[1][order_two]
        if self.flaw == "triples again":
            of_first[:, :, 3:], of_second[:, :, 1:] = of_first[:, :1, 3:], of_second[:, :1, 1:]
        if self.flaw == "r again":
            of_first[:, :, :3], of_second[:, :, :1] = of_first[:, :1, :3], of_second[:, :1, :1]
        if self.flaw == "short r":
            of_second[..., 0] = of_second[..., 0] // TWO - of_first[..., 0]
        if self.flaw == "mask again":
            second[:, 2 * n : 3 * n] = second[:, :n]
        if self.flaw == "one seed":
            both = min(first.shape[1], second.shape[1])
            second[:, :both] = first[:, :both]
        if self.flaw == "block again":
            return self.kept
        return first, second

    def dealt(self, first, second):
        """What the dealer sends, of every run."""
        places = np.empty(self.arms, np.int64)
        pieces = []
        for one, other in zip(first, second, strict=True):
            out = new_for_first(self.arms), new_for_second(self.arms, self.compared)
            deal(one, other, places, *out)
            pieces.append((*out[0], *out[1]))
        return [np.stack(each) for each in zip(*pieces, strict=True)]

    def select(self, words: np.ndarray) -> Turn:
        """One selection among int64 words, (runs, arms)."""
        first, second = self.seeds()
        d0, d2, d1, bits, products, joined = self.dealt(first, second)
        pads, answer_pads = uniform(self.draws, 2, self.runs, self.arms)
        if self.flaw == "pads kept":
            pads = self.pads = getattr(self, "pads", pads)
        if self.flaw == "answer pad is the pad":
            answer_pads = pads.copy()
        none = np.empty(0, np.uint64)
        one = FirstView(first, d0, d2, words.astype(np.uint64) - pads, none, (), none, none)
        two = SecondView(second, d1, bits, products, joined, pads, answer_pads, none, ())
        has_one, has_two = expanded_first(one, self.arity), expanded_second(two, self.arity)

        ahead, moved, share = (np.empty_like(pads) for _ in range(3))
        for k in range(self.runs):
            masked_share(pads[k], has_two.mask[k], ahead[k])  # m
            permuted_share(one.scores[k], ahead[k], has_one.places[k], d0[k], share[k])  # y⁰
            masked_share(share[k], has_one.mask[k], moved[k])  # m'
        one, two = one._replace(ahead=ahead), two._replace(moved=moved)

        cs, ps = (Contests(self.arms, self.arity, first, "test") for first in (True, False))
        c = cs.begin(has_one.share, has_one.comparisons)
        p = ps.begin(second_share(two, has_two), has_two.comparisons)
        to_one, to_two = [], []
        for _ in range(cs.turn.items):
            to_one.append(p.sent.reshape(self.runs, -1))
            to_two.append(c.sent.reshape(self.runs, -1))
            c, p = (
                cs.take(c, p.sent, has_one.comparisons),
                ps.take(p, c.sent, has_two.comparisons),
            )
        np.testing.assert_array_equal(c.contenders, p.contenders)
        won = p.contenders[:, 0]

        unit = np.empty_like(pads)
        for k in range(self.runs):
            unit_vector(int(np.flatnonzero(has_two.places[k] == won[k])[0]), unit[k])
        if self.flaw == "winner told":  # and the dealer's mask is none
            d2 = d2 - has_two.returned_mask[np.arange(self.runs)[:, None], has_one.places]
        else:
            unit -= has_two.returned_mask
        answers = has_two.returned_share + answer_pads
        one = one._replace(returned=d2, openings=tuple(to_one), unit=unit, answers=answers)
        two = two._replace(openings=tuple(to_two))
        rows = np.arange(self.runs)[:, None]
        told = unit[rows, has_one.places] + d2 + answers  # C sends it, owners take PRF' off
        bits_read = told - answer_pads
        assert set(np.unique(bits_read)) <= {0, 1}
        assert (bits_read.sum(axis=1) == 1).all()
        return Turn(one, two, bits_read.argmax(axis=1), told)


class Owners:
    """The owners of many runs, who play one algorithm: ucb, thompson or egreedy."""

    def __init__(self, algorithm, means, runs, draws, flaw="") -> None:
        self.algorithm, self.draws, self.flaw = algorithm, draws, flaw
        self.means = np.broadcast_to(means, (runs, len(means)))
        self.pulls = np.ones(self.means.shape)
        self.rewards = (draws.random(self.means.shape) < self.means).astype(float)
        self.step = len(means)

    def words(self) -> np.ndarray:
        """Their scores of the next step as words, (runs, arms)."""
        self.step += 1
        means, shape = self.rewards / self.pulls, self.means.shape
        if self.algorithm == "ucb":
            scores = means + np.sqrt(2 * np.log(self.step) / self.pulls)
        elif self.algorithm == "thompson":
            scores = self.draws.beta(1 + self.rewards, 1 + self.pulls - self.rewards)
        else:
            explores = self.draws.random((len(means), 1)) < 0.3
            scores = np.where(explores, self.draws.random(shape), means)
        ties = np.argsort(self.draws.random(shape), axis=1)
        if self.flaw == "ties equal":
            ties[:] = 0
        return (np.floor(scores * SCALE).astype(np.int64) << TIE_BITS) + ties

    def pull(self, chosen) -> None:
        rows = np.arange(len(chosen))
        self.pulls[rows, chosen] += 1
        self.rewards[rows, chosen] += self.draws.random(len(chosen)) < self.means[rows, chosen]


def play(means, runs, turns, arity, seed, algorithm="ucb", flaw="") -> list[Turn]:
    """The turns of many runs."""
    draws = np.random.default_rng(seed)
    servers = Servers(runs, len(means), arity, draws, flaw)
    owners, played = Owners(algorithm, means, runs, draws, flaw), []
    for _ in range(turns):
        words = owners.words()
        turn = servers.select(words)
        if flaw != "ties equal":
            np.testing.assert_array_equal(turn.winners, words.argmax(axis=1))
        owners.pull(turn.winners)
        played.append(turn)
    return played
