"""Peers: whatever reaches one is refused by name without a trace, or it does its duty."""

from __future__ import annotations

import contextlib

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Linear
from fedbandits.errors import (
    BoundExceededError,
    BudgetExceededError,
    LocalProtocolError,
    RemoteProtocolError,
)
from fedbandits.federation import messages as m
from fedbandits.federation.events import Decision
from fedbandits.federation.exchange.gossip import MOST_AHEAD
from fedbandits.federation.links import MOST_HELD
from fedbandits.federation.messages import pack
from fedbandits.federation.roles import Roles
from fedbandits.reproduce.feducb import proved
from fedbandits.systems.agents.limits import Limits
from fedbandits.systems.feducb_p2p.listener import TABLE, Call, Release
from fedbandits.testing.replicates import federate, plan_of, system_of
from tests.federation.receiving import (
    held,
    next_number,
    refused,
    refused_next,
    snapshot,
    stamped,
    taken,
)

LINE = Linear(agents=4, dim=2, arms=3)
SIZE = 5  # d (d + 3) / 2
GOOD = pack(np.array([1.0, 0.2, 1.0, 0.3, 0.4]))
CODEC = Roles((), TABLE).codec


def run_of(preset="feducb-p2p", rounds=30, route=None, **parts):
    parts = {"graph": "line", "gamma": 2, "schedule": "every(3)"} | parts
    if preset == "feducb-p2p-published":
        parts["schedule"] = parts.get("threshold", "determinant(1e9)")
        parts.pop("threshold", None)
    return federate(proved(preset, **parts).config, LINE, rounds, 0, 0, route)


def played(preset="feducb-p2p", rounds=30, route=None, **parts):
    run = run_of(preset, rounds, route, **parts)
    run.advance(rounds)
    return run


def features(size=0.1):
    return np.full((2, 3), size, np.float32)


def play(agent, round_):
    """Have an agent play a round; what leaves it at the round's end."""
    assert agent.observe(agent.decide(features()), 1.0) == []
    return agent.end_round(round_)


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def release(**fields):
    good = {
        "sender": "agent-0", "receiver": "agent-1", "number": 0, "origin": "agent-0", "round": 3,
        "hops": 1, "estimator": 0, "release": 1, "statistic": GOOD,
    }  # fmt: skip
    return Release(**good | fields)


def call(**fields):
    good = {"sender": "agent-0", "receiver": "agent-1", "origin": "agent-0", "round": 3, "hops": 1}
    return Call(**good | fields)


def test_an_agent_names_what_is_wrong_with_a_release():
    run = run_of()
    run.advance(2)
    agent, good = run.of("agent")[1], release()
    refused(agent, change(good, version=1, terms=""), m.WrongVersionError)
    refused(agent, change(good, sender="agent-3"), m.WrongSenderError)  # no neighbour
    refused(agent, change(good, receiver="agent-2"), m.WrongSenderError)
    refused(agent, change(good, sender="agent-2"), m.WrongSenderError, "agent-0")
    for fields, kind in (
        ({"origin": "stranger"}, m.WrongSenderError),
        ({"statistic": GOOD[:-8]}, m.WrongShapeError),
        ({"statistic": pack(np.full(SIZE, np.inf))}, m.NotFiniteError),
        ({"statistic": pack(np.full(SIZE, 1e200))}, m.ImplausibleError),
        ({"statistic": pack(np.array([1.7e308, 0.0, 1.7e308, 0.0, 0.0]))}, m.ImplausibleError),
        ({"statistic": pack(np.full(SIZE, -1e16))}, m.ImplausibleError),
    ):
        refused_next(agent, change(good, **fields), kind)
    for fields in (
        {"hops": 0}, {"hops": 3}, {"origin": "agent-3", "hops": 2}, {"estimator": 1},
        {"estimator": -1}, {"release": 0}, {"release": 99}, {"round": 4}, {"release": 2},
        {"round": 2**62}, {"hops": 2**62}, {"estimator": 2**62}, {"release": 2**62},
        {"round": -(2**62)}, {"round": 31},
    ):  # fmt: skip
        refused_next(agent, change(good, **fields), m.OutOfOrderError)
    refused_next(agent, call(), m.OutOfOrderError)
    number = next_number(agent, "agent-0")
    assert taken(agent, good) == []  # its link goes on after all that
    assert agent.receive(stamped(agent, good, number=number)).outcome == "duplicate"


def test_a_published_agent_names_what_is_wrong_with_a_call():
    run = run_of("feducb-p2p-published", privatizer="none")
    run.advance(2)
    agent = run.of("agent")[1]
    for fields in (
        {"round": 0}, {"round": 31}, {"round": 2**62}, {"hops": 0}, {"hops": 2**62},
        {"round": -(2**62)},
    ):  # fmt: skip
        refused_next(agent, change(call(), **fields), m.OutOfOrderError)
    # An estimator cannot have been released more often than there were rounds.
    for fields in ({"release": 4}, {"round": 31, "release": 9}, {"round": 2**62}):
        refused_next(agent, release(**fields), m.OutOfOrderError)
    assert taken(agent, call(round=2)) == []
    assert agent.state.calls == {2: 3}


def test_a_release_is_held_to_what_its_own_origin_can_have():
    """One who has released k times can have k batches of records, and its own noise."""
    run = run_of(privatizer="none")
    run.advance(2)
    agent = run.of("agent")[1]
    batch = run.plan.schedule.most_records
    fits = pack(np.array([batch, 0.0, 0.0, 0.0, 0.0]))
    beyond = pack(np.array([batch * 1.001, 0.0, 0.0, 0.0, 0.0]))
    refused_next(agent, release(statistic=beyond), m.ImplausibleError)
    assert taken(agent, release(statistic=fits)) == []
    assert taken(agent, release(statistic=beyond, release=2, round=6)) == []


def test_copies_and_old_news_are_taken_and_change_no_pool():
    run = run_of()
    run.advance(8)
    agent = run.of("agent")[1]
    before = agent.pool().gram.copy()
    for repeated in (
        release(),  # the first release again, after the second
        release(round=6, release=2),
        release(origin="agent-1", hops=2),  # an own one
    ):
        assert taken(agent, repeated) == []
    np.testing.assert_array_equal(before, agent.pool().gram)
    run.of("agent")[0]._links.all["agent-1"].sent += 3
    passed = run.messages
    run.advance(9)
    assert run.messages - passed == 6  # third releases, nothing else


def test_a_peer_that_is_ahead_is_heard_when_its_time_has_come():
    run = run_of()
    run.advance(1)
    agent = run.of("agent")[1]
    before = agent.pool().gram.copy()
    taken(agent, release())  # of round 3
    np.testing.assert_array_equal(before, agent.pool().gram)
    for round_ in (2, 3):  # the others play on without it
        sent = play(agent, round_)
        assert [s.origin for s in sent] == (["agent-1"] * 2 if round_ == 3 else [])
    assert not np.array_equal(before, agent.pool().gram)
    passed = play(agent, 4)
    assert [(s.origin, s.receiver, s.hops) for s in passed] == [("agent-0", "agent-2", 2)]


def test_what_is_far_ahead_waits_on_its_link_and_costs_no_more_than_its_place():
    """Whoever was cut off for long gets all that has come meanwhile, when its time has come."""
    run = run_of(rounds=90)
    agent = run.of("agent")[1]
    outcomes = []
    for number in range(1, 30):
        message = release(round=3 * number, release=number, number=number - 1)
        outcomes.append(agent.receive(stamped(agent, message)).outcome)
    assert outcomes == ["taken"] * 5 + ["early"] * 24  # rounds 1 to 16 are near
    assert agent.awaited == 0
    agent.deadline(0)
    for round_ in range(1, 91):
        play(agent, round_)
        assert all(len(history) <= MOST_AHEAD + 2 for history in agent.state.known.values())
        assert all(len(heard) <= MOST_AHEAD + 6 for heard in agent.state.floods.values())
    assert next_number(agent, "agent-0") == 29
    assert agent.state.known[0][-1].release == 29


def test_no_peer_can_fill_the_memory():
    """As many calls and releases as it likes, of any round that it may name."""
    run = run_of("feducb-p2p-published", rounds=2000, privatizer="none")
    agent = run.of("agent")[1]
    for round_ in range(1, 41):
        play(agent, round_)
    number = 0
    for ahead in (41, 56, 57, 1999, 42):
        for count in range(1, 200):
            for message in (
                call(round=ahead),
                release(round=ahead, release=min(count, ahead), estimator=ahead % 2),
            ):
                agent.receive(stamped(agent, message, number=number))
                number += 1
    assert len(agent.state.calls) <= MOST_AHEAD + 2 * 2 + 1
    assert all(len(history) <= MOST_AHEAD + 2 for history in agent.state.known.values())
    assert all(len(heard) <= MOST_AHEAD + 6 for heard in agent.state.floods.values())
    assert held(agent) <= MOST_HELD + 1


def test_a_late_release_is_used_when_it_comes_and_passed_on():
    run = run_of()
    agent = run.of("agent")[1]
    for round_ in range(1, 9):
        play(agent, round_)
    before = agent.pool().gram.copy()
    assert taken(agent, release()) == []  # of round 3, after round 8
    assert not np.array_equal(before, agent.pool().gram)
    passed = [s for s in play(agent, 9) if s.origin == "agent-0"]
    assert [(s.receiver, s.hops) for s in passed] == [("agent-2", 2)]


@pytest.mark.parametrize("preset", ["feducb-p2p", "feducb-p2p-published"])
def test_others_go_on_while_one_is_cut_off(preset):
    """All that it sends is lost; the others play to the horizon, as if it had no releases."""
    parts = {"threshold": "determinant(2)", "epsilon": 1e4} if "published" in preset else {}
    run = run_of(preset, route=lambda msg: None if msg.sender == "agent-0" else 0, **parts)
    run.advance(30)
    assert run.done == 30
    assert [agent.state.rounds for agent in run.of("agent")] == [30] * 4
    assert [agent.state.decisions for agent in run.of("agent")] == [30] * 4
    near = run.of("agent")[1]
    assert {cell // near._count for cell in near.state.known} >= {1, 2}
    assert not any(cell // near._count == 0 for cell in near.state.known)


def test_one_who_was_away_for_rounds_comes_back():
    """Messages wait for it on their links: it catches up, and knows what it would have known."""
    smooth, rough = (run_of(rounds=12).of("agent") for _ in range(2))
    posted = []

    def deliver(agents, messages, away):
        for message in messages:
            if message.receiver == away:
                posted.append(message)
            else:
                places = [a.name for a in agents]
                agents[places.index(message.receiver)].receive(message)

    for agents, away in ((smooth, None), (rough, "agent-2")):
        for round_ in range(1, 13):
            sent = [m for a in agents if a.name != away for m in play(a, round_)]
            deliver(agents, sent, away)
    back = rough[2]
    for message in posted:
        assert back.receive(message).outcome == "taken"
    for round_ in range(1, 13):
        deliver(rough, play(back, round_), None)
    ends = [a.pool().gram[0, 0, 0] for a in (smooth[2], back)]
    assert ends[0] == pytest.approx(ends[1], rel=0.5)
    assert back.state.rounds == 12
    assert {cell: h[-1].release for cell, h in back.state.known.items()} == {
        cell: h[-1].release for cell, h in smooth[2].state.known.items()
    }


def test_a_late_reward_goes_to_the_estimator_that_decided():
    agent = run_of("feducb-p2p-published", privatizer="none").of("agent")[0]
    late = agent.decide(features(0.3))  # round 1: estimator 1 of 2
    assert agent.end_round(1) == []
    soon = agent.decide(features(0.5))  # round 2: estimator 0
    agent.observe(soon, 1.0)
    agent.observe(late, 1.0)
    first = agent.state.statistic[:, 0, 0]
    np.testing.assert_allclose(first, [0.25, 0.09], rtol=1e-6)
    assert [e.waited for e in agent.state.estimators] == [1, 1]
    assert agent.state.used == agent.state.open == {}


def test_rewards_come_in_any_order_and_count_in_the_release_after_them():
    run = run_of(local_view="raw")
    agent = run.of("agent")[0]
    made = [agent.decide(features(0.1 * k)) for k in range(1, 5)]
    for decision in (made[2], made[0]):
        agent.observe(decision, 1.0)
    before = agent.state.statistic.copy()
    for round_ in (1, 2):
        agent.end_round(round_)
    (message,) = agent.end_round(3)
    assert agent.state.estimators[0].waited == 0
    for decision in (made[3], made[1]):
        agent.observe(decision, 1.0)
    assert agent.state.estimators[0].waited == 2
    np.testing.assert_array_equal(agent.state.estimators[0].at_release, before[0])
    assert message.release == 1


def test_more_records_than_a_release_may_be_about_are_kept_for_the_next():
    """No batch is beyond what others hold a release to."""
    run = run_of()  # every third round
    agent = run.of("agent")[0]
    for _ in range(7):
        agent.observe(agent.decide(features(0.5)), 1.0)
    state = agent.state
    assert (state.estimators[0].waited, len(state.estimators[0].kept)) == (3, 4)
    assert state.statistic[0, 0, 0] == pytest.approx(0.75)
    for round_ in (1, 2, 3):
        agent.end_round(round_)
    agent.observe(agent.decide(features(0.5)), 1.0)
    state = agent.state
    # The first release is of decisions 1 to 3, the second of those up to 6.
    assert (state.estimators[0].waited, sorted(state.estimators[0].kept)) == (3, [7, 8])
    assert state.statistic[0, 0, 0] == pytest.approx(1.5)


def test_a_pool_that_cannot_be_is_not_acted_on(monkeypatch):
    """Nonsense that would get past the limits: decisions go on by the pool before."""
    run = run_of(privatizer="none")
    agent = run.of("agent")[1]
    for round_ in (1, 2, 3):
        play(agent, round_)
    agent.decide(features())
    before, number = agent.state.estimators[0], agent.state.decisions
    nonsense = pack(np.array([-3.0, 0.0, -3.0, 0.0, 0.0]))
    refused_next(agent, release(statistic=nonsense), m.ImplausibleError)
    with monkeypatch.context() as lenient:
        lenient.setattr(Limits, "check", lambda *_: None)
        assert taken(agent, release(statistic=nonsense)) == []
    for _ in range(3):
        agent.decide(features())
    after = agent.state.estimators[0]
    assert agent.state.decisions == number + 3
    assert after.unusable == 1
    assert after.pool is before.pool
    assert after.view is before.view
    taken(agent, release(release=2, round=6))  # what is good again is used again
    for round_ in (4, 5, 6):
        agent.end_round(round_)
    agent.decide(features())
    assert agent.state.estimators[0].pool is not before.pool


def test_a_round_ends_when_the_ledger_refuses():
    """The agent releases nothing more, and goes on passing on what others release."""

    class Spent:
        def cover(self, step, values):
            raise BudgetExceededError("nothing is left")

    config = proved("feducb-p2p", graph="line", gamma=2, schedule="every(3)").config
    plan = plan_of(config, LINE, 30)
    simulated = system_of(config).simulated_supplies(plan, None, 0, 0)
    run = federate(
        config, LINE, 30, 0, 0,
        supplies=lambda role, place: simulated(role, place)._replace(noise=Spent()),
    )  # fmt: skip
    agent = run.of("agent")[1]
    for round_ in (1, 2, 3):
        assert play(agent, round_) == []
    assert agent.state.refused == 1
    assert agent.state.estimators[0].released.made == 0
    taken(agent, release())
    assert [s.receiver for s in play(agent, 4)] == ["agent-2"]


def test_the_terms_name_the_edges(tmp_path):
    """A file of one name may have other edges on another machine."""
    found = []
    path = tmp_path / "edges.txt"
    for edges in ("0 1\n1 2\n2 3", "0 1\n1 3\n2 3"):
        path.write_text(edges)
        found.append(run_of(graph=f"file({path})").of("agent"))
    (sender, *_), (_, receiver, *_) = found
    for round_ in (1, 2, 3):
        sent = play(sender, round_)
    receipt = receiver.receive(sent[0])
    assert receipt.outcome == "refused"
    assert type(receipt.why) is m.OtherTermsError
    answer = sender.receive(receipt.outgoing[0])
    assert "facts.neighbours.agent-1" in str(answer.why)


def test_other_terms_are_refused_by_the_name_of_the_key():
    sender, receiver = run_of(epsilon=2.0).of("agent")[0], run_of(epsilon=1.0).of("agent")[1]
    for round_ in (1, 2, 3):
        sent = play(sender, round_)
    (terms,) = receiver.receive(sent[0]).outgoing
    assert "settings.epsilon" in str(sender.receive(terms).why)


def test_delays_within_a_round_do_not_change_the_result():
    prompt = played()
    slow = played(route=lambda message: len(message.origin) + message.number % 3)
    np.testing.assert_array_equal(prompt.regret, slow.regret)
    assert prompt.messages == slow.messages
    assert slow.network.clock > prompt.network.clock == 0


def test_a_lost_release_holds_up_the_next_until_nobody_waits_for_it():
    lost = []

    def route(message):
        if message.sender == "agent-0" and not lost:
            lost.append(message)
            return None
        return 0

    run = run_of(route=route)
    run.advance(3)
    assert len(lost) == 1
    agent = run.of("agent")[1]
    assert 0 not in agent.state.known
    run.advance(6)  # the second release shows the gap; at the deadline it is given up
    assert agent._links.all["agent-0"].given_up == 1
    assert agent.state.known[0][-1].release == 2


def test_the_transcript_tells_who_saw_what():
    run = played(gamma=2)
    seen = run.network.transcript
    origins = {
        agent.name: {s.value for s in seen.sightings(agent.name) if s.field == "origin"}
        for agent in run.of("agent")
    }
    assert origins["agent-0"] == {"agent-1", "agent-2"}  # not agent-3: three hops away
    assert origins["agent-1"] == {"agent-0", "agent-2", "agent-3"}
    assert seen.messages["Release"] == run.messages
    assert seen.wire_bytes > seen.payload_bytes == run.bytes


def test_copies_are_the_released_bits_and_no_raw_sum_leaves():
    run = played(rounds=12, delta=0.1)
    contents: dict[tuple, set[bytes]] = {}
    for _, message in run.network.transcript.deliveries:
        contents.setdefault((message.origin, message.release), set()).add(message.statistic)
    assert all(len(copies) == 1 for copies in contents.values())
    raw = {agent.state.statistic.tobytes() for agent in run.of("agent")}
    assert not raw & {copy for copies in contents.values() for copy in copies}


def test_when_messages_exist_does_not_depend_on_the_data():
    """What would be a leak: other rounds, senders or receivers in another world."""

    def skeleton(seed):
        config = proved("feducb-p2p", graph="line", gamma=3, schedule="growing(1.4, 2)").config
        run = federate(config, LINE, 30, seed, 0)
        run.advance(30)
        return [
            (at, msg.sender, msg.receiver, msg.origin, msg.round, msg.hops, msg.release)
            for at, msg in run.network.transcript.deliveries
        ]

    assert skeleton(0) == skeleton(1) != []


def test_the_published_trigger_speaks_of_raw_data():
    run = played("feducb-p2p-published", threshold="determinant(2)", epsilon=1e4)
    counts = run.network.transcript.messages
    assert counts["Call"] > 0
    assert counts["Release"] > 0
    assert run.messages == sum(counts.values())


def test_misuse_is_the_callers_error():
    agent = run_of().of("agent")[0]
    before = agent.dump()
    with pytest.raises(LocalProtocolError, match="not open"):
        agent.observe(Decision(1, 0), 1.0)
    for wrong in (np.zeros((3, 3)), np.zeros((2, 4)), np.full((2, 3), np.nan)):
        with pytest.raises(LocalProtocolError, match="decision set"):
            agent.decide(wrong.astype(np.float32))
    for round_ in (0, 2, 2**62):
        with pytest.raises(LocalProtocolError, match="end of round"):
            agent.end_round(round_)
    assert agent.dump() == before
    decision = agent.decide(features(0.9))
    before = agent.dump()
    with pytest.raises(BoundExceededError):
        agent.observe(decision, 1.0)  # the context is too long
    with pytest.raises(LocalProtocolError, match="was chosen, not"):
        agent.observe(Decision(1, (decision.action + 1) % 3), 1.0)
    assert agent.dump() == before
    agent.decide(features())  # many may be open
    assert len(agent.state.open) == 2


def test_a_run_ends_at_its_horizon():
    agent = run_of(rounds=3).of("agent")[0]
    for round_ in (1, 2, 3):
        play(agent, round_)
    assert agent.next_end is None
    with pytest.raises(LocalProtocolError):
        agent.end_round(4)
    agent.observe(agent.decide(features()), 1.0)


names = st.sampled_from(["agent-0", "agent-1", "agent-2", "agent-3", "stranger", ""])
small = st.one_of(st.integers(-1, 7), st.sampled_from([31, 2**62]))
envelopes = {
    "sender": names, "receiver": names, "number": st.integers(-1, 2),
    "version": st.integers(m.VERSION - 1, m.VERSION + 1),
    "origin": names, "round": small, "hops": small,
}  # fmt: skip
statistics = st.one_of(
    st.binary(max_size=50),
    st.just(GOOD),
    st.lists(st.floats(), min_size=SIZE, max_size=SIZE).map(lambda v: pack(np.array(v))),
)
anything = st.one_of(
    st.builds(Release, **envelopes, estimator=small, release=small, statistic=statistics),
    st.builds(Call, **envelopes),
)


@settings(max_examples=300)
@given(
    st.lists(anything, min_size=1, max_size=6),
    st.sampled_from(["feducb-p2p", "feducb-p2p-published"]),
    st.integers(1, 5),
    st.booleans(),
)
def test_any_messages_are_taken_or_refused_without_a_trace(incoming, preset, before_round, ours):
    run = run_of(preset, privatizer="none")
    run.advance(before_round)
    for party in run.of("agent"):
        for message in incoming:
            given = stamped(party, message) if ours else message
            before = snapshot(party, message.sender)
            receipt = party.receive(given)
            if receipt.outcome == "refused" and not receipt.outgoing:
                assert isinstance(receipt.why, RemoteProtocolError)
                assert snapshot(party, message.sender) == before
        party.decide(features())  # nothing that was taken stops it


@settings(max_examples=300)
@given(st.integers(0, 300), st.integers(1, 255))
def test_mutated_messages_are_decoded_or_refused(position, flip):
    data = bytearray(CODEC.encode(release()))
    data[position % len(data)] ^= flip
    with contextlib.suppress(m.UnknownMessageError, m.WrongVersionError):
        CODEC.decode(bytes(data))


def test_messages_survive_the_codec():
    for message in (call(origin="c", round=7, hops=2), release()):
        assert CODEC.decode(CODEC.encode(message)) == message
