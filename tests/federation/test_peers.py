"""Peers: whatever reaches one, it raises a named error and stays as it was, or does its duty."""

from __future__ import annotations

import contextlib
import copy
import pickle

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Linear
from fedbandits.errors import BoundExceededError, LocalProtocolError, RemoteProtocolError
from fedbandits.federation import messages as m
from fedbandits.federation.messages import pack
from fedbandits.federation.roles import Roles
from fedbandits.settings.experiment import system
from fedbandits.systems.feducb_p2p.messages import TABLE, Call, Release
from fedbandits.testing.plays import federate

LINE = Linear(agents=4, dim=2, arms=3)
SIZE = 5  # d (d + 3) / 2
GOOD = pack(np.arange(SIZE, dtype=float))
CODEC = Roles((), TABLE).codec


def run_of(preset="feducb-p2p", rounds=30, route=None, **parts):
    parts = {"graph": "line", "gamma": 2, "schedule": "every(3)"} | parts
    if preset == "feducb-p2p-published":
        parts["schedule"] = parts.get("threshold", "determinant(1e9)")
        parts.pop("threshold", None)
    return federate(system(preset, **parts).config, LINE, rounds, 0, 0, route)


def played(preset="feducb-p2p", rounds=30, route=None, **parts):
    run = run_of(preset, rounds, route, **parts)
    run.advance(rounds)
    return run


def snapshot(party) -> bytes:
    """All of a party's state, bit for bit."""
    hidden = {k: v for k, v in vars(party).items() if k not in ("_plan", "_noise", "_ties")}
    return pickle.dumps(copy.deepcopy(hidden))


def refuses(party, message, kind):
    before = snapshot(party)
    with pytest.raises(kind) as refusal:
        party.receive(message)
    assert type(refusal.value) is kind
    assert snapshot(party) == before


def play(agent, round_):
    """Have an agent play a round; what leaves it at the round's end."""
    assert agent.observe(agent.decide(np.full((2, 3), 0.1, np.float32)), 1.0) == []
    return agent.end_round(round_)


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def release(**fields):
    good = {
        "sender": "agent-0", "receiver": "agent-1", "number": 0, "origin": "agent-0", "round": 3,
        "hops": 1, "estimator": 0, "release": 1, "statistic": GOOD,
    }  # fmt: skip
    return Release(**good | fields)


def test_an_agent_names_what_is_wrong_with_a_release():
    run = run_of()
    run.advance(2)
    agent, good = run.of("agent")[1], release()
    refuses(agent, change(good, version=2), m.WrongVersionError)
    refuses(agent, change(good, sender="agent-3"), m.WrongSenderError)  # no neighbour
    refuses(agent, change(good, receiver="agent-2"), m.WrongSenderError)
    refuses(agent, change(good, origin="stranger"), m.WrongSenderError)
    refuses(agent, change(good, statistic=GOOD[:-8]), m.WrongShapeError)
    refuses(agent, change(good, statistic=pack(np.full(SIZE, np.inf))), m.NotFiniteError)
    refuses(agent, change(good, number=1), m.OutOfOrderError)
    for fields in (
        {"hops": 0}, {"hops": 3}, {"origin": "agent-3", "hops": 2}, {"estimator": 1},
        {"estimator": -1}, {"release": 0}, {"release": 99}, {"round": 4}, {"release": 2},
    ):  # fmt: skip
        refuses(agent, change(good, **fields), m.OutOfOrderError)
    refuses(agent, Call(sender="agent-0", receiver="agent-1", number=0, origin="agent-0", round=3,
                        hops=1), m.OutOfOrderError)  # fmt: skip
    assert agent.receive(good) == []
    refuses(agent, good, m.DuplicateError)


def test_copies_and_old_news_are_taken_and_change_no_pool():
    run = run_of()
    run.advance(8)
    agent = run.of("agent")[1]
    before = agent.pool().gram.copy()
    number = agent._received["agent-0"]
    for repeated in (
        release(number=number),  # the first release again, after the second
        release(number=number + 1, round=6, release=2),
        release(number=number + 2, origin="agent-1", hops=2),  # an own one
    ):
        assert agent.receive(repeated) == []
    np.testing.assert_array_equal(before, agent.pool().gram)
    run.of("agent")[0]._sent["agent-1"] += 3
    passed = run.messages
    run.advance(9)
    assert run.messages - passed == 6  # third releases, nothing else


def test_a_peer_that_is_ahead_is_heard_when_its_time_has_come():
    run = run_of()
    run.advance(1)
    agent = run.of("agent")[1]
    before = agent.pool().gram.copy()
    agent.receive(release())  # of round 3
    np.testing.assert_array_equal(before, agent.pool().gram)
    for index in (0, 2, 3):  # the others play on without it
        run.of("agent")[index].round += 2
    for round_ in (2, 3):
        sent = play(agent, round_)
        assert [s.origin for s in sent] == (["agent-1"] * 2 if round_ == 3 else [])
    assert not np.array_equal(before, agent.pool().gram)
    passed = play(agent, 4)
    assert [(s.origin, s.receiver, s.hops) for s in passed] == [("agent-0", "agent-2", 2)]


def test_delays_within_a_round_do_not_change_the_result():
    prompt = played()
    slow = played(route=lambda message: len(message.origin) + message.number % 3)
    np.testing.assert_array_equal(prompt.regret, slow.regret)
    assert prompt.messages == slow.messages
    assert slow.network.clock > prompt.network.clock == 0


def test_a_lost_release_shows_as_a_gap():
    lost = []

    def route(message):
        if message.sender == "agent-0" and not lost:
            lost.append(message)
            return None
        return 0

    run = run_of(route=route)
    run.advance(3)
    assert len(lost) == 1
    with pytest.raises(m.OutOfOrderError, match="expected 0"):
        run.advance(6)


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
    raw = {agent.statistic.tobytes() for agent in run.of("agent")}
    assert not raw & {copy for copies in contents.values() for copy in copies}


def test_when_messages_exist_does_not_depend_on_the_data():
    """What would be a leak: other rounds, senders or receivers in another world."""

    def skeleton(seed):
        config = system("feducb-p2p", graph="line", gamma=3, schedule="growing(1.4, 2)").config
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
    before = snapshot(agent)
    with pytest.raises(LocalProtocolError, match="ready"):
        agent.observe(0, 1.0)
    for features in (np.zeros((3, 3)), np.zeros((2, 2)), np.full((2, 3), np.nan)):
        with pytest.raises(LocalProtocolError, match="decision set"):
            agent.decide(features.astype(np.float32))
    assert snapshot(agent) == before
    arm = agent.decide(np.full((2, 3), 0.9, np.float32))
    before = snapshot(agent)
    with pytest.raises(LocalProtocolError, match="acting"):
        agent.decide(np.full((2, 3), 0.9, np.float32))
    with pytest.raises(BoundExceededError):
        agent.observe(arm, 1.0)  # the context is too long
    with pytest.raises(LocalProtocolError, match="was chosen, not"):
        agent.observe((arm + 1) % 3, 1.0)
    assert snapshot(agent) == before


names = st.sampled_from(["agent-0", "agent-1", "agent-2", "agent-3", "stranger", ""])
small = st.integers(-1, 7)
envelopes = {
    "sender": names, "receiver": names, "number": st.integers(-1, 2), "version": st.integers(0, 2),
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
)
def test_any_messages_are_taken_or_refused_without_a_trace(incoming, preset, before_round):
    run = run_of(preset, privatizer="none")
    run.advance(before_round)
    for party in run.of("agent"):
        for message in incoming:
            before = snapshot(party)
            try:
                party.receive(message)
            except RemoteProtocolError:
                assert snapshot(party) == before


@settings(max_examples=300)
@given(st.integers(0, 300), st.integers(1, 255))
def test_mutated_messages_are_decoded_or_refused(position, flip):
    data = bytearray(CODEC.encode(release()))
    data[position % len(data)] ^= flip
    with contextlib.suppress(m.UnknownMessageError, m.WrongVersionError):
        CODEC.decode(bytes(data))


def test_messages_survive_the_codec():
    call = Call(sender="a", receiver="b", origin="c", round=7, hops=2)
    for message in (call, release()):
        assert CODEC.decode(CODEC.encode(message)) == message
