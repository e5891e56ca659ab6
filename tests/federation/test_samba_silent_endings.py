"""A silent run that cannot go on ends everywhere, with one reason; and nobody waits for ever."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Bernoulli
from fedbandits.federation.run import PartiesRun
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba import silent as blocks
from fedbandits.systems.samba.messages import (
    Answer,
    Ask,
    Dealing,
    DealtFirst,
    DealtSecond,
    FirstTotal,
    GaveUp,
    Order,
    Reason,
    SecondTotal,
    SilentSetup,
    Start,
    SumShare,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.systems.samba.roles import owner
from fedbandits.testing.replicates import plan_of
from tests.federation.test_samba_endings import ended_with, lost, only_lost, reasons
from tests.federation.test_samba_endings import silent as mute
from tests.systems.samba_worlds import silent

ARMS, BUDGET = 3, 9


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 200)


def played(route=None, name="ucb", tamper=None, execution="distributed"):
    """A run over a network that loses or changes messages, for as long as anybody goes on."""
    world = Bernoulli(arms=ARMS)
    plan = plan_of(silent(name, execution), world, BUDGET)
    run = PartiesReplicate(SYSTEM, plan, world, 0, 0, route, lenient=True)
    if tamper is not None:
        encode = run.network._codec.encode
        run.network._codec.encode = lambda message: encode(tamper(message))
    run.advance(BUDGET)
    return run


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        (lost(Order), Reason.CONTROLLER),
        (lost(Start), Reason.SHARES),
        (lost(SilentSetup), Reason.SCORES),
        (lost(Dealing), Reason.DEALT),
        (lost(DealtFirst), Reason.DEALT),
        (lost(DealtFirst, after=1), Reason.DEALT),
        (lost(DealtSecond), Reason.SHARES),
        (lost(DealtSecond, after=2), Reason.SHARES),
        (lost(Ask), Reason.SHARES),  # Comp cannot go on, and the Controller waits for it
        (lost(Word, "owner-2"), Reason.SCORES),
        (lost(ToSecond, after=2), Reason.SHARES),
        (lost(ToFirst), Reason.SHARES),
        (lost(ToFirst, after=6), Reason.SHARES),
        (lost(Answer, receiver="owner-1"), Reason.SCORES),
        (lost(Answer, after=(BUDGET - ARMS) * ARMS - 1), Reason.SUMS),
        (lost(SumShare), Reason.SUMS),
        (lost(FirstTotal), Reason.CONTROLLER),
        (mute("dealer"), Reason.DEALT),
        (mute("dealer", after=2), Reason.SHARES),
        (mute("comp"), Reason.SHARES),
        (mute("comp", after=5), Reason.SHARES),
        (mute("owner-1", after=3), Reason.SCORES),
    ],
)
def test_whatever_is_lost_ends_the_run_everywhere_with_one_reason(route, reason):
    assert ended_with(played(route), reason)


def test_a_total_that_comp_does_not_send_is_missed_by_the_customer_alone():
    """Everybody else is done; the customer says that the run has ended, and all hear of it."""
    assert ended_with(played(lost(SecondTotal)), Reason.CONTROLLER)


@pytest.mark.parametrize("algorithm", ["ucb", "egreedy", "pursuit"])
def test_any_single_lost_message_ends_the_run_everywhere(algorithm):
    whole = played(name=algorithm)
    assert set(reasons(whole).values()) == {None}
    for number in range(0, whole.network.sent, 7):
        run = played(only_lost(number), algorithm)
        (reason,) = set(reasons(run).values())
        assert reason is not None
        assert ended_with(run, reason)


@pytest.mark.parametrize("after", [ARMS + 2, 12, 30])
def test_a_silent_controller_is_the_reason_for_all_who_are_in_the_run(after):
    run = played(mute("controller", after))
    going = [party for party in run.parties if party.stage != "done"]  # the dealer may be
    told = {party.name: party.ended for party in going if party.name != "controller"}
    assert set(told.values()) <= {Reason.CONTROLLER, Reason.DEALT}  # Comp may lack a block then
    assert set(told.values()) - {told["comp"]} <= {Reason.CONTROLLER}
    assert all(party.awaited is None for party in run.parties)


@pytest.mark.parametrize("kind", [Word, ToSecond, ToFirst, Answer, DealtFirst, DealtSecond])
def test_nonsense_ends_the_run_at_the_deadline(kind):
    def tamper(message):
        fits = isinstance(message, kind) and getattr(message, "step", ARMS + 1) == ARMS + 1
        return msgspec.structs.replace(message, sealed=b"") if fits else message

    run = played(tamper=tamper)
    (reason,) = set(reasons(run).values())
    assert ended_with(run, reason)
    assert {type(refusal.why).__name__ for refusal in run.network.refusals} >= {"PacketLengthError"}


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_ends_the_run_at_once(score, monkeypatch):
    """However often it is computed: so nobody waits for a deadline."""
    monkeypatch.setattr(
        owner.SilentOwnerTools, "score", lambda self, state: score if state.step == 7 else 1.0
    )
    monkeypatch.setattr(PartiesRun, "_end_waiting", lambda run: False)
    run = played()
    assert ended_with(run, Reason.NOT_FINITE)
    sent = [message for _, message in run.network.transcript.deliveries]
    assert any(isinstance(message, GaveUp) for message in sent)


def test_what_is_awaited_has_a_number_of_its_own():
    """So a deadline of something that has come by then does nothing."""
    numbers = {}

    def note(message):
        for party in run.parties if run is not None else ():
            if party.awaited is not None and party.name in ("controller", "comp", "owner-0"):
                place = party.stage, party.state.step, party.state.iteration
                place += (getattr(party.state, "part", 0),)
                numbers.setdefault((party.name, party.awaited), set()).add(place)
        return 0

    run = None
    world, config = Bernoulli(arms=ARMS), silent("pursuit", "distributed")
    run = PartiesReplicate(SYSTEM, plan_of(config, world, BUDGET), world, 0, 0, note)
    run.advance(BUDGET)
    assert {party.stage for party in run.parties} == {"done"}
    assert all(len(places) == 1 for places in numbers.values())
    assert len([name for name, _ in numbers if name == "comp"]) > 40
