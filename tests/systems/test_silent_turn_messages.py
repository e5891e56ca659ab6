"""What the compiled turn says that servers send is what two servers send that work apart."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.crypto.kernels.dealing import (
    deal,
    first_width,
    new_for_first,
    new_for_second,
    second_width,
)
from fedbandits.crypto.shares import pack_opening
from fedbandits.systems.samba.audit.views import (
    FirstView,
    SecondView,
    expanded_first,
    expanded_second,
    second_share,
)
from fedbandits.systems.samba.kernels.servers import Dealt, OwnerWords, correction_words, deal_turns
from fedbandits.systems.samba.silent.contest import Contests
from fedbandits.systems.samba.silent.dealt import make_turn
from fedbandits.systems.samba.silent.steps import TurnMessages

#: Turns that were dealt, and which of them is played.
TURNS, ROW, COLUMN = 4, 2, 5
NONE = np.empty((1, 0), np.uint64)


def uniform(draws, *shape) -> np.ndarray:
    return draws.integers(0, 2**64, shape, np.uint64)


def dealt_to_both(draws, arms, comparisons) -> Dealt:
    first = uniform(draws, TURNS, first_width(arms, comparisons))
    second = uniform(draws, TURNS, second_width(arms, comparisons))
    for_first = np.zeros((TURNS, 2 * arms), np.uint64)
    for_second = np.zeros((TURNS, correction_words(arms, comparisons)), np.uint64)
    deal_turns(first, second, comparisons, np.zeros(arms, np.int64), for_first, for_second)
    return Dealt(first, second, for_first, for_second)


def views(dealt: Dealt, arms, comparisons, sent, shares, pads) -> tuple[FirstView, SecondView]:
    """What both servers have of that turn, as far as it is known before they exchange anything."""
    one, two = dealt.first[ROW], dealt.second[ROW]
    for_first, for_second = new_for_first(arms), new_for_second(arms, comparisons)
    deal(one, two, np.zeros(arms, np.int64), for_first, for_second)
    first = FirstView(
        one[None], *(each[None] for each in for_first), sent[None], NONE, (), NONE, NONE
    )
    second = SecondView(
        two[None], *(each[None] for each in (for_second.shuffled, *for_second[1:])), shares[None],
        pads[None], NONE, (),
    )  # fmt: skip
    return first, second


@pytest.mark.parametrize(("arms", "arity"), [(2, 2), (3, 2), (5, 4), (9, 3), (40, 8)])
def test_servers_send_what_each_of_them_works_out(arms, arity):
    draws, turn = np.random.default_rng(arms), make_turn(arms, arity)
    comparisons = sum(turn.comparisons)
    dealt = dealt_to_both(draws, arms, comparisons)
    unsealed = np.zeros((arms, 1), np.uint64)
    streams = OwnerWords(*uniform(draws, 2, arms, COLUMN + 2), unsealed, unsealed)
    numbers = draws.permutation(arms).astype(np.uint64)
    shares, pads = streams.words[:, COLUMN].copy(), streams.answers[:, COLUMN].copy()
    sent = numbers - shares
    messages = TurnMessages(turn, arity)
    assert messages.play(dealt, streams, ROW, COLUMN, sent) == numbers.argmax()
    np.testing.assert_array_equal(messages.answers - pads, numbers == arms - 1)

    first, second = views(dealt, arms, comparisons, sent, shares, pads)
    mine, theirs = expanded_first(first, arity), expanded_second(second, arity)
    ahead = shares - theirs.mask[0]
    moved = np.empty(arms, np.uint64)
    moved[mine.places[0]] = sent + ahead
    moved += mine.shuffled[0] - mine.mask[0]
    others = second_share(second._replace(moved=moved[None]), theirs)
    contests = [Contests(arms, arity, server == 0, "test") for server in range(2)]
    dealt_of = mine.comparisons, theirs.comparisons
    played = [c.begin(*e) for c, *e in zip(contests, (mine.share, others), dealt_of, strict=True)]
    openings = [b"", b""]
    for item in range(turn.items):
        opened = [contest.sent for contest in played]
        for server in range(2):
            openings[server] += pack_opening(item % 7, opened[server])
            played[server] = contests[server].take(
                played[server], opened[1 - server], dealt_of[server]
            )
    won = played[0].contenders[0, 0]
    unit = (theirs.places[0] == won).astype(np.uint64) - theirs.returned_mask[0]
    next_turn = streams.words[:, COLUMN + 1] - dealt.second[ROW + 1, :arms]
    words = [each.tobytes() for each in (unit, theirs.returned_share[0] + pads, next_turn)]
    assert messages.between() == b"".join([moved.tobytes(), *openings, *words])
    assert len(messages.between()) == sum(sum(turn.message_bytes(first)) for first in (True, False))
