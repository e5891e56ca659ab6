"""Whatever reaches a server, it is refused by name without a trace, or it does its duty."""

from __future__ import annotations

import contextlib

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Clustered
from fedbandits.environments.clustered import Arrival
from fedbandits.errors import BoundExceededError, ConfigError, LocalProtocolError
from fedbandits.facts import ClusteredFacts
from fedbandits.federation import messages as m
from fedbandits.federation.events import Decision
from fedbandits.federation.messages import ImplausibleError, pack
from fedbandits.settings.experiment import system
from fedbandits.systems import find_system
from fedbandits.systems.fclub_published.messages import (
    Download,
    Observation,
    Partition,
    PhaseReport,
    SharedObservation,
    UnknownClusterError,
    Upload,
)
from fedbandits.systems.fclub_published.roles import roles
from fedbandits.systems.pfcb.roles.buyer import Report
from fedbandits.systems.servers.roles import GLOBAL as HUB
from fedbandits.systems.servers.system import ServerSupply
from fedbandits.systems.terms import terms_of
from fedbandits.testing.replicates import federate, plan_of
from tests.federation.receiving import next_number, refused, refused_next, snapshot, stamped, taken

WORLD = Clustered(users=7, clusters=2, servers=3, dim=3, items=4)  # servers of 3, 2 and 2 users
SIZE = 10  # six entries of a triangle, three of a vector, a count
ITEMS = np.full((3, 4), 0.5, np.float32)
PLAN = plan_of(system("fclub-dc").config, WORLD, 40)
CODEC = roles(PLAN).codec
FAR = 2**62


def run_of(preset="fclub-dc", rounds=4, route=None, **parts):
    run = federate(system(preset, **parts).config, WORLD, 40, 0, 0, route, lenient=True)
    run.hub, run.servers = run.one("global"), run.of("server")
    run.advance(rounds)
    assert not run.network.refusals
    return run


def a_sum(count=3.0):
    return pack(np.array([1.0, 0.1, 0.1, 1.0, 0.1, 1.0, 0.3, 0.2, 0.5, count]))


NO_SUM = pack(np.array([-9.0, 0, 0, 1.0, 0, 1.0, 0.3, 0.2, 0.5, 3.0]))
FEWER_THAN_NONE = a_sum(-99.0)
ABSURD = [
    pack(np.append([value], np.frombuffer(a_sum())[1:])) for value in (1e200, -1e16, 1.7e308)
] + [a_sum(1e200), pack(np.append(np.full(SIZE - 1, 1.7e308), 3.0))]


def party_of(run, to):
    return run.hub if to == HUB else run.servers[int(to[-1])]


def message(run, kind, to, sender, **fields):
    """With the phase in which the clusters that it speaks of began anew."""
    place = int((sender if to == HUB else to)[-1]) if sender != HUB or to != HUB else 0
    if kind is not Partition:
        fields = {"since": run.hub.state.since[place]} | fields
    return kind(sender=sender, receiver=to, **fields)


def refuses(run, error, kind, to, sender, **fields):
    refused_next(party_of(run, to), message(run, kind, to, sender, **fields), error)


def takes(run, kind, to, sender, **fields):
    return taken(party_of(run, to), message(run, kind, to, sender, **fields))


def bad_sums(run, kind, to, sender, **fields):
    """The same message with everything that sums can have wrong."""
    for sums, error in (
        (pack(np.ones(SIZE - 1)), m.WrongShapeError),
        (b"\0" * 79, m.WrongShapeError),
        (b"", m.WrongShapeError),
        (pack(np.full(SIZE, np.nan)), m.NotFiniteError),
        (pack(np.append(np.ones(SIZE - 1), np.inf)), m.NotFiniteError),
        (NO_SUM, ImplausibleError),
        (FEWER_THAN_NONE, ImplausibleError),
        *((absurd, ImplausibleError) for absurd in ABSURD),
    ):
        refuses(run, error, kind, to, sender, **fields, sums=sums)


def test_the_global_server_names_what_is_wrong_with_an_upload():
    run = run_of()
    upload = {"cluster": 3, "sums": a_sum()}
    bad_sums(run, Upload, HUB, "server-1", cluster=3)
    for wrong in (0, 4, 5, -1, 7, 2**40, FAR):  # another's, no cluster's name, nobody's
        refuses(run, UnknownClusterError, Upload, HUB, "server-1", **upload | {"cluster": wrong})
    for wrong in (2, FAR):
        refuses(run, m.OutOfOrderError, Upload, HUB, "server-1", **upload, since=wrong)
    record = pack(np.array([0.1, 0.2, 0.3, 1.0]))
    refuses(run, UnknownClusterError, Observation, HUB, "server-1", cluster=3, record=record)
    stranger = message(run, Upload, HUB, "server-1", **upload)
    stranger = msgspec.structs.replace(stranger, sender="stranger")
    refused(run.hub, stamped(run.hub, stranger, number=0), m.WrongSenderError)
    refuses(run, m.UnknownMessageError, Download, HUB, "server-1", **upload)
    other = Report(sender="server-1", receiver=HUB, release=1, round=1, sums=b"")
    refused_next(run.hub, other, m.UnknownMessageError)
    again = next_number(run.hub, "server-1") - 1
    good = stamped(run.hub, message(run, Upload, HUB, "server-1", **upload))
    before = run.hub.dump()
    receipt = run.hub.receive(msgspec.structs.replace(good, number=again))
    assert (receipt.outcome, run.hub.dump()) == ("duplicate", before)
    assert all(isinstance(a, Download) for a in takes(run, Upload, HUB, "server-1", **upload))


def test_an_upload_of_what_has_begun_anew_since_changes_nothing():
    run = run_of()
    before = snapshot(run.hub, "server-1")
    upload = {"cluster": 3, "sums": a_sum()}
    assert takes(run, Upload, HUB, "server-1", **upload, since=-1) == []
    assert snapshot(run.hub, "server-1") == before


def test_the_global_server_names_what_is_wrong_with_a_report():
    run = run_of(rounds=5)
    report = {"phase": 2, "labels": (3, 4), "sums": 2 * a_sum()}

    def wrong(error, **fields):
        refuses(run, error, PhaseReport, HUB, "server-1", **report | fields)

    for labels in ((3,), (3, 3, 3), ()):
        wrong(m.WrongShapeError, labels=labels)
    for labels in ((4, 4), (4, 3), (0, 3), (3, 9), (-1, 3), (3, 2**63 - 1)):
        wrong(UnknownClusterError, labels=labels)
    for since in (2, -2, FAR):
        wrong(m.OutOfOrderError, since=since)
    for absurd in (FEWER_THAN_NONE, NO_SUM, *ABSURD):
        wrong(ImplausibleError, sums=a_sum() + absurd)
    assert takes(run, PhaseReport, HUB, "server-1", **report) == []
    assert run.hub.awaited == run.hub.state.releases + 1
    takes(run, Upload, HUB, "server-2", cluster=5, sums=a_sum())  # it has not reported yet
    for sender, labels in (("server-2", (5, 5)), ("server-0", (0, 0, 0))):
        answers = takes(run, PhaseReport, HUB, sender, phase=2, labels=labels, sums=a_sum())
    assert [type(a) for a in answers] == [Partition] * 3
    assert run.hub.awaited is None


def test_a_report_of_no_sum_is_its_senders_fault_alone():
    run = run_of("fclub-dc", rounds=5, alpha2=0.0)
    report = {"phase": 2, "labels": (5, 5)}
    takes(run, PhaseReport, HUB, "server-0", phase=2, labels=(0, 0, 0), sums=a_sum())
    refuses(run, ImplausibleError, PhaseReport, HUB, "server-2", **report, sums=NO_SUM)
    takes(run, PhaseReport, HUB, "server-1", phase=2, labels=(3, 4), sums=2 * a_sum())
    answers = takes(run, PhaseReport, HUB, "server-2", **report, sums=a_sum())
    assert [type(a) for a in answers] == [Partition] * 3


def test_a_server_names_what_is_wrong_with_a_download():
    run = run_of()
    bad_sums(run, Download, "server-1", HUB, cluster=3)
    download = {"cluster": 3, "sums": a_sum()}
    for wrong in (0, 4, 5, -1, 9, FAR, -FAR):
        refuses(
            run, UnknownClusterError, Download, "server-1", HUB, **download | {"cluster": wrong}
        )
    for since in (2, -2, FAR):
        refuses(run, m.OutOfOrderError, Download, "server-1", HUB, **download, since=since)
    other = msgspec.structs.replace(
        message(run, Download, "server-1", HUB, **download), sender="server-0"
    )
    refused(run.servers[1], stamped(run.servers[1], other, number=0), m.WrongSenderError)
    partition = {"phase": 1, "renewed": False}
    refuses(run, m.OutOfOrderError, Partition, "server-1", HUB, **partition)  # nothing was reported
    refuses(run, m.UnknownMessageError, Upload, "server-1", HUB, **download)
    takes(run, Download, "server-1", HUB, **download)


def test_a_server_names_what_is_wrong_with_a_partition():
    run = run_of(rounds=5)
    server = run.servers[1]
    server.end_round(6)
    good = {"phase": 2, "renewed": True, "groups": (0,), "partners": (3,), "sums": a_sum()}
    if len(set(server.state.local.cluster_of)) == 2:
        good |= {"groups": (0, 0), "partners": (3, 3), "sums": 2 * a_sum()}

    def wrong(error, **fields):
        refuses(run, error, Partition, "server-1", HUB, **good | fields)

    for phase in (1, 3, -1, FAR):
        wrong(m.OutOfOrderError, phase=phase)
    wrong(m.WrongShapeError, sums=b"")
    wrong(m.WrongShapeError, groups=())
    wrong(m.WrongShapeError, partners=(1, 1, 1))
    for partners in (0, 8, FAR):
        wrong(UnknownClusterError, partners=tuple(partners for _ in good["partners"]))
    for group in (-1, 7, FAR):
        wrong(UnknownClusterError, groups=tuple(group for _ in good["groups"]))
    for absurd in (NO_SUM, FEWER_THAN_NONE, *ABSURD):
        wrong(ImplausibleError, sums=absurd + good["sums"][len(NO_SUM) :])
    takes(run, Partition, "server-1", HUB, **good)
    assert server.stage == "ready"
    wrong(m.OutOfOrderError)


def lone_server(preset, source=None):
    """One server by itself."""
    plan = plan_of(system(preset).config, WORLD, 40)
    noise = np.random.default_rng(0)
    supply = ServerSupply(source or (lambda *_: noise.standard_normal(SIZE - 1)))
    found = find_system("fclub_published")
    built = found.roles(plan)
    return built.make(built.roles[0], 1, terms_of(found, plan, "simulated"), supply)


def test_a_lying_global_server_cannot_have_a_buffer_uploaded_that_was_never_begun():
    """Where new clusters are not renewed a buffer has no noise: a record would leave as it is."""
    server = lone_server("fclub-published")
    server.start()
    lie = Partition(sender=HUB, receiver="server-1", phase=0, renewed=False)
    refused_next(server, lie, m.OutOfOrderError)
    assert server.stage == "reporting"
    server.deadline(1)  # nor if nobody tells it the truth
    for round_ in (1, 2):
        assert server.observe(server.decide(Arrival(round_, 3, ITEMS)), 1.0) == []
    (report,) = server.end_round(2)
    assert (report.phase, report.since) == (1, -1)
    refused_next(server, msgspec.structs.replace(lie, phase=1), m.OutOfOrderError)
    assert server.observe(server.decide(Arrival(3, 3, ITEMS)), 1.0) == []


def test_clusters_that_split_must_be_renewed():
    run = run_of("fclub-published", rounds=5, alpha1=9.0)
    server = run.servers[1]
    server.state.local.edges[:] = 0  # as if its users had been told apart
    server.end_round(6)
    assert len(set(server.state.local.cluster_of)) == 2
    refuses(run, m.OutOfOrderError, Partition, "server-1", HUB, phase=2, renewed=False)
    server.deadline(3)
    assert server.observe(server.decide(Arrival(7, 3, ITEMS)), 1.0) == []
    assert server.state.apart


def test_shared_records_keep_their_bounds():
    run = run_of("fclub-sync")

    def wrong(error, record, **fields):
        fields = {"group": 0, "record": pack(np.array(record))} | fields
        refuses(run, error, SharedObservation, "server-1", HUB, **fields)

    for group in (6, -1, FAR):
        wrong(UnknownClusterError, [0.1, 0.2, 0.3, 1.0], group=group)
    wrong(m.OutOfOrderError, [0.1, 0.2, 0.3, 1.0], since=FAR)
    for record in (
        [0.1, 0.2, 0.3, 1.5], [0.1, 0.2, 0.3, -0.1], [0.9, 0.9, 0.9, 1.0], [1e200, 0, 0, 1.0],
    ):  # fmt: skip
        wrong(ImplausibleError, record)
        packed = pack(np.array(record))
        refuses(run, ImplausibleError, Observation, HUB, "server-1", cluster=3, record=packed)
    wrong(m.WrongShapeError, [0.1, 0.2, 0.3])
    wrong(m.NotFiniteError, [0.1, np.nan, 0.3, 1.0])
    good = pack(np.array([0.1, 0.2, 0.3, 1.0]))
    takes(run, SharedObservation, "server-1", HUB, group=0, record=good)
    sent = takes(run, Observation, HUB, "server-1", cluster=3, record=good)
    assert [(type(s), s.receiver) for s in sent] == [
        (SharedObservation, "server-0"), (SharedObservation, "server-2"),
    ]  # fmt: skip


def test_misuse_is_the_callers_error():
    server = run_of().servers[1]
    server.end_round(4)  # it has been told of no end since that of the last phase

    def misuse(match, action, kind=LocalProtocolError):
        before = snapshot(server)
        with pytest.raises(kind, match=match):
            action()
        assert snapshot(server) == before

    misuse("is not open", lambda: server.observe(Decision(99, 0), 1.0))
    misuse("user 0 does not live here", lambda: server.decide(Arrival(5, 0, ITEMS)))
    misuse("user 99 does not live here", lambda: server.decide(Arrival(5, 99, ITEMS)))
    misuse("float32", lambda: server.decide(Arrival(5, 3, ITEMS.astype(np.float64))))
    misuse("float32", lambda: server.decide(Arrival(5, 3, ITEMS[:2])))
    misuse("has the norm", lambda: server.decide(Arrival(5, 3, 3 * ITEMS)), BoundExceededError)
    misuse("not a finite", lambda: server.decide(Arrival(5, 3, np.nan * ITEMS)), BoundExceededError)
    misuse("round 0 after", lambda: server.decide(Arrival(0, 3, ITEMS)))
    misuse("in a phase that ends with round 6", lambda: server.decide(Arrival(7, 3, ITEMS)))
    misuse("round 7 after round 4, in a phase that ends with", lambda: server.end_round(7))
    misuse("round 3 after round 4", lambda: server.end_round(3))
    assert server.start() == []
    decision = server.decide(Arrival(5, 3, ITEMS))
    wrong = Decision(decision.number, decision.action + 1)
    misuse("was chosen, not", lambda: server.observe(wrong, 1.0))
    for reward in (1.5, -0.1, float("nan")):
        misuse(
            r"outside its bounds|not a finite", lambda y=reward: server.observe(decision, y),
            BoundExceededError,
        )  # fmt: skip
    server.observe(decision, 1.0)
    misuse("is not open", lambda: server.observe(decision, 1.0))
    assert server.end_round(5) == []  # no phase ends
    assert len(server.end_round(6)) == 1
    assert server.stage == "reporting"


def test_nobody_is_asked_before_the_first_phase():
    fresh = lone_server("fclub-dc")
    with pytest.raises(LocalProtocolError, match="starting"):
        fresh.decide(Arrival(1, 3, ITEMS))
    with pytest.raises(LocalProtocolError, match="EndRound is not possible while starting"):
        fresh.end_round(2)


class TestLate:
    """What does not come when it might."""

    def test_a_server_recommends_while_it_waits_and_uploads_afterwards(self):
        run = run_of("fclub-dc", rounds=5, alpha1=9.0)
        server = run.servers[1]
        server.end_round(6)
        made = [server.decide(Arrival(round_, 3, ITEMS)) for round_ in (7, 8, 9)]
        assert server.stage == "reporting"
        for decision in reversed(made):
            assert server.observe(decision, 1.0) == []  # nothing leaves before the answer
        assert taken(server, message(
            run, Partition, "server-1", HUB, phase=2, renewed=True, groups=(0,), partners=(3,),
            sums=a_sum(),
        )) == []  # fmt: skip
        assert server.state.local.buffer[0, -1] == 3  # no report has them
        sent = server.observe(server.decide(Arrival(10, 3, ITEMS)), 1.0)
        assert [(u.cluster, u.since) for u in sent] == [(3, 2)]
        assert np.frombuffer(sent[0].sums)[-1] == 4

    def test_what_has_left_since_a_report_is_not_begun_anew_by_its_answer(self):
        """Its records would be in the upload, and in the buffer that begins with the answer."""
        run = run_of("fclub-dc", rounds=5, alpha1=9.0)
        server = run.servers[1]
        server.end_round(6)
        server.deadline(3)
        assert len(server.observe(server.decide(Arrival(7, 3, ITEMS)), 1.0)) == 1
        answer = {"groups": (0,), "partners": (3,), "sums": a_sum()}
        refuses(run, m.OutOfOrderError, Partition, "server-1", HUB, phase=2, renewed=True, **answer)

    def test_rewards_in_another_order_add_up_to_the_same(self):
        sums = []
        for turn in (1, -1):
            server = lone_server("linucb-per-user")
            server.start()
            made = [server.decide(Arrival(1, user, ITEMS)) for user in (3, 4, 3)]
            for decision in made[::turn]:
                server.observe(decision, 1.0)
            sums.append(server.state.local.sums)
        np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12)

    def test_an_old_deadline_does_nothing(self):
        run = run_of("fclub-dc", rounds=5)
        server = run.servers[1]
        server.end_round(6)
        assert server.awaited == 3
        for number in (1, 2, 4, FAR):
            before = snapshot(server)
            assert server.deadline(number) == []
            assert snapshot(server) == before
        server.deadline(3)
        assert (server.stage, server.awaited) == ("ready", None)
        before = snapshot(server)
        server.deadline(3)
        assert snapshot(server) == before

    def test_at_a_deadline_the_global_server_merges_whom_it_knows(self):
        run = run_of("fclub-dc", rounds=5, alpha1=9.0)
        takes(run, PhaseReport, HUB, "server-1", phase=2, labels=(3, 4), sums=2 * a_sum())
        (answer,) = run.hub.deadline(run.hub.awaited)
        assert (answer.receiver, answer.renewed, len(answer.groups)) == ("server-1", True, 2)
        assert run.hub.state.behind == (True, False, True)
        # Who is behind keeps its clusters, and what it uploads is of no use until it is back.
        before = snapshot(run.hub, "server-2")
        assert takes(run, Upload, HUB, "server-2", cluster=5, sums=a_sum()) == []
        assert snapshot(run.hub, "server-2") == before
        for sender, labels in (("server-0", (0, 0, 0)), ("server-1", (3, 4)), ("server-2", (5, 5))):
            sums = len(set(labels)) * a_sum()
            answers = takes(run, PhaseReport, HUB, sender, phase=3, labels=labels, sums=sums)
        assert [a.renewed for a in answers] == [True] * 3  # nothing changed, but two are back
        assert run.hub.state.behind == (False,) * 3
        assert run.hub.state.since == (3, 3, 3)

    def test_a_partition_that_got_lost_is_made_up_for_in_the_next_phase(self):
        lost = []

        def route(message):
            if isinstance(message, Partition) and message.phase == 2:
                lost.append(message)
                return None if message.receiver == "server-1" else 0
            return 0

        run = run_of("fclub-dc", 40, route, alpha1=0.3)
        assert lost
        assert len(set(run.hub.state.since)) == 1
        assert {s.state.since for s in run.servers} == set(run.hub.state.since)
        assert not any(s.state.apart for s in run.servers)

    @pytest.mark.parametrize(
        "preset", ["fclub-published", "fclub-dc", "fclub-sync", "fclub-authors", "homo-dc"]
    )
    @pytest.mark.parametrize("silent", ["server-0", HUB])
    def test_nobody_waits_for_who_is_silent(self, preset, silent):
        run = run_of(preset, 40, lambda m: None if m.sender == silent else 0)
        assert run.done == 40
        phased = preset != "homo-dc"
        assert all(s.state.phase == (4 if phased else 0) for s in run.servers)
        assert all(s.stage == "ready" for s in run.servers)
        assert sum(s.state.local.sums[:, -1].sum() for s in run.servers) == 40
        if silent != HUB and phased:
            assert run.hub.state.newest[1:].tolist() == [4, 4]
            assert [s.state.since for s in run.servers[1:]] == [*run.hub.state.since[1:]]

    def test_a_server_that_was_cut_off_for_a_phase_is_back_in_the_next(self):
        def route(message):
            cut = isinstance(message, PhaseReport) and message.phase in (2, 3)
            return None if cut and message.sender == "server-0" else 0

        for preset in ("fclub-published", "fclub-dc", "fclub-authors"):
            run = run_of(preset, 40, route)
            assert run.hub.state.behind == (False,) * 3
            assert run.hub.state.newest.tolist() == [4, 4, 4]
            assert [s.state.since for s in run.servers] == [*run.hub.state.since]

    def test_a_server_that_runs_ahead_holds_up_nobody(self):
        run = run_of("fclub-dc", rounds=5)
        takes(run, PhaseReport, HUB, "server-1", phase=4, labels=(3, 4), sums=2 * a_sum())
        for place, labels in ((0, (0, 0, 0)), (2, (5, 5))):
            takes(run, PhaseReport, HUB, f"server-{place}", phase=2, labels=labels, sums=a_sum())
        assert len(run.hub.deadline(run.hub.awaited)) == 3
        assert run.hub.state.newest.tolist() == [2, 4, 2]


def test_simulated_noise_is_refused_where_secure_noise_is_promised():
    plan = plan_of(system("fclub-published").config, WORLD, 40)
    found = find_system("fclub_published")
    built, terms = found.roles(plan), terms_of(found, plan, "secure")
    with pytest.raises(LocalProtocolError, match="this source only simulates it"):
        built.make(built.roles[0], 0, terms, ServerSupply(lambda *_: np.zeros(SIZE - 1)))


def test_noise_that_fails_leaves_everything_as_it_was():
    answers = iter([np.ones(SIZE - 1)] * 2 + [np.full(SIZE - 1, np.nan)] * 2)
    server = lone_server("fclub-published", lambda *_: next(answers))
    server.start()
    renewal = Partition(
        sender=HUB, receiver="server-1", number=0, phase=0, renewed=True, groups=(0,),
        partners=(3,), terms=server.terms.digest,
        sums=pack(np.append([1e5, 0, 0, 1e5, 0, 1e5, 0, 0, 0], 0.0)),
    )  # fmt: skip
    assert server.receive(renewal).outcome == "taken"
    decision = server.decide(Arrival(1, 3, ITEMS))
    before = snapshot(server)
    with pytest.raises(LocalProtocolError, match="noise must be"):
        server.observe(decision, 1.0)  # it would upload
    assert snapshot(server) == before


@pytest.mark.parametrize("preset", ["fclub", "fclub-dc"])
@pytest.mark.parametrize("home", [(), (0, 2, 2), (0, 1), (1, 1, 1)])
def test_facts_that_leave_a_user_or_a_server_alone_are_refused(preset, home):
    facts = ClusteredFacts(parties=3, home=home, clusters=2, dimension=3, items=4)
    entry = system(preset)
    with pytest.raises(ConfigError, match="home: 3 users need a server each"):
        find_system(entry.system).plan(entry.config, facts, 40)


def test_a_home_that_is_no_server_is_refused():
    with pytest.raises(ConfigError, match=r"ClusteredFacts.home\[2\]: given -1"):
        ClusteredFacts(parties=3, home=(0, 1, -1), clusters=2, dimension=3, items=4)


def test_the_global_server_is_told_of_clusters_and_not_of_users():
    """An upload may well be a single record, but no report tells a user's sum from another's."""
    run = run_of("fclub-dc", rounds=40, alpha1=9.0)
    rows = [server.state.local.sums[i] for server in run.servers for i in range(len(server.users))]
    own = {pack(row) for row in rows if row[-1] > 1}
    seen = {s.value for s in run.network.transcript.sightings(HUB) if s.field == "sums"}
    assert own
    assert seen
    assert not own & seen
    for server in run.servers:
        assert server.state.local.sums.shape[0] == len(server.users)


def test_errors_do_not_tell_secrets():
    server = run_of().servers[1]
    decision = server.decide(Arrival(5, 3, ITEMS))
    with pytest.raises(BoundExceededError) as refusal:
        server.observe(decision, 77.25)
    assert "77.25" not in str(refusal.value)


envelopes = {
    "sender": st.sampled_from([HUB, "server-0", "server-1"]),
    "receiver": st.sampled_from([HUB, "server-0"]), "number": st.integers(-1, 40),
    "version": st.integers(m.VERSION - 1, m.VERSION),
}  # fmt: skip
sums = st.one_of(
    st.binary(max_size=90), st.just(a_sum()), st.just(2 * a_sum()), st.just(NO_SUM),
    st.sampled_from(ABSURD),
    st.lists(st.floats(), min_size=SIZE, max_size=SIZE).map(lambda v: pack(np.array(v))),
)  # fmt: skip
numbers = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 7), max_size=4).map(tuple)
phases = st.integers(-1, 4) | st.sampled_from([FAR, -FAR])
places = st.integers(-1, 8) | st.sampled_from([FAR, -FAR])
anything = st.one_of(
    st.builds(Upload, **envelopes, cluster=places, since=phases, sums=sums),
    st.builds(Download, **envelopes, cluster=places, since=phases, sums=sums),
    st.builds(PhaseReport, **envelopes, phase=phases, since=phases, labels=numbers, sums=sums),
    st.builds(
        Partition, **envelopes, phase=phases, renewed=st.booleans(), groups=numbers,
        partners=numbers, sums=sums,
    ),
    st.builds(Observation, **envelopes, cluster=places, since=phases, record=sums),
    st.builds(SharedObservation, **envelopes, group=places, since=phases, record=sums),
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(anything, min_size=1, max_size=5), st.sampled_from(["fclub-dc", "fclub-sync"]))
def test_any_messages_are_taken_or_refused_without_a_trace(incoming, preset):
    run = run_of(preset, rounds=5)
    run.servers[0].end_round(6)
    for party in (run.hub, run.servers[0]):
        for some in incoming:
            peer = some.sender if some.sender in party._links.all else HUB
            known = peer in party._links.all
            number = next_number(party, peer) if known else 0
            some = stamped(party, some, receiver=party.name, number=number, version=m.VERSION)
            before = snapshot(party, peer)
            receipt = party.receive(some)
            assert receipt.outcome in ("taken", "refused")
            if receipt.outcome == "refused":
                assert snapshot(party, peer) == before


@settings(max_examples=200)
@given(st.integers(0, 200), st.integers(1, 255))
def test_mutated_messages_are_decoded_or_refused(position, flip):
    good = PhaseReport(
        sender="server-0", receiver=HUB, number=0, phase=0, since=-1, labels=(0, 0, 0),
        sums=a_sum(),
    )  # fmt: skip
    data = bytearray(CODEC.encode(good))
    data[position % len(data)] ^= flip
    with contextlib.suppress(m.UnknownMessageError, m.WrongVersionError):
        assert isinstance(CODEC.decode(bytes(data)), m.Message)
    with pytest.raises(m.WrongVersionError):
        CODEC.decode(msgspec.msgpack.encode({"type": "fclub.later", "version": 9}))
