"""Asynchronous FedLinUCB: whatever reaches a party, a named error without a trace, or its duty."""

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
from fedbandits.systems.fedlinucb_async.messages import TABLE, Download, Upload
from fedbandits.systems.feducb.messages import Pooled
from fedbandits.testing.plays import federate

ENVIRONMENT = Linear(agents=2, dim=2, arms=3)
SIZE = 5  # d (d + 3) / 2
GOOD = pack(np.array([1.0, 0.2, 1.0, 0.3, 0.4]))
CODEC = Roles((), TABLE).codec


def fresh(**parts):
    return federate(system("fedlinucb-async", **parts).config, ENVIRONMENT, 30, 0, 0)


def waiting():
    """A run whose agents have each sent their first upload; none was delivered."""
    run, sent = fresh(growth=1e-6), []
    for index, agent in enumerate(run.of("agent")):
        arm = agent.decide(np.full((2, 3), 0.3, np.float32))
        sent += agent.observe(arm, float(index))
    return run, sent


def snapshot(party) -> bytes:
    """All of a party's state, bit for bit."""
    hidden = {k: v for k, v in vars(party).items() if k not in ("_plan", "_ties")}
    return pickle.dumps(copy.deepcopy(hidden))


def refuses(party, message, kind):
    before = snapshot(party)
    with pytest.raises(kind) as refusal:
        party.receive(message)
    assert type(refusal.value) is kind
    assert snapshot(party) == before


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def test_the_server_names_what_is_wrong_with_an_upload():
    run, (one, two) = waiting()
    server = run.one("server")
    refuses(server, change(one, version=2), m.WrongVersionError)
    refuses(server, change(one, sender="stranger"), m.WrongSenderError)
    refuses(server, change(one, receiver="agent-1"), m.WrongSenderError)
    refuses(server, change(one, statistic=one.statistic[:-8]), m.WrongShapeError)
    refuses(server, change(one, statistic=b""), m.WrongShapeError)
    refuses(server, change(one, statistic=pack(np.full(SIZE, np.nan))), m.NotFiniteError)
    refuses(server, change(one, statistic=pack(np.full(SIZE, -np.inf))), m.NotFiniteError)
    refuses(server, change(one, exchange=2), m.OutOfOrderError)
    refuses(server, change(one, exchange=0), m.OutOfOrderError)
    refuses(server, change(one, number=1), m.OutOfOrderError)
    download = Download(sender="agent-0", receiver="server", number=0, exchange=1, statistic=GOOD)
    refuses(server, download, m.UnknownMessageError)
    (answer,) = server.receive(one)
    assert (answer.receiver, answer.statistic) == ("agent-0", one.statistic)
    refuses(server, one, m.DuplicateError)
    refuses(server, change(one, number=1), m.OutOfOrderError)
    (answer,) = server.receive(two)
    both = np.frombuffer(one.statistic) + np.frombuffer(two.statistic)
    np.testing.assert_array_equal(np.frombuffer(answer.statistic), both)


def test_an_agent_names_what_is_wrong_with_a_download():
    run, _ = waiting()
    agent = run.of("agent")[0]
    good = Download(sender="server", receiver="agent-0", number=0, exchange=1, statistic=GOOD)
    refuses(agent, change(good, version=0), m.WrongVersionError)
    refuses(agent, change(good, sender="agent-1"), m.WrongSenderError)
    refuses(agent, change(good, receiver="agent-1"), m.WrongSenderError)
    refuses(agent, change(good, statistic=GOOD[:-1]), m.WrongShapeError)
    refuses(agent, change(good, statistic=pack(np.full(SIZE, np.inf))), m.NotFiniteError)
    refuses(agent, change(good, exchange=0), m.OutOfOrderError)
    refuses(agent, change(good, exchange=2), m.OutOfOrderError)
    refuses(agent, change(good, number=3), m.OutOfOrderError)
    negative = pack(np.array([-9.0, 0.0, -9.0, 0.0, 0.0]))
    refuses(agent, change(good, statistic=negative), RemoteProtocolError)
    upload = Upload(sender="server", receiver="agent-0", number=0, exchange=1, statistic=GOOD)
    refuses(agent, upload, m.UnknownMessageError)
    pooled = Pooled(sender="server", receiver="agent-0", number=0, release=1, statistic=GOOD)
    refuses(agent, pooled, m.UnknownMessageError)
    assert agent.receive(good) == []
    assert agent.state == "ready"
    refuses(agent, good, m.DuplicateError)


def test_a_download_that_nobody_asked_for_is_refused():
    agent = fresh().of("agent")[0]
    unasked = Download(sender="server", receiver="agent-0", number=0, exchange=0, statistic=GOOD)
    refuses(agent, unasked, m.OutOfOrderError)


def test_misuse_is_the_callers_error():
    run, _ = waiting()
    agent = run.of("agent")[0]
    before = snapshot(agent)
    for misuse in (
        lambda: agent.decide(np.zeros((2, 3), np.float32)),
        lambda: agent.observe(0, 1.0),
    ):
        with pytest.raises(LocalProtocolError, match="waiting"):
            misuse()
    assert snapshot(agent) == before
    ready = fresh().of("agent")[0]
    with pytest.raises(LocalProtocolError, match="decision set"):
        ready.decide(np.zeros((3, 3), np.float32))


def test_a_record_out_of_bounds_touches_nothing():
    agent = fresh().of("agent")[0]
    arm = agent.decide(np.full((2, 3), 0.9, np.float32))
    before = snapshot(agent)
    for reward in (1.0, float("nan"), 5.0):
        with pytest.raises(BoundExceededError):
            agent.observe(arm, reward)
    assert snapshot(agent) == before


def test_others_go_on_while_one_waits():
    """Its upload is lost: it waits; the other one plays on, alone with the server."""
    lost = []

    def route(message):
        if isinstance(message, Upload) and message.sender == "agent-0" and not lost:
            lost.append(message)
            return None
        return 0

    config = system("fedlinucb-async").config
    run = federate(config, ENVIRONMENT, 30, 0, 0, route)
    run.advance(1)
    assert [agent.state for agent in run.of("agent")] == ["waiting", "ready"]
    other = run.of("agent")[1]
    for _ in range(5):
        arm = other.decide(np.full((2, 3), 0.4, np.float32))
        run.network.send(other.observe(arm, 1.0))
        run.network.settle()
    assert other.exchanges > 1
    run.network.send(lost)  # sent again, it is still the next message
    run.network.settle()
    assert run.of("agent")[0].state == "ready"
    assert run.one("server").exchanges["agent-0"] == 1


def test_the_transcript_tells_who_saw_what():
    run = fresh()
    run.advance(30)
    seen = run.network.transcript
    assert {kind for kind, _ in seen.fields_seen("server")} == {"Upload"}
    for agent in run.of("agent"):
        assert {kind for kind, _ in seen.fields_seen(agent.name)} == {"Download"}
        assert {s.sender for s in seen.sightings(agent.name)} == {"server"}


names = st.sampled_from(["agent-0", "agent-1", "server", "stranger", ""])
fields = {
    "sender": names, "receiver": names, "number": st.integers(-1, 3), "version": st.integers(0, 2),
    "exchange": st.integers(-1, 3),
    "statistic": st.one_of(
        st.binary(max_size=50),
        st.lists(st.floats(), min_size=SIZE, max_size=SIZE).map(lambda v: pack(np.array(v))),
    ),
}  # fmt: skip
anything = st.one_of(st.builds(Upload, **fields), st.builds(Download, **fields))


@settings(max_examples=300)
@given(st.lists(anything, min_size=1, max_size=6), st.booleans())
def test_any_messages_are_taken_or_refused_without_a_trace(incoming, asked):
    run = waiting()[0] if asked else fresh()
    for party in (*run.of("agent"), run.one("server")):
        for message in incoming:
            before = snapshot(party)
            try:
                party.receive(message)
            except RemoteProtocolError:
                assert snapshot(party) == before


@settings(max_examples=200)
@given(st.integers(0, 200), st.integers(1, 255))
def test_mutated_messages_are_decoded_or_refused(position, flip):
    message = Upload(sender="agent-0", receiver="server", number=0, exchange=1, statistic=GOOD)
    assert CODEC.decode(CODEC.encode(message)) == message
    data = bytearray(CODEC.encode(message))
    data[position % len(data)] ^= flip
    with contextlib.suppress(m.UnknownMessageError, m.WrongVersionError):
        CODEC.decode(bytes(data))
