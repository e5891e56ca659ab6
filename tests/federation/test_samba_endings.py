"""A run that cannot go on ends everywhere, with one reason; and nobody waits for ever."""

from __future__ import annotations

import copy
import itertools
from collections import Counter

import msgspec
import numpy as np
import pytest

from fedbandits.crypto import aead
from fedbandits.environments import Bernoulli
from fedbandits.errors import LocalProtocolError
from fedbandits.federation import events, snapshots
from fedbandits.federation import messages as m
from fedbandits.federation.events import Deadline, Decision
from fedbandits.federation.run import PartiesRun
from fedbandits.federation.seats import routes
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.messages import (
    TABLE,
    Bit,
    BitList,
    Drawn,
    End,
    Ending,
    GaveUp,
    Order,
    Reason,
    Score,
    ScoreList,
    Setup,
    Start,
    Sum,
    Total,
)
from fedbandits.systems.samba.roles.owner import PublishedOwnerTools
from fedbandits.systems.samba.roles.run import RunEndedError
from fedbandits.testing.replicates import plan_of
from fedbandits.testing.restored import MortalParty
from tests.federation.receiving import held, next_number, refused_next, taken
from tests.systems.samba_worlds import ALGORITHMS, federated, variant

ARMS, BUDGET = 3, 12


def played(route=None, name="ucb", execution="distributed", tamper=None, **parts):
    """A run over a network that loses or changes messages, for as long as anybody goes on."""
    config, world = variant(name, execution, **parts), Bernoulli(arms=ARMS)
    plan = plan_of(config, world, BUDGET)
    run = PartiesReplicate(SYSTEM, plan, world, 0, 0, route, lenient=True)
    if tamper is not None:
        encode = run.network._codec.encode
        run.network._codec.encode = lambda message: encode(tamper(message))
    run.advance(BUDGET)
    return run


class Losing:
    """A route that loses messages of a kind, but the first few."""

    def __init__(self, kind, sender=None, receiver=None, after=0):
        self.kind, self.between, self.left = kind, (sender, receiver), after

    def __call__(self, message):
        ends = zip(self.between, (message.sender, message.receiver), strict=True)
        if not isinstance(message, self.kind) or any(a not in (None, b) for a, b in ends):
            return 0
        self.left -= 1
        return None if self.left < 0 else 0


lost = Losing


def silent(name, after=0):
    """A route that loses all that a party sends, but the first few messages."""
    return lost(m.Message, sender=name, after=after)


def reasons(run):
    return {party.name: party.ended for party in run.parties}


def ended_with(run, reason):
    """Whether all have ended, for one reason; and nobody waits for anything."""
    assert set(reasons(run).values()) == {reason}, reasons(run)
    assert {party.stage for party in run.parties} == {"ended"}
    assert [party.awaited for party in run.parties] == [None] * len(run.parties)
    assert run.one("customer").state.cumulative_reward is None
    return True


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        (lost(Order), Reason.CONTROLLER),
        (lost(Start), Reason.BITS),
        (lost(Setup, receiver="owner-1"), Reason.SCORES),
        (lost(Setup), Reason.SCORES),
        (lost(Score, "owner-2"), Reason.SCORES),
        (lost(Score, after=4), Reason.SCORES),
        (lost(ScoreList), Reason.BITS),
        (lost(ScoreList, after=5), Reason.BITS),
        (lost(BitList, after=3), Reason.BITS),
        (lost(Bit, receiver="owner-0"), Reason.SCORES),
        (lost(Bit, after=4), Reason.SCORES),
        (lost(Bit, after=(BUDGET - ARMS) * ARMS - 1), Reason.SUMS),
        (lost(Sum), Reason.SUMS),
        (lost(Sum, "owner-1"), Reason.SUMS),
        (lost(Total), Reason.CONTROLLER),
        (silent("owner-0"), Reason.SCORES),
        (silent("owner-1", after=3), Reason.SCORES),
        (silent("comp"), Reason.BITS),
        (silent("comp", after=4), Reason.BITS),
    ],
)
def test_whatever_is_lost_ends_the_run_everywhere_with_one_reason(route, reason):
    assert ended_with(played(route), reason)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("shortcut", ["empty", "none", "published", "published-each"])
def test_any_single_lost_message_ends_the_run_everywhere(algorithm, shortcut):
    whole = played(name=algorithm, exploration_shortcut=shortcut)
    assert set(reasons(whole).values()) == {None}
    for number in range(0, whole.network.sent, 5):
        run = played(only_lost(number), algorithm, exploration_shortcut=shortcut)
        (reason,) = set(reasons(run).values())
        assert reason is not None
        assert ended_with(run, reason)


def only_lost(number):
    """A route that loses one message, by its number."""
    counted = itertools.count()
    return lambda message: None if next(counted) == number else 0


@pytest.mark.parametrize("after", [ARMS + 1, 10, 30])
def test_a_silent_controller_is_the_reason_for_all_who_are_in_the_run(after):
    run = played(silent("controller", after))
    told = {name: reason for name, reason in reasons(run).items() if name != "controller"}
    assert set(told.values()) == {Reason.CONTROLLER}
    assert all(party.awaited is None for party in run.parties)
    assert run.one("controller").ended is not None


def test_a_controller_that_never_speaks_leaves_nobody_waiting():
    run = played(silent("controller"))
    assert run.one("customer").ended is Reason.CONTROLLER
    assert run.one("controller").ended is Reason.SCORES
    idle = [run.one("comp"), *run.of("owner")]
    assert {party.stage for party in idle} == {"idle"}
    assert all(party.awaited is None for party in run.parties)


def test_a_silent_customer_leaves_nobody_waiting():
    run = played(silent("customer"))
    assert run.one("customer").ended is Reason.CONTROLLER
    assert {p.stage for p in run.parties} == {"idle", "ended"}
    assert all(party.awaited is None for party in run.parties)


def test_a_tampered_score_ends_the_run_at_the_deadline_and_is_named_by_comp():
    def tamper(message):
        if isinstance(message, Score) and (message.sender, message.step) == ("owner-1", 6):
            sealed = bytes([message.sealed[0] ^ 1]) + message.sealed[1:]
            return msgspec.structs.replace(message, sealed=sealed)
        return message

    run = played(execution="samba", tamper=tamper)
    assert ended_with(run, Reason.BITS)
    assert type(run.network.refusals[0].why) is aead.TamperedPacketError
    assert run.network.refusals[0].party == "comp"


@pytest.mark.parametrize("wrong", [{"step": 2**62}, {"iteration": 2**62}, {"sealed": b""}])
@pytest.mark.parametrize("kind", [Score, Bit])
def test_nonsense_ends_the_run_at_the_deadline(kind, wrong):
    def tamper(message):
        fits = isinstance(message, kind) and message.step == 6
        return msgspec.structs.replace(message, **wrong) if fits else message

    assert ended_with(played(tamper=tamper), Reason.SCORES)


def test_a_score_that_is_no_number_ends_the_run_at_once(monkeypatch):
    """However often it is computed: so nobody waits for a deadline."""
    monkeypatch.setattr(
        PublishedOwnerTools, "masked_score", lambda self, state: np.nan if state.step == 7 else 1.0
    )
    monkeypatch.setattr(PartiesRun, "_end_waiting", lambda run: False)
    run = played()
    assert ended_with(run, Reason.NOT_FINITE)
    assert run.network.transcript.messages["GaveUp"] == ARMS  # all of them, at one beat
    pursuit = played(name="pursuit")
    assert ended_with(pursuit, Reason.NOT_FINITE)


def test_the_endings_cost_nothing_in_a_run_that_is_well():
    run = played()
    counted = run.network.transcript.messages
    assert not any(counted[kind.__name__] for kind in TABLE if issubclass(kind, Ending))
    assert set(reasons(run).values()) == {None}
    assert {party.stage for party in run.parties} == {"done"}


def until(run, reached):
    """Play until something holds."""
    while not reached(run):
        assert run.network.deliver() or run.run._act_as_told() or run.run._end_rounds()
    return run


def at_stage(role, stage):
    run = federated(variant("ucb", "distributed"), ARMS, BUDGET)
    run.network.lenient = True
    return until(run, lambda run: run.of(role)[0].stage == stage), run.of(role)[0]


WAITING = [
    ("customer", "waiting"), ("owner", "waiting"), ("comp", "ready"),
    ("controller", "collecting"), ("controller", "comparing"), ("controller", "summing"),
]  # fmt: skip


@pytest.mark.parametrize(("role", "stage"), WAITING)
def test_only_the_deadline_of_what_is_awaited_ends_anything(role, stage):
    _, party = at_stage(role, stage)
    number, before = party.awaited, party.dump()
    for old in (0, number - 1, number + 1, -1, 2**62):
        if old != number:
            assert party.deadline(old) == []
    assert party.dump() == before
    told = party.deadline(number)
    assert told
    assert all(isinstance(message, Ending) for message in told)
    assert party.stage == "ended"
    ended = party.dump()
    assert party.awaited is None
    assert party.deadline(number) == []  # passes twice
    assert party.dump() == ended


@pytest.mark.parametrize(
    ("role", "stage"),
    [("owner", "idle"), ("owner", "pulling"), ("owner", "resting"), ("comp", "idle"),
     ("controller", "idle")],
)  # fmt: skip
def test_who_waits_for_nobody_has_no_deadline(role, stage):
    _, party = at_stage(role, stage)
    before = party.dump()
    assert party.awaited is None
    assert party.deadline(1) == []
    assert party.dump() == before


def test_a_deadline_of_scores_that_have_come_is_none_of_bits():
    run, controller = at_stage("controller", "collecting")
    number = controller.awaited
    until(run, lambda run: controller.stage == "comparing")
    assert controller.deadline(number) == []
    assert controller.stage == "comparing"


def test_numbers_of_what_is_awaited_never_come_twice():
    for name in ("ucb", "pursuit"):
        run = federated(variant(name, "distributed"), ARMS, BUDGET)
        seen = {party.name: [party.awaited] for party in run.parties}
        while run.network.deliver() or run.run._act_as_told() or run.run._end_rounds():
            for party in run.parties:
                if party.awaited != seen[party.name][-1]:
                    seen[party.name].append(party.awaited)
        for numbers in seen.values():
            there = [number for number in numbers if number is not None]
            assert there == sorted(set(there))


@pytest.mark.parametrize("role", ["customer", "owner", "comp", "controller"])
def test_after_the_end_everything_is_refused_by_name(role):
    run = played(lost(Score, after=7))
    party, before = run.of(role)[0], run.of(role)[0].dump()
    for event in (
        events.Start(), events.Decide(None), events.Observe(Decision(1, True), 1),
        events.EndRound(6),
    ):  # fmt: skip
        with pytest.raises(LocalProtocolError, match=r"the run has ended: an owner's score did"):
            party.handle(event)
    assert party.handle(Deadline(4)).outgoing == []
    assert party.start() == []
    assert party.next_end is None
    assert getattr(party, "round_to_act", None) is None
    assert party.dump() == before
    for kind, sender, receiver in routes(TABLE):
        if receiver == role and not issubclass(kind, Ending):
            message = some(run, kind, run.of(sender)[0].name, party.name)
            refused_next(party, message, RunEndedError)


def some(run, kind, sender, receiver):
    """A message that was sent, or one that might have been."""
    for _, message in run.network.transcript.deliveries:
        if isinstance(message, kind) and (message.sender, message.receiver) == (sender, receiver):
            return message
    fields = {
        Drawn: {"step": 7, "scores": (0.5,) * ARMS}, Sum: {"ciphertext": bytes(8)},
        Total: {"ciphertext": bytes(8)},
    }  # fmt: skip
    step = {"step": 7} if "step" in kind.__struct_fields__ else {}
    return kind(sender=sender, receiver=receiver, **(fields.get(kind) or step))


def test_the_controllers_word_is_the_last():
    """Whoever has given up takes over its reason; it does not take over theirs."""
    _, owner = at_stage("owner", "waiting")
    (told,) = owner.deadline(owner.awaited)
    assert (type(told), told.reason, owner.ended) == (GaveUp, *[Reason.CONTROLLER] * 2)
    word = End(sender="controller", receiver=owner.name, reason=Reason.SUMS)
    assert taken(owner, word) == []
    assert owner.ended is Reason.SUMS
    _, controller = at_stage("controller", "comparing")
    words = controller.deadline(controller.awaited)
    assert [type(word) for word in words] == [End] * (2 + ARMS)
    assert [word.receiver for word in words[:2]] == ["customer", "comp"]
    assert {word.reason for word in words} == {Reason.BITS}
    late = GaveUp(sender="owner-1", receiver="controller", reason=Reason.CONTROLLER)
    (again,) = taken(controller, late)  # who has not heard why is told once more
    assert (type(again), again.receiver, again.reason) == (End, "owner-1", Reason.BITS)
    assert controller.ended is Reason.BITS


@pytest.mark.parametrize("sender", ["customer", "comp", "owner-1"])
@pytest.mark.parametrize("stage", ["collecting", "comparing", "summing"])
def test_whoever_gives_up_ends_the_run_for_all_at_once(sender, stage):
    run, controller = at_stage("controller", stage)
    word = GaveUp(sender=sender, receiver="controller", reason=Reason.CONTROLLER)
    run.network.send(taken(controller, word))
    run.network.settle()
    assert ended_with(run, Reason.CONTROLLER)


def test_a_total_that_has_left_is_for_the_customer_alone_to_give_up():
    run = federated(variant("ucb", "distributed"), ARMS, BUDGET)
    run.advance(BUDGET)
    controller, customer = run.one("controller"), run.one("customer")
    for sender in ("comp", "owner-0"):
        word = GaveUp(sender=sender, receiver="controller", reason=Reason.SCORES)
        refused_next(controller, word, m.OutOfOrderError)
    word = End(sender="controller", receiver="customer", reason=Reason.SUMS)
    refused_next(customer, word, m.OutOfOrderError)
    assert customer.state.cumulative_reward is not None


def test_reasons_are_a_closed_set():
    """No text of a peer's own travels."""
    run, party = at_stage("customer", "waiting")
    codec = SYSTEM.roles(run.plan).codec
    number = next_number(party, "controller")
    word = End(sender="controller", receiver="customer", reason=Reason.SUMS, number=number)
    data = codec.encode(word)
    assert codec.decode(data) == word
    other = data.replace(Reason.SUMS.encode(), b"x" * len(Reason.SUMS))
    assert other != data
    receipt = party.receive_bytes(other, "controller")
    assert type(receipt.why) is m.UnknownMessageError
    assert {len(str(reason)) > 20 for reason in Reason} == {True}


EXPLORES = {"algorithm": "epsilon-greedy(0.6)", "exploration_shortcut": "published"}


@pytest.mark.parametrize("first", ["owners", "controller", "some owners"])
def test_the_beat_may_come_to_the_controller_before_the_owners(first):
    """A bit that comes while its owner rests is kept until the owner's own beat."""
    run = federated(variant("egreedy", "distributed", **EXPLORES), ARMS, 40)
    usual = federated(variant("egreedy", "distributed", **EXPLORES), ARMS, 40)
    usual.advance(40)
    order = {
        "owners": lambda party: party.name == "controller",
        "controller": lambda party: party.name != "controller",
        "some owners": lambda party: {"owner-1": 0, "controller": 1}.get(party.name, 2),
    }[first]
    early = 0
    while True:
        while run.network.deliver():
            pass
        if run.run._act_as_told():
            continue
        due = sorted((p for p in run.parties if p.next_end is not None), key=order)
        if not due:
            break
        for party in due:
            run.network.send(party.end_round(party.next_end))
            run.network.settle()  # bits are there before the others' beat
            early += sum(held(owner) for owner in run.players)
    assert (early > 0) == (first != "owners")
    assert run.stage.pulled == usual.stage.pulled
    customer, other = run.one("customer"), usual.one("customer")
    assert customer.state.cumulative_reward == other.state.cumulative_reward is not None
    assert run.network.outcomes["early"] == 0 or first != "owners"


def test_a_bit_that_comes_while_its_owner_pulls_is_kept_until_its_beat():
    """The Controller's beat was too short for this pull: late, but nothing is lost."""
    run = federated(variant("egreedy", "distributed", **EXPLORES), ARMS, 40)
    usual = federated(variant("egreedy", "distributed", **EXPLORES), ARMS, 40)
    usual.advance(40)
    controller, kept = run.one("controller"), 0
    while True:
        while run.network.deliver():
            pass
        if controller.next_end is not None:  # before anybody has pulled
            run.network.send(controller.end_round(controller.next_end))
            run.network.settle()
            kept += sum(held(owner) for owner in run.players if owner.stage == "pulling")
        if not (run.run._act_as_told() or run.run._end_rounds()):
            break
    assert kept > 0
    assert run.stage.pulled == usual.stage.pulled
    assert {party.stage for party in run.parties} == {"done"}


def test_only_the_bit_that_comes_next_is_kept():
    """Any other is refused at once: what is kept hides what comes behind it."""
    run = federated(variant("egreedy", "distributed", **EXPLORES), ARMS, 40)
    run.network.lenient = True
    until(run, lambda run: run.players[0].stage == "resting")
    owner = run.players[0]
    bit = Bit(
        sender="controller", receiver="owner-0", step=owner.state.step, iteration=1,
        sealed=b"\x00", place=0,
    )  # fmt: skip
    for wrong in ({"step": 2**62}, {"step": -1}, {"iteration": 2}, {"step": bit.step + 1}):
        refused_next(owner, msgspec.structs.replace(bit, **wrong), m.OutOfOrderError)
    assert held(owner) == 0
    other = federated(variant("ucb", "distributed"), ARMS, 40)
    until(other, lambda run: run.players[0].stage == "resting")
    refused_next(other.players[0], bit, m.OutOfOrderError)


def test_no_turn_is_sealed_again_after_a_restart():
    """Where a party stands says so already; the last turn that was sealed says it once more."""
    run = federated(variant("ucb"), ARMS, BUDGET)
    until(run, lambda run: run.players[0].state.step == 7 and run.players[0].stage == "waiting")
    owner, comp = run.players[0], run.one("comp")
    assert owner.state.sealed == (7, 1)
    assert owner.state.opened == (6, 1)
    assert comp.state.answered == (6, 1)
    owner._state = msgspec.structs.replace(owner.state, stage="resting")
    owner.load(owner.dump())
    with pytest.raises(aead.SealedBeforeError):
        owner.end_round(6)
    sent = [x for _, x in run.network.transcript.deliveries if isinstance(x, ScoreList)]
    comp._state = msgspec.structs.replace(comp.state, step=6)
    comp.load(comp.dump())
    refused_next(comp, sent[-1], aead.ReplayedPacketError)


def test_the_controller_keeps_to_the_runs_name_after_a_restart():
    """Even if what it brings has another one by then: masks and places are those of the run."""
    run = federated(variant("ucb"), ARMS, BUDGET)
    until(run, lambda run: run.one("controller").state.step == 6)
    roles, old = SYSTEM.roles(run.plan), run.one("controller")
    supply = SYSTEM.simulated_supplies(run.plan, None, 0, 0)("controller", 0)
    role = next(role for role in roles.roles if role.name == "controller")
    new = roles.make(role, 0, run.run.terms, supply._replace(run=bytes(16)))
    assert new.draws.keys != old.draws.keys
    new.load(old.dump())
    assert new.draws.keys == old.draws.keys
    assert new.dump() == old.dump()
    assert new.agreement == old.agreement


@pytest.mark.parametrize(
    "route",
    [silent("owner-1", after=3), lost(BitList, after=3), lost(Total), silent("controller", 30)],
)
def test_a_run_that_ends_can_be_restored_at_every_event(route):
    config, world = variant("pursuit", "distributed"), Bernoulli(arms=ARMS)
    plan = plan_of(config, world, BUDGET)
    found, counted = [], Counter()
    for embody in (lambda make: make(), lambda make: MortalParty(make, counted)):
        run = PartiesReplicate(
            SYSTEM, plan, world, 0, 0, copy.deepcopy(route), lenient=True, embody=embody
        )
        run.advance(BUDGET)
        found.append([party.dump() for party in run.parties])
    assert found[0] == found[1]
    assert counted["Customer.deadline"] >= 1


def test_states_are_as_small_as_what_they_say():
    """What a dump grows by is an owner's few numbers, not how long the run has been."""
    sizes = []
    for budget in (20, 200):
        run = federated(variant("ucb", "distributed"), ARMS, budget)
        run.advance(budget - 1)
        sizes.append([len(party.dump()) for party in run.parties])
        assert all(snapshots.encode(party.state) for party in run.parties)
    assert all(abs(a - b) < 60 for a, b in zip(*sizes, strict=True))
