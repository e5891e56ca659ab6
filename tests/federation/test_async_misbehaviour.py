"""Asynchronous FedLinUCB: what reaches a party is refused without a trace, or it does its duty."""

from __future__ import annotations

import contextlib

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Linear
from fedbandits.errors import BoundExceededError, LocalProtocolError, RemoteProtocolError
from fedbandits.federation import messages as m
from fedbandits.federation.events import Decision
from fedbandits.federation.messages import pack
from fedbandits.federation.roles import Roles
from fedbandits.settings.experiment import system
from fedbandits.systems.fedlinucb_async.roles import TABLE, Download, Upload
from fedbandits.systems.feducb.roles import Pooled
from fedbandits.testing.replicates import federate
from tests.federation.receiving import next_number, refused, refused_next, snapshot, stamped, taken

ENVIRONMENT = Linear(agents=2, dim=2, arms=3)
SIZE = 5  # d (d + 3) / 2
GOOD = pack(np.array([1.0, 0.2, 1.0, 0.3, 0.4]))
CODEC = Roles((), TABLE).codec
ROUNDS = 30


def fresh(route=None, rounds=ROUNDS, lenient=False, **parts):
    config = system("fedlinucb-async", **parts).config
    return federate(config, ENVIRONMENT, rounds, 0, 0, route, lenient=lenient)


def features(size=0.3):
    return np.full((2, 3), size, np.float32)


def play(agent, reward=1.0, size=0.3):
    """Have an agent play once; what it sends."""
    return agent.observe(agent.decide(features(size)), reward)


def waiting():
    """A run whose agents have each sent their first upload; none was delivered."""
    run, sent = fresh(growth=1e-6), []
    for index, agent in enumerate(run.of("agent")):
        sent += play(agent, float(index))
    return run, sent


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def upload(sender, number=0, **fields):
    good = {"exchange": 1, "since": 0, "statistic": GOOD}
    return Upload(sender=sender, receiver="server", number=number, **good | fields)


def download(receiver, number=0, **fields):
    good = {"exchange": 1, "statistic": GOOD}
    return Download(sender="server", receiver=receiver, number=number, **good | fields)


def held(run):
    """All records in the server's total, and those that agents have not uploaded."""
    own = [agent.state.statistic.reshape(-1) for agent in run.of("agent")]
    return run.one("server").state.total + np.sum(own, axis=0)


def noted(run):
    """Keeps what every agent observes, as packed records."""
    seen = []
    for agent in run.of("agent"):

        def note(decision, reward, agent=agent, observe=agent.observe):
            x = agent.state.open[decision.number].context
            seen.append(np.append(np.outer(x, x)[np.triu_indices(2)], reward * x))
            return observe(decision, reward)

        agent.observe = note
    return seen


def test_the_server_names_what_is_wrong_with_an_upload():
    run, (one, two) = waiting()
    server = run.one("server")
    refused(server, change(one, version=1, terms="of version 1"), m.WrongVersionError)
    for fields, kind in (
        ({"statistic": one.statistic[:-8]}, m.WrongShapeError),
        ({"statistic": b""}, m.WrongShapeError),
        ({"statistic": pack(np.full(SIZE, np.nan))}, m.NotFiniteError),
        ({"statistic": pack(np.full(SIZE, -np.inf))}, m.NotFiniteError),
        ({"exchange": 0}, m.OutOfOrderError),
        ({"exchange": -1}, m.OutOfOrderError),
        ({"exchange": ROUNDS + 1}, m.OutOfOrderError),
        ({"exchange": 2**62}, m.OutOfOrderError),
        ({"since": 1}, m.OutOfOrderError),
        ({"since": -1}, m.OutOfOrderError),
        ({"since": 2**62}, m.OutOfOrderError),
        ({"statistic": pack(np.full(SIZE, 1e200))}, m.ImplausibleError),
        ({"statistic": pack(np.array([1.7e308, 0.0, 1.7e308, 0.0, 0.0]))}, m.ImplausibleError),
        ({"statistic": pack(np.full(SIZE, -1e16))}, m.ImplausibleError),
        ({"statistic": pack(np.array([ROUNDS + 1.0, 0.0, 0.0, 0.0, 0.0]))}, m.ImplausibleError),
        ({"statistic": pack(np.array([-1.0, 0.0, 1.0, 0.0, 0.0]))}, m.ImplausibleError),
        ({"statistic": pack(np.array([1.0, 2.0, 1.0, 0.0, 0.0]))}, m.ImplausibleError),
    ):
        refused_next(server, change(one, **fields), kind)
    refused(server, change(one, sender="stranger"), m.WrongSenderError)
    refused(server, change(one, receiver="agent-1"), m.WrongSenderError)
    refused(server, change(one, sender="agent-1"), m.WrongSenderError, "agent-0")
    refused_next(server, change(download("server"), sender="agent-0"), m.UnknownMessageError)
    (answer,) = taken(server, one)  # its link goes on after all that
    assert (answer.receiver, answer.statistic) == ("agent-0", one.statistic)
    assert server.receive(one).outcome == "duplicate"
    refused_next(server, one, m.OutOfOrderError)
    (answer,) = taken(server, two)
    both = np.frombuffer(one.statistic) + np.frombuffer(two.statistic)
    np.testing.assert_array_equal(np.frombuffer(answer.statistic), both)


def test_an_agent_names_what_is_wrong_with_a_download():
    run, _ = waiting()
    agent = run.of("agent")[0]
    good = stamped(agent, download("agent-0"))
    refused(agent, change(good, version=0, terms=""), m.WrongVersionError)
    refused(agent, change(good, sender="agent-1"), m.WrongSenderError)
    refused(agent, change(good, receiver="agent-1"), m.WrongSenderError)
    for fields, kind in (
        ({"statistic": GOOD[:-1]}, m.WrongShapeError),
        ({"statistic": pack(np.full(SIZE, np.inf))}, m.NotFiniteError),
        ({"exchange": 0}, m.OutOfOrderError),
        ({"exchange": 2}, m.OutOfOrderError),
        ({"exchange": 2**62}, m.OutOfOrderError),
        ({"statistic": pack(np.full(SIZE, 1e200))}, m.ImplausibleError),
        ({"statistic": pack(np.full(SIZE, 1.7e308))}, m.ImplausibleError),
        ({"statistic": pack(np.full(SIZE, -1e16))}, m.ImplausibleError),
        ({"statistic": pack(np.full(SIZE, 2 * ROUNDS + 1.0))}, m.ImplausibleError),
        ({"statistic": pack(np.array([-9.0, 0.0, -9.0, 0.0, 0.0]))}, m.ImplausibleError),
    ):
        refused_next(agent, change(good, **fields), kind)
    for foreign in (
        change(upload("server"), receiver="agent-0"),
        Pooled(sender="server", receiver="agent-0", release=1, statistic=GOOD),
    ):
        assert (
            agent.receive(stamped(agent, foreign, number=next_number(agent, "server"))).outcome
            == "refused"
        )
    late = next_number(agent, "server")
    assert agent.stage == "waiting"
    assert taken(agent, good) == []
    assert agent.stage == "ready"
    assert agent.receive(stamped(agent, good, number=late)).outcome == "duplicate"
    refused_next(agent, good, m.OutOfOrderError)  # answered already


def test_a_download_that_nobody_asked_for_is_refused():
    agent = fresh().of("agent")[0]
    refused_next(agent, download("agent-0", exchange=0), m.OutOfOrderError)
    refused_next(agent, download("agent-0", exchange=1), m.OutOfOrderError)


def test_misuse_is_the_callers_error():
    run, _ = waiting()
    agent = run.of("agent")[0]
    before = agent.dump()
    with pytest.raises(LocalProtocolError, match="not open"):
        agent.observe(Decision(1, 0), 1.0)  # its reward has come
    with pytest.raises(LocalProtocolError, match="not open"):
        agent.observe(Decision(2**62, 0), 1.0)
    with pytest.raises(LocalProtocolError, match="decision set"):
        agent.decide(np.zeros((3, 3), np.float32))
    assert agent.dump() == before


def test_a_record_out_of_bounds_touches_nothing():
    agent = fresh().of("agent")[0]
    decision = agent.decide(features(0.9))
    before = agent.dump()
    for reward in (1.0, float("nan"), 5.0):
        with pytest.raises(BoundExceededError):
            agent.observe(decision, reward)
    assert agent.dump() == before


def test_an_agent_decides_and_learns_while_it_waits():
    """What it learns meanwhile is in no total yet, and brings the next exchange nearer."""
    run, (sent, _) = waiting()
    agent, server = run.of("agent")[0], run.one("server")
    late = agent.decide(features())
    for _ in range(3):
        assert play(agent, 0.5, 0.2) == []  # no second exchange meanwhile
    (answer,) = taken(server, sent)
    assert taken(agent, answer) == []
    kept = agent.state.statistic.copy()
    assert kept[0, 0] == pytest.approx(3 * 0.2**2, rel=1e-6)
    state, ridge = agent.state, agent._plan.constants.base
    sigma = state.pool.gram[0] + kept[0, 0] * np.ones((2, 2))
    np.testing.assert_allclose(state.view.trigger_inverse[0], np.linalg.inv(sigma), rtol=1e-9)
    assert state.view.trigger_log_det[0] == pytest.approx(np.linalg.slogdet(sigma)[1])
    total = np.frombuffer(answer.statistic)
    assert state.pool.gram[0, 0, 0] == pytest.approx(total[0] + ridge)  # nothing of them
    (more,) = agent.observe(late, 1.0)
    assert (more.exchange, more.since) == (2, 1)
    np.testing.assert_allclose(np.frombuffer(more.statistic)[0], kept[0, 0] + 0.3**2, rtol=1e-6)


def test_rewards_come_in_any_order():
    """Sums are exact, so the same records give the same sums."""
    sums = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        agent = fresh(growth=1e6).of("agent")[0]
        made = [agent.decide(features(0.1 * (i + 1))) for i in range(4)]
        for i in order:
            agent.observe(made[i], 0.25 * i)
        assert agent.state.open == {}
        assert agent.state.fresh == 4
        sums.append(agent.state.statistic.tobytes())
    assert sums[0] == sums[1]


def test_a_deadline_ends_the_waiting_and_passes_twice():
    run, _ = waiting()
    agent = run.of("agent")[0]
    assert agent.awaited == 1
    before = agent.dump()
    agent.deadline(0)  # an old one
    agent.deadline(2**62)
    assert agent.dump() == before
    agent.deadline(1)
    assert (agent.stage, agent.awaited) == ("ready", None)
    before = agent.dump()
    agent.deadline(1)
    assert agent.dump() == before


@pytest.mark.parametrize("lost", ["Upload", "Download"])
def test_what_is_lost_is_uploaded_again_and_counts_once(lost):
    """Whichever of the two messages is lost, and however often."""
    count = 0

    def route(message):
        nonlocal count
        if type(message).__name__ != lost:
            return 0
        count += 1
        return None if count % 3 else 0

    run = fresh(route, lenient=True)
    seen = noted(run)
    run.advance(ROUNDS)
    assert run.done == ROUNDS
    assert len(seen) == 2 * ROUNDS
    missing = np.sum(seen, axis=0) - held(run)
    unanswered = sum(
        agent.state.uploaded.reshape(-1)
        for agent in run.of("agent")
        if agent.state.answered < agent.state.exchanges
    )
    # What the server lacks is with the agents still: nothing is lost, nothing counts twice.
    if lost == "Upload":
        np.testing.assert_allclose(missing, unanswered, atol=1e-12)
    else:
        np.testing.assert_allclose(missing, 0.0, atol=1e-12)
    assert count > 3


def test_a_lost_upload_comes_with_the_next_one():
    run, (lost, _) = waiting()
    agent, server = run.of("agent")[0], run.one("server")
    agent.deadline(1)
    (again,) = play(agent, 1.0, 0.2)
    assert (again.exchange, again.since) == (2, 0)
    both = np.frombuffer(lost.statistic) + np.append(np.full(3, 0.04), np.full(2, 0.2))
    np.testing.assert_allclose(np.frombuffer(again.statistic), both, rtol=1e-6)
    (answer,) = taken(server, again)
    assert taken(agent, answer) == []
    assert agent.state.answered == agent.state.exchanges == 2
    np.testing.assert_array_equal(server.state.total, np.frombuffer(again.statistic))


def test_an_answer_that_comes_after_the_deadline_is_taken():
    run, (sent, _) = waiting()
    agent, server = run.of("agent")[0], run.one("server")
    (answer,) = taken(server, sent)
    agent.deadline(1)
    assert taken(agent, answer) == []
    assert agent.state.answered == 1
    (more,) = play(agent, 1.0, 0.3)
    assert (more.exchange, more.since) == (2, 1)


def test_others_go_on_while_one_is_cut_off():
    """All that it sends is lost; the other one plays on to the horizon, alone with the server."""
    cut = fresh(lambda msg: None if msg.sender == "agent-0" else 0)
    cut.advance(ROUNDS)
    alone, other = cut.of("agent")
    assert cut.done == ROUNDS
    assert other.state.answered == other.state.exchanges > 1
    assert alone.state.answered == 0
    assert alone.state.exchanges > 1
    assert cut.one("server").state.exchanges.tolist() == [0, other.state.exchanges]


def test_nonsense_of_one_agent_is_not_in_what_others_take_over():
    run, (_, two) = waiting()
    server, other = run.one("server"), run.of("agent")[1]
    for number, values in enumerate(([1e200] * SIZE, [1.7e308] * SIZE, [-1e16] * SIZE)):
        bad = upload("agent-0", number, exchange=number + 1, statistic=pack(np.array(values)))
        refused(server, stamped(server, bad), m.ImplausibleError)
    # The most that it can claim, again and again, is that of all its rounds.
    most = pack(np.array([ROUNDS, 0.0, ROUNDS, 0.0, 0.0]))
    taken(server, upload("agent-0", exchange=1, statistic=most))
    refused_next(server, upload("agent-0", exchange=2, since=1, statistic=most), m.ImplausibleError)
    (answer,) = taken(server, upload("agent-0", exchange=2, since=0, statistic=most))
    assert np.frombuffer(answer.statistic)[0] == ROUNDS  # in place of the first one
    (answer,) = taken(server, two)
    assert taken(other, answer) == []
    assert other.stage == "ready"


def test_no_more_records_count_than_there_are_rounds():
    run = fresh(rounds=4, growth=1e6)
    agent = run.of("agent")[0]
    for _ in range(6):
        play(agent)
    assert agent.state.records == 6
    assert agent.state.statistic[0, 0] == pytest.approx(4 * 0.3**2, rel=1e-6)


def test_other_terms_are_refused_by_the_name_of_the_key():
    ours, theirs = fresh(), fresh(growth=0.3)
    server, (one, _) = ours.one("server"), theirs.of("agent")
    told = None
    while told is None:
        for message in play(one):
            told = server.receive(message)
    assert told.outcome == "refused"
    assert type(told.why) is m.OtherTermsError
    (terms,) = told.outgoing
    answer = one.receive(terms)
    assert answer.outcome == "refused"
    assert "settings.growth" in str(answer.why)


def test_the_transcript_tells_who_saw_what():
    run = fresh()
    run.advance(30)
    seen = run.network.transcript
    assert {kind for kind, _ in seen.fields_seen("server")} == {"Upload"}
    for agent in run.of("agent"):
        assert {kind for kind, _ in seen.fields_seen(agent.name)} == {"Download"}
        assert {s.sender for s in seen.sightings(agent.name)} == {"server"}


names = st.sampled_from(["agent-0", "agent-1", "server", "stranger", ""])
numbers = st.one_of(st.integers(-1, 3), st.sampled_from([ROUNDS + 1, 2**62]))
fields = {
    "sender": names, "receiver": names, "number": st.integers(-1, 3),
    "version": st.integers(m.VERSION - 1, m.VERSION + 1),
    "exchange": numbers,
    "statistic": st.one_of(
        st.binary(max_size=50),
        st.just(GOOD),
        st.lists(st.floats(), min_size=SIZE, max_size=SIZE).map(lambda v: pack(np.array(v))),
    ),
}  # fmt: skip
anything = st.one_of(st.builds(Upload, **fields, since=numbers), st.builds(Download, **fields))


@settings(max_examples=300)
@given(st.lists(anything, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_any_messages_are_taken_or_refused_without_a_trace(incoming, asked, ours):
    run = waiting()[0] if asked else fresh()
    for party in (*run.of("agent"), run.one("server")):
        for message in incoming:
            given = stamped(party, message) if ours else message
            before = snapshot(party, message.sender)
            receipt = party.receive(given)
            if receipt.outcome == "refused" and not receipt.outgoing:
                assert isinstance(receipt.why, RemoteProtocolError)
                assert snapshot(party, message.sender) == before


@settings(max_examples=200)
@given(st.integers(0, 200), st.integers(1, 255))
def test_mutated_messages_are_decoded_or_refused(position, flip):
    message = upload("agent-0")
    assert CODEC.decode(CODEC.encode(message)) == message
    data = bytearray(CODEC.encode(message))
    data[position % len(data)] ^= flip
    with contextlib.suppress(m.UnknownMessageError, m.WrongVersionError):
        CODEC.decode(bytes(data))
