"""Each kind of bad input in a silent run has its name, at the party that meets it."""

from __future__ import annotations

import contextlib
from collections import Counter

import msgspec
import pytest

from fedbandits.crypto import aead
from fedbandits.environments import Bernoulli
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation import messages as m
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba import silent as blocks
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import TotalError, WeakKeyError, read_word, write_word
from fedbandits.systems.samba.config import UCB, Pursuit
from fedbandits.systems.samba.messages import (
    Answer,
    Ask,
    Dealing,
    DealtFirst,
    DealtSecond,
    FirstTotal,
    Order,
    SecondTotal,
    SilentSetup,
    Start,
    Sum,
    SumShare,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.systems.samba.plan import ImpossibleOrderError, OtherOrderError
from fedbandits.systems.samba.silent import NoWinnerError, OpeningError
from fedbandits.testing.replicates import plan_of
from tests.federation.receiving import refused, refused_next, stamped, taken
from tests.systems.samba_worlds import federated, silent

ARMS, BUDGET = 3, 9


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 100)


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def before(kind, skip=0, arms=ARMS, name="ucb", execution="samba", **parts):
    """A run that stops just before a message of some kind arrives, and that message."""
    run, caught = federated(silent(name, execution, **parts), arms, arms + 6), []
    codec = run.network._codec
    for party in run.network.parties.values():
        original = party.receive_bytes

        def receive_bytes(data, link, original=original, party=party):
            message = codec.decode(data)
            if isinstance(message, kind) and len(caught) <= skip:
                caught.append((party, message))
                if len(caught) > skip:
                    raise StopIteration
            return original(data, link)

        party.receive_bytes = receive_bytes
    with contextlib.suppress(StopIteration):
        run.advance(arms + 6)
    for each in run.network.parties.values():
        del each.receive_bytes
    return run, *caught[-1]


def flip(data: bytes, bit: int = 0) -> bytes:
    at = bit // 8
    return data[:at] + bytes([data[at] ^ (1 << bit % 8)]) + data[at + 1 :]


def around(number):
    """Numbers that are not this one, absurd ones included."""
    return (number - 1, number + 1, -1, 2**62, -(2**62), 2**63 - 1)


PACKETS = ("kind", "skip", "fields"), [
    (Word, 0, ("step", "iteration")), (Word, 5, ("step", "iteration")),
    (ToSecond, 0, ("step", "iteration", "part")), (ToSecond, 6, ("step", "iteration", "part")),
    (ToFirst, 0, ("step", "iteration", "part")), (ToFirst, 3, ("step", "iteration", "part")),
    (ToFirst, 4, ("step", "iteration", "part")), (ToFirst, 7, ("step", "iteration", "part")),
    (Answer, 0, ("step", "iteration")), (Answer, 4, ("step", "iteration")),
    (DealtFirst, 0, ("block",)), (DealtFirst, 1, ("block",)), (DealtSecond, 0, ("block",)),
    (DealtSecond, 2, ("block",)), (SumShare, 1, ()), (FirstTotal, 0, ()), (SecondTotal, 0, ()),
]  # fmt: skip


@pytest.mark.parametrize(*PACKETS)
def test_a_packet_that_was_changed_or_belongs_elsewhere_is_refused(kind, skip, fields):
    _, party, good = before(kind, skip)
    sealed = good.sealed
    for wrong in (sealed[:-1], sealed + b"\0", b"", sealed * 2):
        refused_next(party, change(good, sealed=wrong), aead.PacketLengthError)
    for bit in (0, 8 * 12, 8 * len(sealed) - 1):
        refused_next(party, change(good, sealed=flip(sealed, bit)), aead.TamperedPacketError)
    for field in fields:
        for wrong in around(getattr(good, field)):
            refused_next(party, change(good, **{field: wrong}), m.OutOfOrderError)
    stranger = "owner-2" if good.sender != "owner-2" else "owner-1"
    assert type(party.receive(stamped(party, good, sender=stranger)).why) is not None
    taken(party, good)
    for _ in range(2):  # at most one more is possible where several are collected
        receipt = party.receive(stamped(party, good, number=good.number))
        assert receipt.outcome == "duplicate"


@pytest.mark.parametrize("kind", [Word, SumShare])
def test_an_owner_is_heard_once_a_turn_and_cannot_pass_on_anothers(kind):
    skip = 4 if kind is Word else 0
    _, controller, good = before(kind, skip)
    other = next(f"owner-{i}" for i in (2, 1) if f"owner-{i}" != good.sender)
    refused_next(controller, change(good, sender=other), aead.TamperedPacketError)
    refused(controller, good, m.WrongSenderError, link=other)
    assert taken(controller, good) == []
    refused_next(controller, good, m.DuplicateError)


def test_answers_are_an_owners_own():
    """Another owner's packet does not open: every owner has keys of its own."""
    run, owner, good = before(Answer, 3)
    other = next(each for each in run.of("owner") if each is not owner)
    refused_next(other, change(good, receiver=other.name), aead.TamperedPacketError)
    for place in (-1, ARMS, 2**62):
        refused_next(owner, change(good, place=place), m.OutOfOrderError)
    assert len(taken(owner, good)) in (0, 1)
    refused_next(owner, good, m.OutOfOrderError)


@pytest.mark.parametrize("more", [1, 2, 3, 2**63, 2**64 - 2])
def test_a_word_that_is_neither_0_nor_1_is_refused(more):
    _, owner, good = before(Answer, 1, execution="distributed")
    bit = (read_word(good.sealed) - int(owner._tools.answers.draw(good.step, 1))) % 2**64
    assert bit in (0, 1)
    wrong = change(good, sealed=write_word(read_word(good.sealed) - bit + more + 1))
    refused_next(owner, wrong, aead.TamperedPacketError)
    taken(owner, good)


@pytest.mark.parametrize("kind", [ToSecond, ToFirst])
def test_nobody_wins_where_results_go_round(kind):
    """Of the eight results of three comparisons, two have no winner; the others have one."""
    skip = 3 if kind is ToSecond else 4
    _, party, good = before(kind, skip, execution="distributed")
    assert good.part == 4
    assert party._contests.turn.parts == 4
    saved, outcomes = party.dump(), []
    at = 1 if kind is ToSecond else 0  # the byte of item 7, behind 3 comparisons of 2 bits
    for results in range(8):
        sealed = bytearray(good.sealed)
        sealed[at] ^= results
        receipt = party.receive(change(good, sealed=bytes(sealed)))
        outcomes.append(type(receipt.why))
        party.load(saved)
    assert Counter(outcomes) == {NoWinnerError: 2, type(None): 6}
    wrong = bytearray(good.sealed)
    wrong[at] ^= 8  # a bit behind the last comparison
    refused_next(party, change(good, sealed=bytes(wrong)), OpeningError)


def test_blocks_are_dealt_in_order_and_none_unasked():
    run, controller, good = before(DealtFirst, 0)
    dealer = run.one("dealer")
    assert dealer._deals.count > 3
    first = taken(controller, good)
    assert first == []
    refused_next(controller, good, m.OutOfOrderError)
    asked = Ask(sender="controller", receiver="dealer", block=1)
    dealt = taken(dealer, asked)
    refused_next(dealer, asked, m.OutOfOrderError)
    for block in around(2):
        refused_next(dealer, change(asked, block=block), m.OutOfOrderError)
    more = taken(dealer, change(asked, block=2))
    taken(controller, dealt[0])
    refused_next(controller, more[0], m.OutOfOrderError)  # nobody has asked for two ahead
    refused_next(run.one("comp"), more[1], m.OutOfOrderError)


def test_comp_keeps_the_end_of_a_turn_until_the_next_words_are_dealt():
    """What comes too early for itself is no error: the dealer may be slow."""
    run, comp, dealt = before(DealtSecond, 1)
    run.network.settle()  # without that block
    while run.run._act_as_told() or run.run._end_rounds():
        run.network.settle()
    turns = comp._deals.selections
    assert comp._turn == turns - 1
    assert comp.links["controller"].held
    assert run.one("controller").stage == "comparing"
    run.network.send(comp.receive(dealt).followed[0].outgoing)
    run.network.settle()
    assert not comp.links["controller"].held


def test_the_customer_adds_up_two_shares_and_no_more():
    for kind in (FirstTotal, SecondTotal):
        run, customer, good = before(kind, 0, execution="distributed")
        other = FirstTotal if kind is SecondTotal else SecondTotal
        first = bool(customer.state.sender)
        if first:  # the other share is there: the total would be too large
            most = write_word(read_word(good.sealed) + BUDGET + 1)
            refused_next(customer, change(good, sealed=most), TotalError)
            refused_next(customer, change(good, run=bytes(16)), m.OutOfOrderError)
        refused_next(customer, change(good, run=b""), _OF_NO_RUN[first])
        taken(customer, good)
        refused_next(customer, good, m.OutOfOrderError if first else m.DuplicateError)
        assert other is not kind
        run.network.settle()


_OF_NO_RUN = {True: m.OutOfOrderError, False: ImpossibleOrderError}


def test_everybody_holds_the_beginning_to_the_terms():
    public = {"total": "paillier"}
    for kind, parts in ((Order, {}), (Start, {}), (Dealing, {}), (SilentSetup, {})):
        _, party, good = before(kind, **parts)
        wrong = [
            ({"budget": BUDGET + 1}, OtherOrderError), ({"algorithm": Pursuit()}, OtherOrderError),
            ({"algorithm": UCB(1.0)}, OtherOrderError), ({"budget": 1}, ImpossibleOrderError),
        ]  # fmt: skip
        if kind is not Order:
            wrong += [({"run": b"short"}, ImpossibleOrderError), ({"arms": 4}, OtherOrderError)]
        if hasattr(good, "public_key"):
            wrong += [({"public_key": bytes(9)}, WeakKeyError)]
        if kind is SilentSetup:
            wrong += [({"place": place}, m.OutOfOrderError) for place in (-1, ARMS)]
        for fields, error in wrong:
            refused_next(party, change(good, **fields), error)
        taken(party, good)
    _, controller, order = before(Order, **public)
    refused_next(controller, change(order, public_key=b""), WeakKeyError)


def test_messages_of_the_other_total_are_none_of_the_system():
    run = federated(silent("ucb"), ARMS, BUDGET)
    told = Sum(sender="owner-0", receiver="controller", ciphertext=b"")
    refused_next(run.one("controller"), told, m.OutOfOrderError)
    codec = SYSTEM.roles(plan_of(silent("ucb", total="paillier"), Bernoulli(arms=3), 9)).codec
    share = SumShare(sender="owner-0", receiver="controller", sealed=b"")
    with pytest.raises(m.UnknownMessageError):
        codec.decode(codec.encode(share))


def test_a_pull_that_takes_longer_than_the_beat_is_named():
    run = federated(silent("ucb"), ARMS, BUDGET)
    run.network.settle()
    owner = run.of("owner")[0]
    assert owner.stage == "pulling"
    with pytest.raises(LocalProtocolError, match="EndRound is not possible while pulling"):
        owner.end_round(ARMS)
    run.network.send(owner.observe(owner.decide(None), 1))
    with pytest.raises(LocalProtocolError, match=f"end of round {ARMS + 1}, not of {ARMS}"):
        owner.end_round(ARMS + 1)
    assert [type(message) for message in owner.end_round(ARMS)] == [Word]


def test_a_controller_needs_a_run_and_two_owners():
    plan = plan_of(silent("ucb"), Bernoulli(arms=2), 9)
    roles = SYSTEM.roles(plan)
    run = federated(silent("ucb"), 2, 9)
    terms = run.terms
    names = ("controller", "packets", "link", "first", "bill")
    secrets = dict.fromkeys(names, bytes(32))
    role = next(role for role in roles.roles if role.name == "controller")
    with pytest.raises(LocalProtocolError, match="16 random bytes"):
        roles.make(role, 0, terms, Supply(secrets, b""))
    alone = msgspec.structs.replace(terms, parties={**terms.parties, "owner": ("owner-0",)})
    with pytest.raises(ConfigError, match="at least 2 data owners"):
        roles.make(role, 0, alone, Supply(secrets, bytes(16)))
