"""Whatever reaches a party, it raises a named error and stays as it was, or does its duty."""

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
from fedbandits.systems.feducb.messages import TABLE, Pooled, SyncCall, SyncRequest, Upload
from fedbandits.testing.plays import federate

ENVIRONMENT = Linear(agents=2, dim=2, arms=3)
SIZE = 5  # d (d + 3) / 2
GOOD = pack(np.arange(SIZE, dtype=float))
CODEC = Roles((), TABLE).codec


def at_first_sync(preset="feducb", **parts):
    """A run in which uploads of the first sync are on their way, none delivered."""
    config = system(preset, **{"schedule": "every(3)"} | parts).config
    run = federate(config, ENVIRONMENT, 30, 0, 0)
    run.advance(2)
    sent = []
    for index, agent in enumerate(run.of("agent")):
        agent_features = np.full((2, 3), 0.1, np.float32)
        assert agent.observe(agent.decide(agent_features), float(index)) == []
        sent += agent.end_round(3)
    return run, sent


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


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def test_the_controller_names_what_is_wrong_with_an_upload():
    run, (one, two) = at_first_sync()
    controller = run.one("controller")
    refuses(controller, change(one, version=2), m.WrongVersionError)
    refuses(controller, change(one, sender="stranger"), m.WrongSenderError)
    refuses(controller, change(one, receiver="agent-1"), m.WrongSenderError)
    refuses(controller, change(one, statistic=one.statistic[:-8]), m.WrongShapeError)
    refuses(controller, change(one, statistic=one.statistic[:-1]), m.WrongShapeError)
    refuses(controller, change(one, statistic=pack(np.full(SIZE, np.nan))), m.NotFiniteError)
    refuses(controller, change(one, release=2), m.OutOfOrderError)
    refuses(controller, change(one, number=1), m.OutOfOrderError)
    pooled = Pooled(sender="agent-0", receiver="controller", number=0, release=1, statistic=GOOD)
    refuses(controller, pooled, m.UnknownMessageError)
    assert controller.receive(one) == []
    refuses(controller, one, m.DuplicateError)
    refuses(controller, change(one, number=1), m.OutOfOrderError)
    assert len(controller.receive(two)) == 2


def test_an_agent_names_what_is_wrong_with_a_sum():
    run, _ = at_first_sync()
    agent = run.of("agent")[0]
    good = Pooled(sender="controller", receiver="agent-0", number=0, release=1, statistic=GOOD)
    refuses(agent, change(good, version=0), m.WrongVersionError)
    refuses(agent, change(good, sender="agent-1"), m.WrongSenderError)
    refuses(agent, change(good, statistic=b""), m.WrongShapeError)
    refuses(agent, change(good, statistic=pack(np.full(SIZE, np.inf))), m.NotFiniteError)
    refuses(agent, change(good, release=0), m.OutOfOrderError)
    refuses(agent, change(good, number=3), m.OutOfOrderError)
    call = SyncCall(sender="controller", receiver="agent-0", number=0, round=3)
    refuses(agent, call, m.OutOfOrderError)
    upload = Upload(sender="controller", receiver="agent-0", number=0, release=1, statistic=GOOD)
    refuses(agent, upload, m.UnknownMessageError)
    assert agent.receive(good) == []
    refuses(agent, good, m.DuplicateError)


def test_a_call_for_another_round_is_refused():
    config = system("feducb-published", schedule="determinant(1e9)").config
    run = federate(config, ENVIRONMENT, 30, 0, 0)
    run.advance(4)
    call = SyncCall(sender="controller", receiver="agent-0", number=0, round=3)
    refuses(run.of("agent")[0], call, m.OutOfOrderError)
    assert len(run.of("agent")[0].receive(change(call, round=4))) == 1


def test_nobody_can_call_for_a_release_when_syncs_are_fixed():
    run = federate(system("feducb").config, ENVIRONMENT, 30, 0, 0)
    call = SyncCall(sender="controller", receiver="agent-0", number=0, round=0)
    refuses(run.of("agent")[0], call, m.OutOfOrderError)


def test_a_round_is_called_once_however_many_triggers_fire():
    config = system("feducb-published", schedule="determinant(1e9)").config
    run = federate(config, ENVIRONMENT, 30, 0, 0)
    requests = [
        SyncRequest(sender=f"agent-{i}", receiver="controller", number=0, round=5) for i in (0, 1)
    ]
    assert len(run.one("controller").receive(requests[0])) == 2
    assert run.one("controller").receive(requests[1]) == []


def test_a_round_that_ends_with_a_release_must_end_before_the_next():
    run, _ = at_first_sync()
    agent = federate(run.plan.config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    with pytest.raises(LocalProtocolError, match="end_round is not possible while ready"):
        agent.end_round(1)  # it has no release
    for _ in range(3):
        assert agent.state == "ready"
        agent.observe(agent.decide(np.full((2, 3), 0.1, np.float32)), 1.0)
    before = snapshot(agent)
    with pytest.raises(LocalProtocolError, match="decide is not possible while ending"):
        agent.decide(np.full((2, 3), 0.1, np.float32))
    for round_ in (2, 4):
        with pytest.raises(LocalProtocolError, match="round 3 was played last"):
            agent.end_round(round_)
    assert snapshot(agent) == before
    assert len(agent.end_round(3)) == 1


def test_misuse_is_the_callers_error():
    run, _ = at_first_sync()
    agent = run.of("agent")[0]
    before = snapshot(agent)
    for misuse in (
        lambda: agent.decide(np.zeros((2, 3), np.float32)),
        lambda: agent.observe(0, 1.0),
    ):
        with pytest.raises(LocalProtocolError, match="waiting"):
            misuse()
    assert snapshot(agent) == before


@pytest.mark.parametrize(
    "features", [np.zeros((3, 3)), np.zeros((2, 2)), np.zeros(6), np.full((2, 3), np.nan)]
)
def test_a_malformed_decision_set_is_refused(features):
    agent = federate(system("feducb").config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    before = snapshot(agent)
    with pytest.raises(LocalProtocolError, match="decision set"):
        agent.decide(features.astype(np.float32))
    assert snapshot(agent) == before


@pytest.mark.parametrize("local_view", ["raw", "released"])
def test_a_record_out_of_bounds_touches_nothing(local_view):
    config = system("feducb", local_view=local_view).config
    agent = federate(config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    arm = agent.decide(np.full((2, 3), 0.9, np.float32))
    before = snapshot(agent)
    for reward in (1.0, float("nan"), 5.0):  # the context is too long whatever the reward
        with pytest.raises(BoundExceededError):
            agent.observe(arm, reward)
    assert snapshot(agent) == before


def test_errors_do_not_tell_secrets():
    agent = federate(system("feducb").config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    arm = agent.decide(np.full((2, 3), 0.123456, np.float32))
    with pytest.raises(BoundExceededError) as refusal:
        agent.observe(arm, 7.654321)
    assert "654" not in str(refusal.value)
    assert "123" not in str(refusal.value)


names = st.sampled_from(["agent-0", "agent-1", "controller", "stranger", ""])
envelopes = {
    "sender": names, "receiver": names, "number": st.integers(-1, 3), "version": st.integers(0, 2),
}  # fmt: skip
statistics = st.one_of(
    st.binary(max_size=50),
    st.lists(st.floats(), min_size=SIZE, max_size=SIZE).map(lambda v: pack(np.array(v))),
)
anything = st.one_of(
    st.builds(Upload, **envelopes, release=st.integers(-1, 3), statistic=statistics),
    st.builds(Pooled, **envelopes, release=st.integers(-1, 3), statistic=statistics),
    st.builds(SyncRequest, **envelopes, round=st.integers(-1, 9)),
    st.builds(SyncCall, **envelopes, round=st.integers(-1, 9)),
)


@settings(max_examples=400)
@given(st.lists(anything, min_size=1, max_size=6), st.sampled_from(["feducb", "feducb-published"]))
def test_any_messages_are_taken_or_refused_without_a_trace(incoming, preset):
    run = federate(system(preset).config, ENVIRONMENT, 30, 0, 0)
    run.advance(1)
    for party in (*run.of("agent"), run.one("controller")):
        for message in incoming:
            before = snapshot(party)
            try:
                party.receive(message)
            except RemoteProtocolError:
                assert snapshot(party) == before


@settings(max_examples=500)
@given(st.binary(max_size=80))
def test_any_bytes_are_decoded_or_refused(data):
    with contextlib.suppress(m.UnknownMessageError, m.WrongVersionError):
        CODEC.decode(data)


@settings(max_examples=300)
@given(st.integers(0, 200), st.integers(1, 255))
def test_mutated_messages_are_decoded_or_refused(position, flip):
    message = Upload(sender="agent-0", receiver="controller", number=0, release=1, statistic=GOOD)
    data = bytearray(CODEC.encode(message))
    data[position % len(data)] ^= flip
    with contextlib.suppress(m.UnknownMessageError, m.WrongVersionError):
        CODEC.decode(bytes(data))


def test_another_version_is_told_apart_from_garbage():
    other = msgspec.msgpack.encode({"type": "feducb.later", "version": 2, "colour": "blue"})
    with pytest.raises(m.WrongVersionError, match="version 2"):
        CODEC.decode(other)
    with pytest.raises(m.UnknownMessageError):
        CODEC.decode(msgspec.msgpack.encode({"type": "feducb.later", "version": 1}))
