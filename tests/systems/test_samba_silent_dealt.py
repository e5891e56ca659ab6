"""A ledger of dealt words: each is used once, and after a restart for nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from fedbandits.crypto.kernels import dealing
from fedbandits.crypto.kernels.comparison import OPENINGS
from fedbandits.crypto.keystream import KeyStream
from fedbandits.environments import Bernoulli
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba import silent as blocks
from fedbandits.systems.samba.keys import DealtKeys, SimulatedSecrets, make_keys
from fedbandits.systems.samba.roles import comp, controller
from fedbandits.systems.samba.silent import Deals
from fedbandits.testing.replicates import plan_of
from fedbandits.testing.restored import MortalParty
from tests.systems.samba_worlds import silent


class Book:
    """What every dealt word was used for: with what, and how often."""

    def __init__(self, monkeypatch):
        self.used = defaultdict(Counter)
        for module in (comp, controller):
            self._watch(monkeypatch, module, "masked_share", lambda share, mask, out: (mask, share))
            self._watch(
                monkeypatch, module, "permuted_share",
                lambda share, sent, places, correction, out: (correction[places], share + sent),
            )  # fmt: skip
        self._watch(
            monkeypatch, controller, "returned_share",
            lambda sent, places, correction, out: (correction, sent[places]),
        )  # fmt: skip
        opens = blocks.open_next

        def open_next(number, dealt, held, first):
            before = held.sent.copy() if number == 0 else None
            opens(number, dealt, held, first)
            told = held.sent if before is None else before
            for word, each in zip(dealt.share.tolist(), told.tolist(), strict=True):
                self.used[number, first, word][each] += 1

        monkeypatch.setattr(blocks, "open_next", open_next)

    def _watch(self, monkeypatch, module, name, words):
        does = getattr(module, name)

        def watched(*arguments):
            for word, covered in zip(*(each.tolist() for each in words(*arguments)), strict=True):
                self.used[name, module, word][covered] += 1
            does(*arguments)

        monkeypatch.setattr(module, name, watched)

    def words(self, *use):
        """The words that were used so, in order."""
        return sorted(word for *way, word in self.used if tuple(way) == use)


def dealt(plan, run):
    """All that was dealt for a run, by turn: of the Controller, and of Comp."""
    deals = Deals(plan)
    simulated = SimulatedSecrets.derive(3, 0)
    agreed = plan.agreement(simulated.run)
    keys = [make_keys(DealtKeys, each, agreed) for each in (simulated.first, simulated.second)]
    first, second = (
        KeyStream(each.words, width).block(0, deals.turns)
        for each, width in zip(keys, deals.widths, strict=True)
    )
    assert len(np.unique(first)) == first.size
    assert len(np.unique(second)) == second.size
    corrections = []
    for one, other in zip(first, second, strict=True):
        for_first = dealing.new_for_first(deals.arms)
        for_second = dealing.new_for_second(deals.arms, deals.comparisons)
        dealing.deal(one, other, np.zeros(deals.arms, np.int64), for_first, for_second)
        corrections.append((for_first.shuffled, for_first.returned, for_second.shuffled))
    return first, second, [np.array(each) for each in zip(*corrections, strict=True)]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("arms", "arity"), [(3, 4), (5, 2)])
def test_every_dealt_word_is_used_once(arms, arity, restarts, monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 400)
    config, world, budget = silent("pursuit", arity=arity), Bernoulli(arms=arms), arms + 12
    plan, book = plan_of(config, world, budget), Book(monkeypatch)
    parts = {"embody": lambda make: MortalParty(make, Counter())} if restarts else {}
    run = PartiesReplicate(SYSTEM, plan, world, 3, 0, **parts)
    run.advance(budget)
    assert run.one("customer").stage == "done"
    times = 2 if restarts else 1  # an event that is played again uses the same words for the same
    assert {tuple(each.values()) for each in book.used.values()} == {(times,)}
    first, second, (shuffled, returned, others) = dealt(plan, run)
    n, turns = arms, len(first)

    def words(*found):
        return sorted(np.concatenate([each.ravel() for each in found]).tolist())

    assert book.words("masked_share", controller) == words(first[:, n : 2 * n])
    assert book.words("masked_share", comp) == words(second[:, :n], second[:, 2 * n : 3 * n])
    assert book.words("permuted_share", controller) == words(shuffled)
    assert book.words("permuted_share", comp) == words(others)
    assert book.words("returned_share", controller) == words(returned)
    compared = Deals(plan).comparisons
    for number in range(OPENINGS):
        assert book.words(number, True) == words(first[:, 3 * n :: 6])
        assert book.words(number, False) == words(second[:, 5 * n :: 3])
    assert len(book.words(0, True)) == turns * compared


def test_blocks_hold_each_selection_once(monkeypatch):
    """What is read back from a block is what was dealt, whichever block it came in."""
    plan = plan_of(silent("ucb", arity=3), Bernoulli(arms=5), 42)
    whole = list(selections(plan))
    for limit in (1, 500, 1_000):
        monkeypatch.setattr(blocks, "_BLOCK_BYTES", limit)
        assert list(selections(plan)) == whole
    assert len(set(whole)) == 37


def selections(plan):
    """What either server is dealt, turn by turn."""
    deals = Deals(plan)
    words = [KeyStream(bytes([i] * 32), width) for i, width in enumerate(deals.widths)]
    for block in range(deals.count):
        one, other = deals.deal(words, block)
        size, another = deals.bytes
        assert (len(one), len(other)) == (size * deals.length(block), another * deals.length(block))
        for i in range(deals.length(block)):
            yield one[i * size : (i + 1) * size], other[i * another : (i + 1) * another]
