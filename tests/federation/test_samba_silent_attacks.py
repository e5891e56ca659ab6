"""What somebody might try against a silent run, beside altering messages: what comes of it.

Old states, blocks that are asked for twice, numbers out of range, late answers, half a run.
"""

from __future__ import annotations

import msgspec
import pytest

from fedbandits.federation import messages as m
from fedbandits.federation.events import Deadline
from fedbandits.systems.samba import silent as blocks
from fedbandits.systems.samba.ciphers import read_word, write_word
from fedbandits.systems.samba.messages import (
    Answer,
    Ask,
    FirstTotal,
    Reason,
    SecondTotal,
    SumShare,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.systems.samba.roles.run import RunEndedError
from tests.federation.receiving import refused_next, taken
from tests.federation.test_samba_endings import silent as mute
from tests.federation.test_samba_silent_endings import ended_with, played, reasons
from tests.federation.test_samba_silent_misbehaviour import ARMS, BUDGET, before


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 100)


# -- old states


@pytest.mark.parametrize(
    ("kind", "skip"),
    [(ToSecond, 0), (ToSecond, 3), (ToFirst, 2), (ToFirst, 4), (Word, 5), (Answer, 0), (Ask, 0)],
)
def test_who_goes_back_says_the_same_again_word_for_word(kind, skip):
    """A party that died before it could save: no word hides two numbers.

    Nothing is sealed here, so what is sent can be compared.
    """
    _, party, message = before(kind, skip, execution="distributed")
    saved = party.dump()
    first = taken(party, message)
    party.load(saved)
    assert taken(party, message) == first
    assert bool(first) == (kind is not Answer)


def test_a_block_that_is_asked_for_twice_is_the_same_and_is_taken_once():
    """The dealer refuses it; one that went back deals the same words; the servers refuse them."""
    run, dealer, asked = before(Ask, execution="distributed")
    saved = dealer.dump()
    first, second = taken(dealer, asked)
    refused_next(dealer, asked, m.OutOfOrderError)
    dealer.load(saved)
    assert taken(dealer, asked) == [first, second]
    for server, dealt in (("controller", first), ("comp", second)):
        party = run.one(server)
        taken(party, dealt)
        refused_next(party, dealt, m.OutOfOrderError)


# -- an owner's number out of range


def lying(added):
    """A run in which owners add something to their numbers, by name; nothing is sealed."""

    def tamper(message):
        if not isinstance(message, Word) or message.sender not in added:
            return message
        word = read_word(message.sealed) + added[message.sender]
        return msgspec.structs.replace(message, sealed=write_word(word))

    return played(tamper=tamper)


@pytest.mark.parametrize(
    ("number", "wins"), [(2**61, True), (3 * 2**61, True), (-(2**61), False), (2**63, False)]
)
def test_a_number_out_of_range_wins_or_loses_as_any_number_may(number, wins):
    """Servers cannot see it, and do not break: each step has one winner."""
    run = lying({"owner-0": number})
    assert set(reasons(run).values()) == {None}
    pulled = sorted(run.stage.pulled)[ARMS:]
    assert [step for step, _, _ in pulled] == list(range(ARMS + 1, BUDGET + 1))
    assert {arm == 0 for _, arm, _ in pulled} == {wins}


def test_numbers_that_go_round_end_the_run_by_name():
    """Two owners that pool their numbers: of three numbers each is larger than the next."""
    third = 2**64 // 3
    run = lying({"owner-0": third, "owner-1": 2 * third})
    assert ended_with(run, Reason.SHARES)
    assert {type(refusal.why).__name__ for refusal in run.network.refusals} == {"NoWinnerError"}


# -- a late answer


def test_an_owner_that_answers_after_the_deadline_is_not_heard():
    """All hear one reason, which names nobody; the late word opens nothing."""
    _, controller, late = before(Word, 4)
    words = controller.handle(Deadline(controller.awaited)).outgoing
    assert controller.ended is Reason.SCORES
    assert {word.reason for word in words} == {Reason.SCORES}
    owners = [word for word in words if word.receiver.startswith("owner")]
    alike = [msgspec.structs.replace(word, receiver="", number=0) for word in owners]
    assert alike == [alike[0]] * ARMS
    refused_next(controller, late, RunEndedError)


# -- half a run


@pytest.mark.parametrize(
    ("who", "after"),
    [
        ("comp", 2),
        ("comp", 12),
        ("controller", 7),
        ("controller", 30),
        ("dealer", 2),
        ("dealer", 4),
    ],
)
def test_a_server_that_stops_half_way_brings_no_sum_to_light(who, after):
    """Neither the customer nor a server has any part of a total, and no owner sends one."""
    run = played(mute(who, after))
    assert run.one("customer").ended is not None
    sent = [message for _, message in run.network.transcript.deliveries]
    assert not [each for each in sent if isinstance(each, SumShare | FirstTotal | SecondTotal)]
    assert run.one("customer").state.cumulative_reward is None
