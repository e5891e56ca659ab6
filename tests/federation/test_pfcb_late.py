"""Buyers whose peers are late or silent, whose outcomes come late, and who decide meanwhile."""

from __future__ import annotations

import collections

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Procurement
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Decision
from fedbandits.federation.exchange.broadcast import LateReportError
from fedbandits.federation.messages import unpack
from fedbandits.settings.experiment import system
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.pfcb import SYSTEM
from fedbandits.systems.pfcb.roles.buying import LateOutcomeError
from fedbandits.testing.replicates import federate, plan_of, simulate
from fedbandits.testing.restored import MortalParty
from tests.federation.receiving import refused_next, snapshot, taken

WORLD = Procurement(agents=3, producers=2, max_capacity=5, instance=3)
ROUNDS = 40
POWERS = {"window": (4, 16), "schedule": "powers"}  # exchanges of rounds 4, 8 and 16


def begin(preset="pfcb", route=None, lenient=False, **parts):
    config = system(preset, **POWERS | parts).config
    return federate(config, WORLD, ROUNDS, 0, 0, route, lenient=lenient)


def buys(buyer, good=0):
    """Have a buyer decide, and inspect at once."""
    decision = buyer.decide(None)
    assert buyer.observe(decision, np.full(2, good)) == []


def exact(buyer, messages):
    """(2, m) what a report of a variant in clear says."""
    return unpack(messages[0].sums, 4).reshape(2, -1)


# ------------------------------------------------------------------------- silence and deadlines


@pytest.mark.parametrize("preset", ["pfcb", "pfcb-interactive", "pfcb-published", "fcb"])
@pytest.mark.parametrize("privatizer", [None, "continual"])
def test_the_others_play_to_the_horizon_without_a_silent_buyer(preset, privatizer):
    parts = {} if privatizer is None else {"privatizer": privatizer}

    def route(message):
        return None if message.sender == "buyer-1" else 0

    run = begin(preset, route, lenient=True, **parts)
    run.advance(ROUNDS)
    assert run.done == ROUNDS
    assert [buyer.stage for buyer in run.of("buyer")] == ["ready"] * 3
    assert {buyer.state.releases for buyer in run.of("buyer")} == {3}
    assert run.network.refusals == []
    if parts:
        assert all("buyer-1" not in run.of("buyer")[i].state.newest for i in (0, 2))


def test_a_missing_report_adds_nothing_to_the_books():
    """They are those of a federation without that buyer: nothing stands in for it."""
    run = begin("fcb", lambda sent: None if sent.sender == "buyer-1" else 0, lenient=True,
                acceptance="always", weighting="constant(1)")  # fmt: skip
    run.advance(4)
    zero, one, two = (buyer.state.books for buyer in run.of("buyer"))
    np.testing.assert_array_equal(zero.combined, zero.own + two.own)
    np.testing.assert_array_equal(two.combined, zero.own + two.own)
    np.testing.assert_array_equal(one.combined, zero.own + one.own + two.own)


def test_the_last_running_sum_stands_in_for_a_missing_one():
    lost = []

    def route(message):
        gone = message.sender == "buyer-1" and message.release == 2
        lost.append(gone)
        return None if gone else 0

    more = {"privatizer": "continual", "epsilon": 1e9, "acceptance": "always"}
    run = begin("pfcb", route, lenient=True, **more)
    run.advance(4)
    first = run.of("buyer")[1].state.books.own.copy()
    run.advance(8)
    assert sum(lost) == 2
    zero, _, two = (buyer.state for buyer in run.of("buyer"))
    assert zero.newest["buyer-1"].release == 1
    assert zero.newest["buyer-2"].release == 2
    expected = zero.books.own + two.books.own + first
    np.testing.assert_allclose(zero.books.combined, expected, rtol=1e-5)
    run.advance(16)  # the message that is missing is given up, and the last running sum holds all
    assert run.of("buyer")[0].state.newest["buyer-1"].release == 3


def test_one_lost_message_costs_one_report():
    run = begin("fcb", lambda sent: None if (sent.sender, sent.release) == ("buyer-1", 1) else 0,
                lenient=True, acceptance="always", weighting="constant(1)")  # fmt: skip
    run.advance(ROUNDS)
    assert run.network.refusals == []
    buyers = run.of("buyer")
    assert buyers[0]._links.all["buyer-1"].given_up == 1
    assert buyers[0].state.judged.sum() == 2 * (3 + 2)  # producers, of buyer 2 and of buyer 1


@pytest.mark.parametrize("privatizer", ["correlated", "continual"])
def test_buyers_that_are_killed_at_every_event_go_on_the_same_while_messages_get_lost(privatizer):
    config = system("pfcb", privatizer=privatizer, **POWERS).config

    def play(embody):
        sent = iter(range(10**6))

        def route(_):
            return None if next(sent) % 4 == 1 else 0

        plan = plan_of(config, WORLD, ROUNDS)
        found = PartiesReplicate(SYSTEM, plan, WORLD, 0, 0, route, lenient=True, embody=embody)
        found.advance(ROUNDS)
        return found

    events = collections.Counter()
    rough = play(lambda make: MortalParty(make, events))
    smooth = play(lambda make: make())
    assert events["Buyer.deadline"] > 0
    assert smooth.network.transcript.messages.total() < 18
    for one, other in zip(smooth.of("buyer"), rough.of("buyer"), strict=True):
        assert one.dump() == other.dump()


def exchanging(preset="pfcb", **parts):
    """A buyer that has reported and heard one of two; and what the other has to say."""
    run = begin(preset, **parts)
    run.advance(3)
    buyers, reports = run.of("buyer"), {}
    for buyer in buyers:
        buys(buyer)
        reports[buyer.name] = [m for m in buyer.end_round(4) if m.receiver == "buyer-0"]
    taken(buyers[0], reports["buyer-1"][0])
    return run, buyers[0], reports["buyer-2"][0]


def test_what_comes_after_the_deadline_is_late_and_the_next_is_taken():
    run, buyer, late = exchanging()
    assert buyer.awaited == 1
    assert buyer.deadline(1) == []
    assert buyer.stage == "ready"
    assert buyer.awaited is None
    assert buyer.state.judged.sum() == 2
    refused_next(buyer, late, LateReportError)
    other = run.of("buyer")[2]
    other.deadline(1)
    for _ in range(4):
        buys(other)
    sent = next(m for m in other.end_round(8) if m.receiver == buyer.name)
    taken(buyer, sent)
    assert sorted(buyer.state.inbox) == [2]


def test_a_deadline_that_passes_twice_does_nothing():
    _, buyer, _ = exchanging()
    for number in (0, 2, -1, 2**62):
        before = snapshot(buyer)
        buyer.deadline(number)
        assert snapshot(buyer) == before
    buyer.deadline(1)
    before = snapshot(buyer)
    buyer.deadline(1)
    assert snapshot(buyer) == before
    for _ in range(4):
        buys(buyer)
    buyer.end_round(8)
    before = snapshot(buyer)
    buyer.deadline(1)  # of an exchange that is over, while another is going on
    assert snapshot(buyer) == before
    assert buyer.stage == "exchanging"


def test_decisions_while_reports_are_exchanged_are_made_by_the_last_books():
    _, buyer, last = exchanging("pfcb-interactive")
    combined = buyer.state.books.combined.copy()
    for _ in range(3):
        buys(buyer)
    assert buyer.stage == "exchanging"
    np.testing.assert_array_equal(buyer.state.books.combined, combined)
    taken(buyer, last)
    assert buyer.stage == "ready"
    assert (buyer.state.books.combined != combined).any()
    buys(buyer)
    assert buyer.next_end == 8
    assert len(buyer.end_round(8)) == 2


def test_a_round_may_end_before_the_exchange_before_it_has():
    """The clock does not wait: what came of the earlier one is taken before the next decision."""
    _, buyer, late = exchanging()
    for _ in range(4):
        buys(buyer)
    assert len(buyer.end_round(8)) == 2
    assert buyer.state.judged.sum() == 0  # nothing is learned before a report has left
    refused_next(buyer, late, LateReportError)
    buyer.decide(None)
    assert buyer.stage == "exchanging"
    assert buyer.awaited == 2
    assert buyer.state.judged.sum() == 2
    buyer.deadline(2)
    assert buyer.stage == "ready"


def test_a_buyer_that_missed_an_exchange_rejoins_at_the_next():
    """Told of all rounds when it is back: its first report is late, its next one is not."""
    run = begin(lenient=True)
    run.advance(3)
    away, here = run.of("buyer")[1], [run.of("buyer")[i] for i in (0, 2)]
    for buyer in here:
        buys(buyer)
        run.network.send(buyer.end_round(4))
    run.network.settle()
    for buyer in here:
        buyer.deadline(1)
        for _ in range(4):
            buys(buyer)
        assert buyer.stage == "ready"
    assert away.next_end == 4
    for round_ in (4, 8):
        run.network.send(away.end_round(round_))
    for buyer in here:
        run.network.send(buyer.end_round(8))
    run.network.settle()
    assert [type(refusal.why) for refusal in run.network.refusals] == [LateReportError] * 2
    assert [buyer.stage for buyer in run.of("buyer")] == ["ready"] * 3
    assert [buyer.state.releases for buyer in run.of("buyer")] == [2] * 3
    assert [buyer.state.taken for buyer in run.of("buyer")] == [2] * 3


# ------------------------------------------------------------------------------- late outcomes


@pytest.mark.parametrize("preset", ["pfcb", "pfcb-interactive", "fcb"])
def test_outcomes_in_another_order_give_the_same_reports(preset):
    """And the same decisions, where a buyer acts on reports alone."""
    one, other = (begin(preset).of("buyer")[0] for _ in range(2))
    decided = [[buyer.decide(None) for _ in range(4)] for buyer in (one, other)]
    if preset == "pfcb-interactive":
        assert all((a.action == b.action).all() for a, b in zip(*decided, strict=True))
    for buyer, order in ((one, (0, 1, 2, 3)), (other, (2, 0, 3, 1))):
        for place in order:
            decision = Decision(place + 1, np.array([1 + place % 2, 1]))
            buyer.observe(decision, np.array([place % 2, 1]))
    assert one.end_round(4) == other.end_round(4)
    assert one.dump() == other.dump()


def test_what_a_buyer_on_reports_orders_does_not_depend_on_when_outcomes_come():
    """One learns of every outcome at once, the other of all of them 46 rounds later."""
    world = Procurement(agents=2, producers=10, max_capacity=50, instance=1)
    parts = {"outcomes": "late", "epsilon": 50.0, "window": (4, 60), "schedule": "growing(15)"}
    config = system("pfcb-interactive", **parts).config
    one, other = (federate(config, world, 80, 0, 0).of("buyer")[0] for _ in range(2))
    orders, open_ = [], []
    for round_ in range(1, 60):
        decision, same = (buyer.decide(None) for buyer in (one, other))
        np.testing.assert_array_equal(decision.action, same.action)
        orders.append(tuple(decision.action))
        one.observe(decision, decision.action // 2)
        open_.append(same)
        if round_ == 4:
            for buyer in (one, other):
                buyer.end_round(4)
            # The same reports, whatever is in them.
            other._state = msgspec.structs.replace(other.state, inbox=dict(one.state.inbox))
            for buyer in (one, other):
                buyer.deadline(1)
        if round_ == 50:
            for early in open_:
                other.observe(early, early.action // 2)
            open_.clear()
    assert len(set(orders[4:])) > 2  # what is ordered narrows radii, and so changes orders


def test_immediate_outcomes_are_refused_once_their_report_has_left():
    buyer = begin("fcb").of("buyer")[0]
    decisions = [buyer.decide(None) for _ in range(4)]
    for decision in decisions[:3]:
        buyer.observe(decision, decision.action)
    sent = exact(buyer, buyer.end_round(4))
    np.testing.assert_array_equal(sent[0], sum(d.action for d in decisions[:3]))
    before = snapshot(buyer)
    with pytest.raises(LateOutcomeError, match="decision 4 comes after its report has left"):
        buyer.observe(decisions[3], decisions[3].action)
    assert snapshot(buyer) == before
    assert buyer.state.open == {}


def test_late_outcomes_count_in_the_report_after_them():
    buyer = begin("fcb", outcomes="late").of("buyer")[0]
    decisions = [buyer.decide(None) for _ in range(4)]
    for decision in decisions[:3]:
        buyer.observe(decision, decision.action)
    buyer.end_round(4)
    buyer.observe(decisions[3], decisions[3].action)
    with pytest.raises(LocalProtocolError, match="decision 4 is not open"):
        buyer.observe(decisions[3], decisions[3].action)
    sent = exact(buyer, buyer.end_round(8))
    np.testing.assert_array_equal(sent[0], decisions[3].action)


@pytest.mark.parametrize("outcomes", ["immediate", "late"])
def test_purchases_beyond_what_a_report_may_be_about_wait_for_the_next(outcomes):
    """Which those are follows from decisions, not from when inspections come."""
    run = begin("fcb", outcomes=outcomes)
    buyer, most = run.of("buyer")[0], run.plan.schedule.most_records
    assert most == 8
    decisions = [buyer.decide(None) for _ in range(most + 3)]
    for decision in reversed(decisions):
        buyer.observe(Decision(decision.number, np.array([1, 0])), np.array([1, 0]))
    assert [kept.number for kept in buyer.state.kept] == [11, 10, 9]
    restored = begin("fcb", outcomes=outcomes).of("buyer")[0]
    restored.load(buyer.dump())
    assert restored.dump() == buyer.dump()
    buyer = restored
    assert exact(buyer, buyer.end_round(4))[0, 0] == most
    assert buyer.state.kept == ()
    assert exact(buyer, buyer.end_round(8))[0, 0] == 3
    for _ in range(most + 1):
        buys(buyer)
    assert len(buyer.state.kept) == 1
    buyer.end_round(16)  # nothing is reported any more: nothing need wait
    assert buyer.state.kept == ()
    for _ in range(2 * most + 1):
        buys(buyer)
    assert buyer.state.kept == ()


def test_an_overdue_purchase_keeps_its_place_when_outcomes_are_immediate():
    """Those due in the next report may still be inspected when this one has left."""
    buyer = begin("fcb").of("buyer")[0]
    decisions = [buyer.decide(None) for _ in range(10)]
    buyer.end_round(4)
    assert buyer.state.closed == 8
    for decision in decisions[8:]:
        buyer.observe(decision, decision.action)
    for decision in decisions[:8]:
        with pytest.raises(LateOutcomeError):
            buyer.observe(decision, decision.action)
    buyer.decide(None)
    buyer.end_round(8)
    assert buyer.state.closed == 11


def test_a_simulation_of_late_outcomes_is_played_alike():
    config = system("pfcb", outcomes="late", **POWERS).config
    compiled, parties = simulate(config, WORLD, ROUNDS, 0, 0), federate(config, WORLD, ROUNDS, 0, 0)
    for run in (compiled, parties):
        run.advance(ROUNDS)
    np.testing.assert_array_equal(compiled.regret, parties.regret)
    assert compiled.epsilon == parties.epsilon
