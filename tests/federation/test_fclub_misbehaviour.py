"""Servers refuse what does not befit, by name, and are as they were."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Clustered
from fedbandits.environments.clustered import Arrival
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.facts import ClusteredFacts
from fedbandits.federation import messages as m
from fedbandits.federation.events import Decision
from fedbandits.federation.messages import pack
from fedbandits.learners.kernels.evidence import decompose
from fedbandits.settings.experiment import system
from fedbandits.systems import find_system
from fedbandits.systems.fclub.messages import Others, Release
from fedbandits.systems.fclub.plan import make_plan
from fedbandits.systems.fclub.state import find_clusters, learn_from
from fedbandits.systems.servers.roles import GLOBAL as HUB
from fedbandits.systems.servers.system import ServerSupply
from fedbandits.systems.terms import terms_of
from fedbandits.testing.replicates import federate
from tests.federation.receiving import refused, refused_next, snapshot, stamped, taken

WORLD = Clustered(users=5, servers=2, clusters=2, dim=3, items=4)
SIZE = 9
PLAN = make_plan(system("fclub").config, WORLD.facts, 300)
BY_CLUSTER = make_plan(system("fclub-clusters").config, WORLD.facts, 300)
ITEMS = np.full((3, 4), 0.5, np.float32)
FAR = 2**62


def noise(_):
    return np.zeros((3, SIZE))


def make(plan, role, place=0, supply=None):
    """One party by itself."""
    found = find_system("fclub")
    roles = found.roles(plan)
    return roles.make(roles.roles[role], place, terms_of(found, plan, "simulated"), supply)


def server(source=noise, plan=PLAN):
    return make(plan, 0, 0, ServerSupply(source))


def waiting(plan=PLAN):
    party = server(plan=plan)
    party.end_round(25)
    assert party.stage == "waiting"
    return party


def others(count=2, values=None, **more):
    values = np.zeros(count * SIZE) if values is None else values
    fields = {"sender": HUB, "receiver": "server-0", "release": 1, "rows": (count,)}
    return Others(**fields | {"sums": pack(values)} | more)


def spoiled(count, value):
    """Rows of which one number is something else."""
    values = np.zeros(count * SIZE)
    values[3] = value
    return pack(values)


BAD = {
    "a hand-out before the first": ({"release": 0}, m.OutOfOrderError),
    "one that is never made": ({"release": FAR}, m.OutOfOrderError),
    "one less than none": ({"release": -1}, m.OutOfOrderError),
    "rows that do not add up": ({"rows": (3,)}, m.WrongShapeError),
    "fewer rows than none": ({"rows": (-1,)}, m.WrongShapeError),
    "a great many rows": ({"rows": (FAR,)}, m.WrongShapeError),
    "a server too many": ({"rows": (1, 1)}, m.WrongShapeError),
    "not whole rows": ({"sums": b"\0" * 8}, m.WrongShapeError),
    "not a number": ({"values": np.full(2 * SIZE, np.nan)}, m.NotFiniteError),
    "too large": ({"sums": spoiled(2, 1e200)}, m.ImplausibleError),
    "too small": ({"sums": spoiled(2, -1e16)}, m.ImplausibleError),
    "two that add up to infinity": (
        {"values": np.full(2 * SIZE, 1.7e308)}, m.ImplausibleError
    ),
    "a release that is never made": ({"newest": (FAR,)}, m.OutOfOrderError),
    "a release before the first": ({"newest": (-1,)}, m.OutOfOrderError),
    "releases of servers that are none": ({"newest": (1, 1)}, m.WrongShapeError),
    "rows of no release": ({"newest": (0,)}, m.WrongShapeError),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_befit_is_refused_and_uses_up_its_number(name):
    fields, error = BAD[name]
    party = waiting()
    refused_next(party, others(**fields), error)
    assert taken(party, others()) == []  # the right one is still welcome
    assert party.stage == "ready"


def test_who_sends_to_whom_is_looked_at_first():
    party = waiting()
    for wrong in (others(sender="server-1"), others(receiver="server-1")):
        refused(party, stamped(party, wrong, number=0), m.WrongSenderError)
    assert taken(party, others()) == []


def test_other_terms_are_refused_by_the_name_of_the_key():
    party = server()
    other = make(make_plan(system("fclub", epsilon=2.0).config, WORLD.facts, 300), 1)
    receipt = party.receive(stamped(other, others(), number=0))
    assert type(receipt.why) is m.OtherTermsError
    (told,) = receipt.outgoing
    answer = other.receive(told)
    assert type(answer.why) is m.OtherTermsError
    assert "settings.epsilon is 1.0 there and 2.0 here" in str(answer.why)


def test_every_user_of_the_others_has_a_row():
    party = waiting()
    receipt = party.receive(stamped(party, others(count=1), number=0))
    assert "1 rows of a server that has 2 users" in str(receipt.why)


def test_a_flood_of_clusters_is_refused():
    party = waiting(BY_CLUSTER)
    receipt = party.receive(stamped(party, others(count=33), number=0))
    assert "33 rows" in str(receipt.why)
    assert taken(party, others(count=2)) == []


def test_a_hand_out_is_heard_once_and_never_goes_back():
    party = waiting()
    taken(party, others(release=3))
    for release in (3, 2, 1):
        refused_next(party, others(release=release), m.OutOfOrderError)
    refused_next(party, others(release=4, newest=(2,)), m.OutOfOrderError)
    taken(party, others(release=4, newest=(3,)))


class TestLocalMisuse:
    def test_a_reward_needs_a_recommendation(self):
        with pytest.raises(LocalProtocolError, match="decision 1 is not open"):
            server().observe(Decision(1, 0), 1.0)

    def test_many_recommendations_at_a_time(self):
        party = server()
        made = [party.decide(Arrival(1, user, ITEMS)) for user in (0, 1, 1)]
        assert [decision.number for decision in made] == [1, 2, 3]
        party.end_round(25)
        for decision in reversed(made):
            party.observe(decision, 1.0)
        assert party.state.sums[:, SIZE].tolist() == [1.0, 2.0, 0.0]
        before = snapshot(party)
        with pytest.raises(LocalProtocolError, match="decision 2 is not open"):
            party.observe(made[1], 1.0)
        assert snapshot(party) == before

    def test_no_more_decisions_than_the_plan_has_rounds(self):
        party = server(plan=make_plan(system("fclub").config, WORLD.facts, 3))
        for _ in range(3):
            party.decide(Arrival(1, 0, ITEMS))
        with pytest.raises(LocalProtocolError, match="no more are planned"):
            party.decide(Arrival(1, 0, ITEMS))

    @pytest.mark.parametrize("reward", [-0.1, 1.1, float("nan"), float("inf")])
    def test_rewards_are_bounded(self, reward):
        party = server()
        decision = party.decide(Arrival(1, 1, ITEMS))
        before = snapshot(party)
        with pytest.raises(BoundExceededError):
            party.observe(decision, reward)
        assert snapshot(party) == before
        with pytest.raises(LocalProtocolError, match="was chosen, not"):
            party.observe(Decision(1, decision.action + 1), 1.0)
        assert snapshot(party) == before
        party.observe(decision, 1.0)

    @pytest.mark.parametrize("value", [0.6, float("nan"), -9.0])
    def test_items_are_bounded(self, value):
        party = server()
        before = snapshot(party)
        with pytest.raises(BoundExceededError):
            party.decide(Arrival(1, 0, np.full((3, 4), value, np.float32)))
        assert snapshot(party) == before

    def test_users_and_shapes_are_checked(self):
        party = server()
        for user, items in ((3, ITEMS), (-1, ITEMS), (0, ITEMS[:2]), (0, ITEMS.astype(float))):
            with pytest.raises(LocalProtocolError):
                party.decide(Arrival(1, user, items))

    def test_no_phase_is_left_after_the_last(self):
        party = server(plan=make_plan(system("fclub").config, WORLD.facts, 20))
        for round_ in (25, FAR):
            assert party.end_round(round_) == []
            assert party.state.phase == 0

    def test_a_phase_ends_in_its_round_alone(self):
        party = server()
        assert party.end_round(24) == []
        for round_ in (23, 26, 35, FAR):
            with pytest.raises(LocalProtocolError, match="in a phase that ends with round 25"):
                party.end_round(round_)
        for round_ in (24, 26, FAR):
            with pytest.raises(LocalProtocolError, match="in a phase that ends with round 25"):
                party.decide(Arrival(round_, 0, ITEMS))
        assert (party.stage, party.state.phase) == ("ready", 0)

    @pytest.mark.parametrize(
        "source",
        [
            lambda _: np.zeros(SIZE),
            lambda _: np.zeros((3, SIZE + 1)),
            lambda _: np.full((3, SIZE), np.nan),
            lambda _: 0.0,
        ],
    )
    def test_noise_that_is_none_is_refused_before_anything_is_booked(self, source):
        party = server(source)
        before = snapshot(party)
        with pytest.raises(LocalProtocolError, match="noise must be"):
            party.end_round(25)
        assert snapshot(party) == before

    def test_noise_that_fails_can_be_asked_again(self):
        answers = iter([OSError("no entropy"), np.ones((3, SIZE))])

        def source(_):
            answer = next(answers)
            if isinstance(answer, OSError):
                raise answer
            return answer

        party = server(source)
        with pytest.raises(OSError, match="no entropy"):
            party.end_round(25)
        assert (party.stage, party.state.phase) == ("ready", 0)
        assert len(party.end_round(25)) == 1

    def test_simulated_noise_is_refused_where_secure_noise_is_promised(self):
        found, roles = find_system("fclub"), find_system("fclub").roles(PLAN)
        terms = terms_of(found, PLAN, "secure")
        with pytest.raises(LocalProtocolError, match="this source only simulates it"):
            roles.make(roles.roles[0], 0, terms, ServerSupply(noise))


class TestLate:
    """Rewards and hand-outs that do not come when they might."""

    def test_a_server_recommends_while_releases_are_exchanged_and_ends_further_phases(self):
        party = waiting()
        model = party.state.models.theta.copy()
        decision = party.decide(Arrival(26, 0, ITEMS))
        assert party.stage == "waiting"
        np.testing.assert_array_equal(model, party.state.models.theta)
        (release,) = party.end_round(35)
        assert (party.stage, release.release) == ("waiting", 2)
        party.observe(decision, 1.0)
        taken(party, others(release=1))
        assert party.stage == "waiting"
        taken(party, others(release=2))
        assert party.stage == "ready"

    def test_a_reward_counts_in_the_release_after_it(self):
        party = server(plan=make_plan(system("fclub-clear").config, WORLD.facts, 300))
        decision = party.decide(Arrival(1, 0, ITEMS))
        (first,) = party.end_round(25)
        assert np.abs(np.frombuffer(first.sums)).max() == 0.0
        party.observe(decision, 1.0)
        (second,) = party.end_round(35)
        assert np.abs(np.frombuffer(second.sums)).max() > 0.0

    def test_records_beyond_a_phase_wait_for_the_next(self):
        """Phases are 25, 10, … rounds long: so many records are released at most."""
        party = server()
        made = [party.decide(Arrival(1, k % 3, ITEMS)) for k in range(30)]
        for decision in made:
            party.observe(decision, 1.0)
        assert party.state.sums[:, SIZE].sum() == 25
        assert len(party.state.kept) == 5
        party.end_round(25)
        party.observe(party.decide(Arrival(26, 0, ITEMS)), 1.0)
        assert party.state.sums[:, SIZE].sum() == 31
        assert party.state.kept == ()

    def test_at_a_deadline_a_server_goes_on_alone_and_an_old_one_does_nothing(self):
        party = waiting()
        assert party.awaited == 1
        before = snapshot(party)
        assert party.deadline(7) == []
        assert snapshot(party) == before
        party.deadline(1)
        assert party.stage == "ready"
        before = snapshot(party)
        party.deadline(1)
        assert snapshot(party) == before
        assert taken(party, others()) == []  # late, and as good

    @pytest.mark.parametrize("preset", ["fclub", "fclub-released", "fclub-clusters"])
    @pytest.mark.parametrize("silent", ["server-0", HUB])
    def test_nobody_waits_for_who_is_silent(self, preset, silent):
        config = system(preset).config
        run = federate(
            config, WORLD, 300, 0, 0, lambda m: None if m.sender == silent else 0, lenient=True
        )
        run.advance(300)
        assert run.done == 300
        assert not run.network.refusals
        phases = run.plan.release_count
        assert [s.state.phase for s in run.of("server")] == [phases] * 2
        assert all(s.stage == "ready" for s in run.of("server"))
        heard = run.of("server")[0].state.others[0].newest
        assert heard == (0 if silent == HUB else phases)

    @pytest.mark.parametrize("preset", ["fclub", "fclub-clusters"])
    def test_a_server_that_was_cut_off_is_heard_again(self, preset):
        """What a late server released is handed out later: of running sums the newest."""
        lost = {2, 3}

        def route(message):
            cut = isinstance(message, Release) and message.sender == "server-1"
            return (9 if message.release in lost else 0) if cut else 0

        run = federate(system(preset).config, WORLD, 300, 0, 0, route, lenient=True)
        run.advance(300)
        assert not run.network.refusals
        told = run.of("server")[0].state.others[0]
        assert told.newest == run.plan.release_count
        sent = [
            len(np.frombuffer(message.sums)) // SIZE
            for _, message in run.network.transcript.deliveries
            if isinstance(message, Release) and message.sender == "server-1"
        ]
        assert len(told.rows) == (sum(sent) if preset == "fclub-clusters" else 2)


def hub_of(preset="fclub", **users):
    """The global server of servers with so many users."""
    home = tuple(np.repeat(range(len(users)), list(users.values())).tolist())
    facts = ClusteredFacts(parties=len(home), home=home, clusters=2, dimension=3, items=4)
    return make(make_plan(system(preset).config, facts, 300), 1)


def release(sender=0, rows=2, **more):
    fields = {"sender": f"server-{sender}", "receiver": HUB, "release": 1}
    return Release(**fields | {"sums": pack(np.ones(rows * SIZE))} | more)


class TestGlobalServer:
    @pytest.mark.parametrize("rows", [0, 1, 3, 5000])
    def test_every_user_of_a_server_has_a_row(self, rows):
        hub = hub_of(a=2, b=3)
        refused_next(hub, release(rows=rows), m.WrongShapeError)
        assert taken(hub, release()) == []

    def test_at_a_deadline_it_says_whose_release_it_hands_out(self):
        hub = hub_of(a=2, b=3, c=1)
        taken(hub, release(0))
        out = hub.deadline(1)
        assert [(o.rows, o.newest) for o in out] == [
            ((0, 0), (0, 0)), ((2, 0), (1, 0)), ((2, 0), (1, 0)),
        ]  # fmt: skip
        taken(hub, release(1, 3, release=2))
        taken(hub, release(2, 1, release=2))
        out = taken(hub, release(0, 2, release=2))
        assert [(o.release, o.newest) for o in out] == [(2, ())] * 3

    def test_sums_of_phases_are_handed_out_once(self):
        hub = hub_of("fclub-clusters", a=2, b=3, c=1)
        taken(hub, release(0, 1))
        assert [o.rows for o in hub.deadline(1)] == [(0, 0), (1, 0), (1, 0)]
        taken(hub, release(1, 2))
        taken(hub, release(1, 3, release=2))
        taken(hub, release(2, 1, release=2))
        out = hub.deadline(2)
        assert [(o.rows, o.newest) for o in out] == [
            ((5, 1), (2, 2)), ((0, 1), (1, 2)), ((0, 5), (1, 2)),
        ]  # fmt: skip


def test_noise_of_each_server_is_weighed_by_its_own_number():
    """An old release has other noise than a new one: at a deadline it is read as what it is."""
    plan = make_plan(system("fclub", epsilon=9.0).config, WORLD.facts, 300)
    rows = np.tile([70.0, 2, 1, 60, 3, 50, 30, 20, 10], 2)
    learned = {}
    for newest in ((), (2,), (3,)):
        party = server(plan=plan)
        for round_ in range(1, 26):
            party.observe(party.decide(Arrival(round_, round_ % 3, ITEMS)), round_ % 2)
        for number, end in enumerate((25, 35, 49), 1):
            party.end_round(end)
            if number < 3:
                taken(party, others(release=number))
        before = party.state
        ready = find_clusters(plan, 3, before.sums, before.rows, before.mixture)
        expected = learn_from(plan, max([*newest, 3][:1]), ready, decompose(rows.reshape(2, -1)))
        taken(party, others(release=3, newest=newest, values=rows))
        learned[newest] = party.state.models.theta.copy()
        np.testing.assert_array_equal(learned[newest], expected.estimates.mean)
    np.testing.assert_array_equal(learned[()], learned[3,])
    assert (learned[()] != learned[2,]).any()


def test_what_leaves_is_noisy_and_says_nothing_else():
    run = federate(system("fclub").config, WORLD, 120, 0, 0)
    run.advance(120)
    sent = [o for _, o in run.network.transcript.deliveries if isinstance(o, Release)]
    assert len(sent) == 2 * run.of("server")[0].state.phase
    for message in sent:
        assert set(msgspec.structs.asdict(message)) == {
            "sender", "receiver", "number", "version", "terms", "release", "sums",
        }  # fmt: skip
    last = np.frombuffer(sent[-2].sums).reshape(-1, SIZE)
    gaps = np.abs(last - run.of("server")[0].state.sums[:, :SIZE])
    assert np.median(gaps) > 1.0
