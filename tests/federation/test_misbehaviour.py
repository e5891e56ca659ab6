"""Whatever reaches a party, it raises a named error and stays as it was, or does its duty."""

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
from fedbandits.federation.events import Decision, Start
from fedbandits.federation.messages import pack
from fedbandits.federation.roles import Roles
from fedbandits.settings.experiment import system
from fedbandits.systems.agents.kernels import pools
from fedbandits.systems.agents.kernels.own_views import load_own_view
from fedbandits.systems.agents.kernels.views import empty_view
from fedbandits.systems.feducb import roles as feducb_agent
from fedbandits.systems.feducb.roles import TABLE, Pooled, SyncCall, SyncRequest, Upload, basis_of
from fedbandits.testing.replicates import federate, plan_of, system_of
from tests.federation.receiving import next_number, refused, refused_next, snapshot, stamped, taken

ENVIRONMENT = Linear(agents=2, dim=2, arms=3)
SIZE = 5  # d (d + 3) / 2
GOOD = pack(np.array([1.0, 0.25, 1.0, 0.5, 0.5]))
FEATURES = np.array([[0.1, 0.2, 0.5], [0.3, -0.2, 0.1]], np.float32)
CODEC = Roles((), TABLE).codec


def at_first_sync(preset="feducb", **parts):
    """A run in which uploads of the first sync are on their way, none delivered."""
    config = system(preset, **{"schedule": "every(3)"} | parts).config
    run = federate(config, ENVIRONMENT, 30, 0, 0)
    run.advance(2)
    sent = []
    for index, agent in enumerate(run.of("agent")):
        assert agent.observe(agent.decide(FEATURES), float(index)) == []
        sent += agent.end_round(3)
    return run, sent


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def pooled(party, **fields):
    """A sum of the controller's, as good as any."""
    fields = {"sender": "controller", "number": 0, "release": 1, "statistic": GOOD} | fields
    return stamped(party, Pooled(receiver=party.name, **fields))


def test_a_sum_that_makes_no_view_changes_nothing(monkeypatch):
    """Own records can be so long that rounding hides what keeps a matrix positive."""
    run, _ = at_first_sync("feducb-hybrid")
    agent = run.of("agent")[0]
    before = agent.state.view
    with monkeypatch.context() as failing:
        failing.setattr(feducb_agent, "take_over", lambda *_: pools.NOT_POSITIVE)
        refused(agent, pooled(agent), RemoteProtocolError)
    assert agent.state.view is before
    taken(agent, pooled(agent))
    assert agent.state.view is not before


def test_a_deadline_of_held_messages_ends_no_wait_for_a_sum():
    """With fixed syncs no answer has a deadline; after the first held message others are held."""
    run, _ = at_first_sync()
    agent = run.of("agent")[0]
    assert agent.receive(pooled(agent, number=5, statistic=b"")).outcome == "early"
    assert agent.receive(pooled(agent, number=9)).outcome == "early"
    assert (agent.stage, agent.awaited) == ("waiting", 0)
    agent.deadline(0)
    assert (agent.stage, agent.awaited, next_number(agent, "controller")) == ("waiting", 0, 6)
    agent.deadline(0)
    assert (agent.stage, agent.awaited, agent.state.taken) == ("ready", None, 1)


def test_an_agent_names_what_is_wrong_with_a_sum():
    run, _ = at_first_sync()
    agent = run.of("agent")[0]
    refused(agent, pooled(agent, sender="agent-1"), m.WrongSenderError)
    wrong = [
        (m.WrongVersionError, {"version": 0}),
        (m.WrongShapeError, {"statistic": b""}),
        (m.NotFiniteError, {"statistic": pack(np.full(SIZE, np.inf))}),
        (m.ImplausibleError, {"statistic": pack(np.full(SIZE, -1e16))}),
        (m.ImplausibleError, {"newest": (1,)}),
        (m.ImplausibleError, {"newest": (1, 2**62)}),
        (m.ImplausibleError, {"newest": (-1, 1)}),
        (m.ImplausibleError, {"newest": (0, 0)}),
        (m.ImplausibleError, {"newest": (2, 1)}),  # a release of its own that it never made
        (m.OutOfOrderError, {"release": 0}),
        (m.OutOfOrderError, {"release": 2**62}),
    ]
    for kind, fields in wrong:
        number = next_number(agent, "controller")
        refused(agent, pooled(agent, **{"number": number} | fields), kind)
    call = SyncCall(sender="controller", receiver="agent-0", release=1)
    refused_next(agent, call, m.OutOfOrderError)
    upload = Upload(sender="controller", receiver="agent-0", release=1, statistic=GOOD)
    refused_next(agent, upload, m.UnknownMessageError)
    assert taken(agent, pooled(agent)) == []
    assert agent.stage == "ready"


def test_a_call_for_another_sum_is_refused():
    config = system("feducb-published", schedule="determinant(1e9)").config
    run = federate(config, ENVIRONMENT, 30, 0, 0)
    run.advance(4)
    agent = run.of("agent")[0]
    call = SyncCall(sender="controller", receiver="agent-0", release=1)
    for release in (0, -1, 2**62):
        refused_next(agent, change(call, release=release), m.OutOfOrderError)
    assert len(taken(agent, call)) == 1
    refused_next(agent, call, m.OutOfOrderError)  # it was answered


def test_the_deadline_of_an_earlier_sum_ends_no_wait():
    """The call for a later sum came first: the agent waits for the later one."""
    config = system("feducb-published", schedule="determinant(1e9)").config
    run = federate(config, ENVIRONMENT, 30, 0, 0)
    run.advance(4)
    agent = run.of("agent")[0]
    for release in (1, 2):
        call = SyncCall(sender="controller", receiver="agent-0", release=release)
        assert len(taken(agent, call)) == 1
    before = agent.dump()
    assert agent.deadline(1) == []
    assert agent.dump() == before
    assert (agent.stage, agent.awaited) == ("waiting", 2)
    assert agent.deadline(2) == []
    assert agent.stage == "ready"


def test_nobody_can_call_for_a_release_when_syncs_are_fixed():
    run = federate(system("feducb").config, ENVIRONMENT, 30, 0, 0)
    call = SyncCall(sender="controller", receiver="agent-0", release=1)
    refused_next(run.of("agent")[0], call, m.OutOfOrderError)
    request = SyncRequest(sender="agent-0", receiver="controller", release=1)
    refused_next(run.one("controller"), request, m.OutOfOrderError)


def test_a_sum_is_called_for_once_however_many_triggers_fire():
    config = system("feducb-published", schedule="determinant(1e9)").config
    run = federate(config, ENVIRONMENT, 30, 0, 0)
    controller = run.one("controller")
    requests = [SyncRequest(sender=f"agent-{i}", receiver="controller", release=1) for i in (0, 1)]
    assert len(taken(controller, requests[0])) == 2
    assert taken(controller, requests[1]) == []
    for release in (-1, 0, 2, 2**62):
        refused_next(controller, change(requests[0], release=release), m.OutOfOrderError)


def test_a_call_that_nobody_has_answered_by_the_deadline_is_over():
    """Another one may follow; until then nothing is awaited."""
    config = system("feducb-published", schedule="determinant(1e9)").config
    controller = federate(config, ENVIRONMENT, 30, 0, 0).one("controller")
    request = SyncRequest(sender="agent-0", receiver="controller", release=1)
    for _ in range(2):
        assert controller.awaited is None
        assert [type(call) for call in taken(controller, request)] == [SyncCall] * 2
        assert controller.awaited == 1
        assert controller.deadline(1) == []


def test_an_end_that_is_not_due_is_refused():
    agent = federate(system("feducb", schedule="every(3)").config, ENVIRONMENT, 30, 0, 0).of(
        "agent"
    )[0]
    for _ in range(3):
        agent.observe(agent.decide(FEATURES), 1.0)
    before = agent.dump()
    for round_ in (1, 2, 4, 2**62):
        with pytest.raises(LocalProtocolError, match="not of 3"):
            agent.end_round(round_)
    assert agent.dump() == before
    assert len(agent.end_round(3)) == 1
    with pytest.raises(LocalProtocolError, match="not of 6"):
        agent.end_round(3)


def test_a_release_is_of_no_more_records_than_the_terms_allow():
    """The k-th is of the first 3 k decisions; the records of later ones wait for it."""
    run = federate(system("feducb", schedule="every(3)").config, ENVIRONMENT, 30, 0, 0)
    agent = run.of("agent")[0]
    twin = federate(run.plan.config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    rewards = (0.0, 0.5, 1.0, 0.25, 0.75)
    for count, reward in enumerate(rewards, 1):
        agent.observe(agent.decide(FEATURES), reward)
        if count <= 3:
            twin.observe(twin.decide(FEATURES), reward)
    np.testing.assert_array_equal(agent.state.statistic, twin.state.statistic)
    assert sorted(agent.state.kept) == [4, 5]
    assert agent.end_round(3) == twin.end_round(3)
    for reward in rewards[3:]:
        twin.observe(twin.decide(FEATURES), reward)
    # Nothing more is observed, and they are in the next release all the same.
    one, other = agent.end_round(6), twin.end_round(6)
    assert len(one) == len(other) == 1
    assert agent.state.kept == {}
    assert agent.state.released.made == 2


def test_no_release_is_of_more_records_than_sums_are_exact_for():
    run = federate(system("feducb", schedule="growing(1.5, 1)").config, ENVIRONMENT, 7, 0, 0)
    agent, schedule = run.of("agent")[0], run.plan.schedule
    assert schedule.releases * schedule.most_records > 7
    for _ in range(9):
        agent.observe(agent.decide(FEATURES), 1.0)
    for round_ in schedule.ends:
        agent.end_round(round_)
    assert sorted(agent.state.kept) == [8, 9]


def test_which_records_a_release_is_about_depends_on_no_other_record():
    """One reward comes in another batch: all other records stay where they are."""
    config = system("feducb", schedule="every(3)").config

    def play(late):
        agent = federate(config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
        sums, waiting = [], []
        for round_ in range(1, 19):
            decision = agent.decide(FEATURES)
            if round_ == 2:
                waiting.append(decision)
            else:
                agent.observe(decision, 0.0)
            if late == round_:
                agent.observe(waiting.pop(), 0.0)
            if agent.next_end == round_:
                sums.append(agent.state.statistic.copy())
                agent.end_round(round_)
        return np.array(sums)

    at_once, later = play(2), play(10)
    apart = at_once - later
    np.testing.assert_array_equal(apart[3:], 0.0)
    assert (apart[:3] == apart[0]).all()
    assert apart[0].any()


def test_rewards_come_late_and_in_any_order():
    run = federate(system("feducb", schedule="every(4)").config, ENVIRONMENT, 30, 0, 0)
    agent = run.of("agent")[0]
    twin = federate(run.plan.config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    rewards = {1: 0.0, 2: 1.0, 3: 0.5, 4: 0.25}
    open_ = [agent.decide(FEATURES) for _ in rewards]
    assert [decision.number for decision in open_] == [1, 2, 3, 4]
    for number in (3, 1, 4, 2):
        agent.observe(open_[number - 1], rewards[number])
        with pytest.raises(LocalProtocolError, match=f"decision {number} is not open"):
            agent.observe(open_[number - 1], rewards[number])
    for number in (3, 1, 4, 2):
        decision = twin.decide(FEATURES)
        context = FEATURES[:, open_[number - 1].action]
        np.testing.assert_array_equal(context, FEATURES[:, decision.action])
        twin.observe(decision, rewards[number])
    # Sums are exact: the order of records makes no difference.
    np.testing.assert_array_equal(agent.state.statistic, twin.state.statistic)


@pytest.mark.parametrize("local_view", ["raw", "released"])
def test_an_agent_decides_while_a_sync_is_under_way(local_view):
    """And what it learns meanwhile counts at once where it would have, before or after the sum."""
    run, (own, other) = at_first_sync(local_view=local_view)
    agent, controller = run.of("agent")[0], run.one("controller")
    assert agent.stage == "waiting"
    agent.observe(agent.decide(FEATURES), 1.0)
    first, *_ = [m for each in (own, other) for m in controller.receive(each).outgoing]
    assert agent.receive(first).outcome == "taken"
    later, (own, other) = at_first_sync(local_view=local_view)
    twin, hub = later.of("agent")[0], later.one("controller")
    first, *_ = [m for each in (own, other) for m in hub.receive(each).outgoing]
    assert twin.receive(first).outcome == "taken"
    twin.observe(twin.decide(FEATURES), 1.0)
    np.testing.assert_array_equal(agent.state.statistic, twin.state.statistic)
    if local_view == "released":
        np.testing.assert_array_equal(agent.state.view.theta, twin.state.view.theta)
    else:  # the same records, one added before the eigenvalues are taken, one after
        np.testing.assert_allclose(agent.state.view.theta, twin.state.view.theta, rtol=2e-2)
        assert not np.array_equal(
            agent.state.view.theta, at_first_sync()[0].of("agent")[0].state.view.theta
        )


@pytest.mark.parametrize("late", [0, 1])
def test_no_record_counts_twice_however_often_an_old_release_is_summed(late):
    """In clear a view after a sync is that of own records and of others', each of them once."""
    config = system("feducb-nonprivate", schedule="every(3)", local_view="raw").config

    def route(m):
        old = isinstance(m, Upload) and m.sender == f"agent-{late}" and 2 <= m.release <= 4
        return None if old else 0

    run, compared = federate(config, ENVIRONMENT, 30, 0, 0, route), 0
    for round_ in range(3, 30, 3):
        run.advance(round_)
        agents, hub = [a.state for a in run.of("agent")], run.one("controller").state
        for index, agent in enumerate(agents):
            if agent.taken:
                others = hub.kept[1 - index].reshape(1, -1)
                constants = run.plan.constants
                expected = empty_view(constants)
                load_own_view(
                    constants, agent.statistic, agent.residuals.copy(), others, 0.0, expected
                )  # fmt: skip
                np.testing.assert_allclose(agent.view.inverse, expected.inverse, rtol=1e-9)
                np.testing.assert_allclose(agent.view.estimate, expected.estimate, rtol=1e-9)
                compared += 1
    assert compared > 10


def test_the_own_release_in_a_sum_never_goes_back():
    run, _ = at_first_sync()
    agent = run.of("agent")[0]
    taken(agent, pooled(agent, newest=(1, 1)))
    agent.end_round(6)
    for newest in ((0, 1), (3, 1)):
        refused_next(agent, pooled(agent, release=2, newest=newest), m.ImplausibleError)
    taken(agent, pooled(agent, release=2, newest=(1, 2)))
    taken(agent, pooled(agent, release=3, newest=(2, 2)))
    assert agent.state.included == 2


@pytest.mark.parametrize("preset", ["feducb", "feducb-published", "ldp-silo"])
def test_agents_know_the_noise_of_a_sum_in_which_not_all_are_new(preset):
    plan = system(preset, schedule="every(3)", epsilon=(1.0, 0.5)).plan(ENVIRONMENT, 60)
    constants = plan.constants
    for k in (1, 2, 7):
        mine, theirs = basis_of(constants, (k, k)), pools.basis_of_all(constants, k)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    deviations = [[plan.of_agent(i).release.deviation(k) for k in (1, 2, 3)] for i in (0, 1)]
    mixed = basis_of(constants, (3, 1))
    assert mixed.deviation**2 == pytest.approx(deviations[0][2] ** 2 + deviations[1][0] ** 2)
    alone = basis_of(constants, (0, 2))
    assert alone.deviation == pytest.approx(deviations[1][1])
    # As published 2Λ for who is heard, ρ_min for who is not; else the ridge alone.
    assert alone.shift == pytest.approx((constants.base + constants.shift) / 2)


def test_a_controller_that_was_away_takes_up_where_all_are():
    """Every agent has released many times meanwhile; nobody is refused for that."""
    config = system("feducb", schedule="every(2)").config
    away = set(range(1, 13))
    run = federate(
        config, ENVIRONMENT, 40, 0, 0,
        lambda m: None if isinstance(m, Upload) and m.release in away else 0,
    )  # fmt: skip
    run.advance(40)
    controller = run.one("controller").state
    assert controller.newest.tolist() == [19, 19]
    assert run.of("agent")[0].state.taken == run.syncs == 7
    # One agent alone was away: the others' sums number more than releases, and are all taken.
    odd = federate(
        config, ENVIRONMENT, 40, 0, 0,
        lambda m: None if m.sender == "agent-1" and getattr(m, "release", 0) % 2 else 0,
    )  # fmt: skip
    odd.advance(40)
    assert odd.of("agent")[0].state.taken == odd.syncs >= 19
    assert odd.one("controller").state.newest.tolist() == [19, 18]


def test_all_uploads_of_a_trigger_can_be_lost_and_the_next_is_asked_for():
    config = system("feducb-published", schedule="determinant(0.5)", epsilon=1e4).config
    run = federate(
        config, ENVIRONMENT, 40, 0, 0,
        lambda m: None if isinstance(m, Upload) and m.release == 1 else 0,
    )  # fmt: skip
    run.advance(40)
    assert run.syncs >= 2
    assert {agent.stage for agent in run.of("agent")} <= {"ready", "waiting"}


def test_misuse_is_the_callers_error():
    agent = at_first_sync()[0].of("agent")[0]
    before = agent.dump()
    for decision in (Decision(7, 0), Decision(1, 0), Decision(-1, 0)):
        with pytest.raises(LocalProtocolError, match="not open"):
            agent.observe(decision, 1.0)
    with pytest.raises(LocalProtocolError, match="Start is not possible"):
        agent.handle(Start())
    assert agent.dump() == before
    decision = agent.decide(FEATURES)
    with pytest.raises(LocalProtocolError, match="was chosen"):
        agent.observe(change(decision, action=decision.action + 1), 1.0)


@pytest.mark.parametrize(
    "features",
    [np.zeros((3, 3)), np.zeros((2, 4)), np.zeros((2, 0)), np.zeros(6), np.full((2, 3), np.nan)],
)
def test_a_malformed_decision_set_is_refused(features):
    agent = federate(system("feducb").config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    before = agent.dump()
    for situation in (features, features.astype(np.float32)):
        with pytest.raises(LocalProtocolError, match="decision set"):
            agent.decide(situation)
    assert agent.dump() == before


@pytest.mark.parametrize("local_view", ["raw", "released"])
def test_a_record_out_of_bounds_touches_nothing(local_view):
    config = system("feducb", local_view=local_view).config
    agent = federate(config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    decision = agent.decide(np.full((2, 3), 0.9, np.float32))
    before = agent.dump()
    for reward in (1.0, float("nan"), 5.0):  # the context is too long whatever the reward
        with pytest.raises(BoundExceededError):
            agent.observe(decision, reward)
    assert agent.dump() == before


@pytest.mark.parametrize("outcome", ["0.654321", None, 10**400, [0.654321], b"654"])
def test_an_outcome_that_is_no_number_is_refused_and_not_told(outcome):
    agent = federate(system("feducb").config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    decision = agent.decide(FEATURES)
    before = agent.dump()
    if outcome == "0.654321":  # a text that says a number is one
        agent.observe(decision, outcome)
        return
    with pytest.raises(BoundExceededError) as refusal:
        agent.observe(decision, outcome)
    assert "654" not in str(refusal.value)
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__
    assert agent.dump() == before
    for wrong in (None, 3, "x", decision.action):
        with pytest.raises(LocalProtocolError, match="Decision"):
            agent.observe(wrong, 1.0)
    for wrong in (None, [[0.1] * 3] * 2, "x"):
        with pytest.raises(LocalProtocolError, match="decision set"):
            agent.decide(wrong)


def test_a_call_that_the_ledger_forbids_is_heard_all_the_same():
    """The agent releases nothing, its link lives on, and the others' sum is made without it."""

    class Spent:
        def cover(self, step, values):
            raise BudgetExceededError("nothing is left")

    config = system("feducb-published", schedule="determinant(1e9)").config
    found, plan = system_of(config), plan_of(config, ENVIRONMENT, 30)
    simulated = found.simulated_supplies(plan, None, 0, 0)

    def supply(role, place):
        return simulated(role, place)._replace(noise=Spent()) if role == "agent" else None

    run = federate(config, ENVIRONMENT, 30, 0, 0, supplies=supply)
    agent = run.of("agent")[0]
    agent.observe(agent.decide(FEATURES), 1.0)
    call = SyncCall(sender="controller", receiver="agent-0", release=1)
    assert taken(agent, call) == []
    assert (agent.state.refused, agent.state.released.made) == (1, 0)
    refused_next(agent, call, m.OutOfOrderError)
    agent.observe(agent.decide(FEATURES), 1.0)


def test_errors_do_not_tell_secrets():
    agent = federate(system("feducb").config, ENVIRONMENT, 30, 0, 0).of("agent")[0]
    decision = agent.decide(np.full((2, 3), 0.123456, np.float32))
    with pytest.raises(BoundExceededError) as refusal:
        agent.observe(decision, 7.654321)
    assert "654" not in str(refusal.value)
    assert "123" not in str(refusal.value)


names = st.sampled_from(["agent-0", "agent-1", "controller", "stranger", ""])
envelopes = {
    "sender": names, "receiver": names, "number": st.integers(-1, 3),
    "version": st.integers(m.VERSION - 1, m.VERSION + 1),
}  # fmt: skip
whole = st.one_of(st.integers(-1, 3), st.sampled_from([2**62, -(2**62), 2**63 - 1]))
statistics = st.one_of(
    st.binary(max_size=50),
    st.lists(st.floats(), min_size=SIZE, max_size=SIZE).map(lambda v: pack(np.array(v))),
)
anything = st.one_of(
    st.builds(Upload, **envelopes, release=whole, statistic=statistics),
    st.builds(
        Pooled, **envelopes, release=whole, statistic=statistics,
        newest=st.lists(whole, max_size=3).map(tuple),
    ),
    st.builds(SyncRequest, **envelopes, release=whole),
    st.builds(SyncCall, **envelopes, release=whole),
)  # fmt: skip


@settings(max_examples=400)
@given(
    st.lists(st.tuples(anything, st.booleans()), min_size=1, max_size=6),
    st.sampled_from(["feducb", "feducb-published"]),
)
def test_any_messages_are_taken_or_refused_without_a_trace(incoming, preset):
    run = federate(system(preset).config, ENVIRONMENT, 30, 0, 0)
    run.advance(1)
    for party in (*run.of("agent"), run.one("controller")):
        for message, right_terms in incoming:
            given = stamped(party, message) if right_terms else message
            before = snapshot(party, message.sender)
            receipt = party.receive(given)
            if receipt.outcome in ("refused", "duplicate"):
                assert isinstance(receipt.why, RemoteProtocolError)
                if not isinstance(receipt.why, m.OtherTermsError):
                    assert snapshot(party, message.sender) == before


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


@pytest.mark.parametrize("version", [m.VERSION - 1, m.VERSION + 1])
def test_another_version_is_told_apart_from_garbage(version):
    other = msgspec.msgpack.encode({"type": "feducb.later", "version": version, "colour": "blue"})
    with pytest.raises(
        m.WrongVersionError, match=f"message of version {version}, this is version {m.VERSION}$"
    ):
        CODEC.decode(other)
    with pytest.raises(m.UnknownMessageError):
        CODEC.decode(msgspec.msgpack.encode({"type": "feducb.later", "version": m.VERSION}))


def test_a_message_of_the_version_before_is_refused_and_nothing_has_changed():
    run, (one, _) = at_first_sync()
    controller = run.one("controller")
    before = snapshot(controller, "agent-0")
    receipt = controller.receive(change(one, version=m.VERSION - 1))
    assert receipt.outcome == "refused"
    told = (
        f"controller: agent-0 sends messages of version {m.VERSION - 1}, controller those of "
        f"version {m.VERSION}: run the same fedbandits at both"
    )
    assert str(receipt.why) == told
    as_bytes = CODEC.encode(change(one, version=m.VERSION - 1))
    assert str(controller.receive_bytes(as_bytes, "agent-0").why) == told
    assert snapshot(controller, "agent-0") == before
    assert controller.receive(one).outcome == "taken"
