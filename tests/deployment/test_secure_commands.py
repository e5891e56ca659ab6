"""Commands and pages for secure sums: an example, its seats, a rehearsal, what is shown of it."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from fedbandits.cli.federation_tables import status_of
from fedbandits.cli.privacy import _Account, _statement_table
from fedbandits.deployment.hosting.cautions import too_short
from fedbandits.deployment.identity.enrolment import (
    Fingerprints,
    create_party,
    fingerprints_in,
)
from fedbandits.deployment.process.examples import example
from fedbandits.deployment.process.federation_folder import admit_here, init_federation
from fedbandits.deployment.process.inspecting import StoredMessage
from fedbandits.deployment.process.local_doors import PartyReport
from fedbandits.deployment.process.rehearsal import RehearsalSupplies, _Rehearsal
from fedbandits.federation.run import PartiesRun
from fedbandits.federation.totals import statements
from fedbandits.federation.totals.agreement import Taken, pack_taken
from fedbandits.federation.totals.messages import Increment, Opening, Total, pack_words
from fedbandits.settings.federation import read_federation
from tests.deployment.machines import fedbandits
from tests.deployment.secure import AGENTS, learn, played, release, summed

PRESETS = ["feducb-secure", "feducb-secure-hybrid"]


@pytest.mark.parametrize("preset", PRESETS)
def test_helpers_have_seats_of_their_own(preset, tmp_path):
    file = tmp_path / "clinics.toml"
    file.write_text(example(preset))
    made = init_federation(file, tmp_path / "clinics", local=True, first_port=0)
    members = made.federation.members
    assert members["helper"] == ("helper-0", "helper-1")
    assert members["agent"] == ("north", "south", "east")
    assert set(made.parties) == {name for names in members.values() for name in names}
    helper = made.federation.seat_of("helper-1")
    assert helper.party == "helper-1"
    assert set(made.federation.peers_of("helper-1")) == {"controller", *members["agent"]}


def test_init_says_who_must_not_be_one_hand(tmp_path):
    file = tmp_path / "clinics.toml"
    file.write_text(fedbandits("federation", "example", "feducb-secure", "--every", "1 min"))
    said = fedbandits("federation", "init", file, "--out", tmp_path / "clinics")
    assert "fedbandits party fingerprints" in said
    assert "Helpers of secure sums: helper-0, helper-1, not in one hand with the rest" in said
    assert "must not be in one hand" in " ".join(
        fedbandits("federation", "init", "--help").replace("│", " ").split()
    )


def test_members_compare_the_keys_of_helpers_in_calls(tmp_path):
    """The authority signs which keys are whose: it could put its own for all helpers."""
    file = tmp_path / "clinics.toml"
    file.write_text(example("feducb-secure"))
    init_federation(file, tmp_path / "clinics", local=False)
    for name in ("helper-0", "north"):
        admitted = admit_here(tmp_path / "clinics", create_party(file, name, tmp_path))
        said = fedbandits("party", "admit", tmp_path / name, admitted.admission)
    helper = fingerprints_in(tmp_path / "helper-0")
    assert fingerprints_in(tmp_path / "north").makers == {"helper-0": helper.own, "helper-1": None}
    assert f"  helper-0  {helper.own}\n  helper-1  not admitted yet\n" in said
    assert helper.lines("x") == [f"The fingerprint of its sealing key is {helper.own}: say it to "
                                 "whoever asks."]  # fmt: skip
    assert fedbandits("party", "fingerprints", tmp_path / "north") in said
    alone = Fingerprints("a", {"lab": "b"}).lines("x")
    assert alone[-1] == "  lab  b"


def test_rounds_that_are_too_short_are_warned_of():
    text = example("feducb-secure", every="1 min")
    assert not too_short(read_federation(text))
    short = read_federation(text.replace('every = "1 min"', 'every = "20 s"'))
    assert too_short(short).startswith("clock.every: 20 s is no longer than twice message_time")
    assert not too_short(read_federation(example("feducb", every="1 s")))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_rehearsal_opens_a_sum(preset):
    """Else what is done with a total would be compiled when the first one comes."""
    federation = read_federation(example(preset))
    application = federation.system.application(federation.plan)
    stage = _Rehearsal(federation, application)
    run = PartiesRun(
        federation.roles, RehearsalSupplies(federation, {}), federation.terms, stage,
        federation.rounds, lenient=True,
    )  # fmt: skip
    stage.players = run.players
    run.advance(2)
    run.end_round(min(player.next_end for player in run.players))
    assert run.one("controller").state.opened.tolist() == [1, 1, 1]
    assert [player.state.taken for player in run.players] == [1, 1, 1]


def test_status_tells_of_sums_in_a_line_each():
    federation = read_federation(example("feducb-secure"))
    told = {
        "controller": {"sums": 7, "members_of_last_sum": 2, "left_out": ["south"],
                       "helpers_awaited": ["helper-1"], "unbelieved": {"helper-1": ["south"]},
                       "retired_agents": ["east"]},
        "south": {"sums": 7, "retired": True},
        "helper-0": {"sums": 7, "members_of_last_sum": 2},
    }  # fmt: skip
    reports = [
        PartyReport(party=name, role="?", running=True, status={"sums": sums})
        for name, sums in told.items()
    ]
    lines = [str(shown) for shown in status_of(federation, reports)]
    assert "controller: sum 7 has 2 members; not in it: south" in lines
    assert "controller: sum 8 waits for helper-1; all else goes on" in lines
    assert "controller: east: sends nothing more, and is not waited for" in lines
    assert "controller: helper-1 did not believe south: left out of the last sum" in lines
    assert any(line.startswith("south: has retired") for line in lines)
    assert "helper-0: sum 7 has 2 members" in lines


def test_what_is_masked_is_shown_by_its_size():
    words = pack_words(np.arange(3, dtype=np.uint64))
    addresses = {"sender": "agent-0", "receiver": "controller"}
    increment = Increment(
        **addresses, release=1, salt=5, base=0, base_salt=0, total=0, total_digest=bytes(32),
        heard=0, public=bytes(32), statistic=words, statements=bytes(32),
    )  # fmt: skip
    fields = StoredMessage("seen", "north", increment).fields()
    assert (fields["statistic"], fields["statements"]) == ("24 bytes", "32 bytes")
    assert fields["total_digest"] == "00" * 32
    members = statements.pack_member(2, 5, 0, 0, 4, bytes([171] * 32), 3, bytes(32))
    opening = Opening(**addresses, release=1, members=members, statements=bytes(16))
    shown = StoredMessage("sent", "lab", opening).fields()["members"]
    stated = {"place": 2, "salt": 5, "base": 0, "base_salt": 0, "total": 4}
    drawn = {"heard": 3, "public": "00" * 32}
    assert shown == [{**stated, "total_digest": "ab" * 32, **drawn}]
    total = Total(
        **addresses, release=1, statistic=words, own=1, releases=(1,), counts=(3,),
        digest=bytes(32), agreed=pack_taken([Taken(4, bytes([171] * 32))]), disputed=(0, 3),
        publics=bytes(64),
        confirmations=bytes(32),
    )  # fmt: skip
    fields = StoredMessage("seen", "hub", total).fields()
    assert fields["statistic"] == [0, 1, 2]
    assert (fields["agreed"], fields["disputed"]) == ({4: "ab" * 32}, (0, 3))


def test_an_account_says_what_who_looks_can_come_to(tmp_path):
    async def work(deployed):
        await learn(deployed)
        await release(deployed)
        await summed(deployed, 1)
        node = deployed.nodes[AGENTS[0]]
        ledger = node.host.store.ledger
        statement = await node.host.call(lambda b: ledger.statement(b.connection, node.member))
        return statement, await node.privacy()

    statement, told = played(tmp_path, work)
    assert [view["epsilon"] for view in told["views"]] == [v.epsilon for v in statement.claim.views]
    assert statement.spent_mu <= statement.mu
    assert statement.charges == told["releases"] == 1
    console = Console(width=400, record=True, file=io.StringIO())
    account = _Account(tmp_path, "clinics", statement, left=None, unknown=None)
    console.print(_statement_table(account))
    assert "the controller and both helpers together" in console.export_text()
