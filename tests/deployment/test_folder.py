"""A party's folder: what is wrong in it is named, with its file, its key and how to mend it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from typing import NamedTuple

import msgspec
import pytest

from fedbandits.cli.federation import init
from fedbandits.cli.help import ENDINGS, code_of
from fedbandits.deployment.delivery.transport import MemoryHub
from fedbandits.deployment.hosting.clock import TICKS
from fedbandits.deployment.identity.admission import Request
from fedbandits.deployment.identity.authority import admit, load_authority
from fedbandits.deployment.identity.enrolment import fingerprints_in, install_admission
from fedbandits.deployment.identity.private_files import only_one
from fedbandits.deployment.process import party_process
from fedbandits.deployment.process.examples import example, own_example
from fedbandits.deployment.process.federation_folder import (
    admit_here,
    init_federation,
    load_parties,
    revoke_here,
)
from fedbandits.deployment.process.folder import load_party, load_settings
from fedbandits.deployment.process.looking import in_order, is_starting, says_it_starts
from fedbandits.deployment.process.party_process import order
from fedbandits.deployment.process.rehearsal import warm
from fedbandits.deployment.process.running import RunningParty
from fedbandits.errors import (
    ConfigError,
    DuplicateRewardError,
    IdentityError,
    LateRewardError,
    LedgerFileError,
    StaleStoreError,
)
from fedbandits.federation.messages import VERSION
from fedbandits.settings.federation import read_federation
from fedbandits.systems import preset_names
from fedbandits.systems.exported import load_model
from fedbandits.testing.deployed import until
from tests.deployment.machines import ACTIONS, clinics_file, fedbandits


@pytest.fixture
def machine(tmp_path):
    """All folders of a federation that has not run."""
    init_federation(clinics_file(tmp_path), tmp_path / "clinics", local=True, first_port=0)
    return tmp_path / "clinics"


def test_a_party_of_the_version_before_is_refused_by_the_version_of_its_messages(machine):
    path = machine / "north" / "request.json"
    request = msgspec.json.decode(path.read_bytes(), type=Request)
    content = msgspec.msgpack.decode(request.content) | {"wire": VERSION - 1}
    del content["facts"]["most_squares"]  # that version had no such key: nobody has changed it
    older = msgspec.structs.replace(request, content=msgspec.msgpack.encode(content))
    path.write_bytes(msgspec.json.encode(older))
    told = f"another version of fedbandits (messages of version {VERSION - 1}, here {VERSION})"
    with pytest.raises(IdentityError, match=re.escape(told)) as refused:
        load_party(machine / "north")
    then = f'earlier = ["{machine / "north" / "store.db"}"] in party.toml counts what this store'
    assert then in str(refused.value)
    assert "most_squares" not in str(refused.value)


async def started(machine, *members, hub=None, **more):
    """Some members, running in this process."""
    hub, parties = hub or MemoryHub(), []
    for member in members:
        party = RunningParty(load_party(machine / member), hub.transport(member), **more)
        await party.start()
        parties.append(party)
    return parties


def run_and_stop(machine, *members, **more):
    """Let members begin, decide once where they decide, and stop."""

    async def play():
        for party in await started(machine, *members, **more):
            if party.node.application is not None:
                await party.node.decide(party.node.application.ASKED(actions=ACTIONS))
            await party.stop()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[door]\nport = 'x'", "door.port"),
        ("stroe = 'x'", "stroe"),
        ("keep_records = 1", "keep_records"),
        ("[log]\nlevel = 'loud'", "log.level"),
        ("[simulated]\nseed = -1", "simulated.seed"),
        ("= 3", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, text, told):
    path = tmp_path / "party.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_settings(path)
    assert str(path) in str(refused.value)
    assert told in str(refused.value)


def test_what_cannot_run_ends_in_one_line_and_its_code(machine, tmp_path):
    """By the command, one after another on the same folders."""
    north, settings = machine / "north", (machine / "north" / "party.toml")

    def refused(code, *told, folder=north):
        line = fedbandits("party", "run", folder, code=code)
        for each in told:
            assert each in line

    refused(2, "is not the folder of a party", folder=machine / "authority")
    refused(2, "is not the folder of a party", folder=tmp_path / "nothing")
    assert "no party's folder is here" in fedbandits("federation", "up", tmp_path, code=2)
    assert "is there already" in fedbandits(
        "federation", "init", tmp_path / "clinics.toml", "--out", machine, code=2
    )
    before = settings.read_text()
    settings.write_text(before + "[simulated]\nseed = 1\n")
    refused(2, "simulated", "no seed")
    settings.write_text(before)

    terms = north / "federation.toml"
    agreed = terms.read_text()
    terms.write_text(agreed.replace("epsilon = 1.0", "epsilon = 2.0"))
    refused(10, str(terms), "system.epsilon is 2.0 here and was 1.0")
    terms.write_text(agreed)

    run_and_stop(machine, "south", "north")
    settings.write_text(before.replace("store.db", "../south/store.db"))
    refused(12, "belongs to the party 'south', this is 'north'")
    settings.write_text(before)
    with contextlib.closing(sqlite3.connect(north / "store.db")) as store, store:
        store.execute("UPDATE host_meta SET value = '99' WHERE name = 'schema'")
    refused(13, "format 99")
    assert "format 99" in fedbandits("party", "inspect", north, code=13)
    with contextlib.closing(sqlite3.connect(north / "store.db")) as store, store:
        store.execute("UPDATE host_meta SET value = '1' WHERE name = 'schema'")

    admitted = admit(machine / "authority", north / "request.json", days=1e-9)
    install_admission(north, admitted.admission)
    refused(10, "the certificate of north has expired")
    (north / "admission.json").unlink()
    refused(10, "was not admitted yet")


def test_a_door_that_is_taken(machine):
    """Nothing is left open, so that the same store can be opened at once."""

    async def play():
        (north,) = await started(machine, "north")
        south = machine / "south" / "party.toml"
        south.write_text(south.read_text().replace("port = 0", f"port = {north.door.port}"))
        with pytest.raises(Exception, match="cannot listen there") as refused:
            await started(machine, "south")
        assert code_of(refused.value) == 20
        await north.stop()
        await (await started(machine, "south"))[0].stop()

    asyncio.run(play())
    assert not list(machine.rglob("running.json"))


def test_who_is_revoked_is_no_longer_talked_to(machine, caplog):
    """At once, in both directions; and again once it is admitted with new keys."""

    async def play():
        hub = MemoryHub()
        north, at_hub = await started(machine, "north", "hub", hub=hub)
        await until(lambda: "north" in at_hub.node.delivery.greeted)
        revoke_here(machine, "north")
        published = (machine / "authority" / "members.json").read_bytes()
        at_hub.take_members(published)
        assert [sealer.peers for sealer in at_hub._sealers] == [("south",)] * 2
        with pytest.raises(IdentityError):
            at_hub.take_members(published.replace(b"true", b"false"))
        assert at_hub.node.status()["members_version"] == 4
        at_hub.take_members(published)  # again: nothing happens
        assert north.node.status()["problems"] == {}
        north.take_members(published)
        said = north.node.status()["problems"]["identity"]
        assert said.startswith("north was revoked by the authority; fedbandits party rotate")
        await north.stop()

        fedbandits("party", "rotate", machine / "north")
        admitted = admit_here(machine, machine / "north" / "request.json", replace=True)
        fedbandits("party", "admit", machine / "north", admitted.admission)
        assert "new keys" not in caplog.text
        at_hub.take_members(admitted.members.read_bytes())
        said = [each.getMessage() for each in caplog.records if "new keys" in each.getMessage()]
        own = fingerprints_in(machine / "north").own
        assert said == [
            f"hub: version 5 of the members has new keys of north, with the fingerprint {own}: "
            "ask it in a call whether they are its own"
        ]
        (north,) = await started(machine, "north", hub=hub)
        await until(lambda: "hub" in north.node.delivery.greeted)
        await north.stop()
        await at_hub.stop()

    asyncio.run(play())


def test_a_newer_list_is_a_warning_only_if_it_revokes_somebody(machine, caplog):
    caplog.set_level("INFO")

    async def play():
        (north,) = await started(machine, "north")
        with only_one(machine / "authority"):
            office = load_authority(machine / "authority")
            longer = office.write_members(dict(office.members.members))
        north.take_members(longer.encode())
        revoke_here(machine, "south")
        north.take_members((machine / "authority" / "members.json").read_bytes())
        await north.stop()

    asyncio.run(play())
    told = [
        (record.levelname, record.getMessage())
        for record in caplog.records
        if "of the members; revoked" in record.getMessage()
    ]
    assert told == [
        ("INFO", "north: version 4 of the members; revoked: nobody"),
        ("WARNING", "north: version 5 of the members; revoked: south"),
    ]


def test_messages_for_who_is_revoked_leave_the_outbox(machine):
    """And who comes back gets what is sent from then on; it is not taken for an old backup."""

    async def play():
        hub = MemoryHub()
        north, at_hub = await started(machine, "north", "hub", hub=hub)
        await until(lambda: "north" in at_hub.node.delivery.greeted)
        await north.stop()

        async def pooled():
            """The others' release makes a sum, which the hub sends to everybody."""
            (south,) = await started(machine, "south", hub=hub)
            await until(lambda: "hub" in south.node.delivery.greeted)
            # From the store: the clock may not have read it yet, and a tick that was is no release.
            ticks = await south.node.host.call(lambda b: b.store.number(b.connection, TICKS))
            await south.node.tick(ticks + 1)
            await until(lambda: south.node.status()["outbox"] == 0)
            awaited = at_hub.node.host.view.awaited
            await at_hub.node.deadline(awaited)
            await until(lambda: at_hub.node.delivery.exchanges["south"].unacknowledged == {})
            await south.stop()

        await pooled()
        assert at_hub.node.status()["outbox"] == 1
        revoke_here(machine, "north")
        at_hub.take_members((machine / "authority" / "members.json").read_bytes())
        assert at_hub.node.status()["outbox"] == 0
        await pooled()
        assert at_hub.node.status()["outbox"] == 0
        await at_hub.stop()

        fedbandits("party", "rotate", machine / "north")
        admitted = admit_here(machine, machine / "north" / "request.json", replace=True)
        fedbandits("party", "admit", machine / "north", admitted.admission)
        (at_hub,) = await started(machine, "hub", hub=hub)
        assert at_hub.node.status()["outbox"] == 0
        at_hub.take_members(admitted.members.read_bytes())
        (north,) = await started(machine, "north", hub=hub)
        await until(lambda: "hub" in north.node.delivery.greeted)
        await until(lambda: "north" in at_hub.node.delivery.greeted)
        assert at_hub.node.status()["problems"] == {}
        await pooled()
        await until(lambda: at_hub.node.status()["outbox"] == 0)
        assert north.node.status()["messages"]["early"] == 1
        await north.node.deadline(north.node.host.view.awaited)
        assert north.node.status()["messages"]["given_up"] == 2
        await north.stop()
        await at_hub.stop()

    asyncio.run(play())


def test_peers_are_greeted_at_once_when_a_newer_list_has_come(machine, monkeypatch):
    """However long a greeting has not been answered: they may only now know this party."""
    monkeypatch.setattr("fedbandits.deployment.delivery.exchange.FIRST_PAUSE", 1e6)
    monkeypatch.setattr("fedbandits.deployment.delivery.delivery.LONGEST_PAUSE", 1e6)
    said = []

    async def play():
        hub = MemoryHub(lambda sender, receiver, frame: said.append(receiver) or [])
        (at_hub,) = await started(machine, "hub", hub=hub)
        await until(lambda: {*said} == {"north", "south"})
        said.clear()
        revoke_here(machine, "north")
        at_hub.take_members((machine / "authority" / "members.json").read_bytes())
        await until(lambda: said == ["south"])
        await at_hub.stop()

    asyncio.run(play())


def test_a_backup_goes_on_once_it_is_said_to_have_moved(machine, tmp_path):
    """But not where peers have seen more of the party than it holds."""
    north, copy = machine / "north", tmp_path / "copy.db"
    run_and_stop(machine, "north")
    fedbandits("party", "backup", north, copy)
    assert "is there already" in fedbandits("party", "backup", north, copy, code=2)
    for file in north.glob("store.db*"):
        file.unlink()
    shutil.copy(copy, north / "store.db")
    with pytest.raises(LedgerFileError):
        run_and_stop(machine, "north")
    run_and_stop(machine, "north", moved=True)
    run_and_stop(machine, "north")


@pytest.mark.parametrize("has_left", ["more", "no more", None])
def test_a_copy_that_is_older_than_what_has_left_is_no_mere_copy(machine, tmp_path, has_left):
    """So nobody who put an old backup back is told to say that it has moved."""
    north = machine / "north"
    run_and_stop(machine, "north")
    fedbandits("party", "backup", north, tmp_path / "copy.db")
    (tmp_path / "copy.db").rename(north / "store.db")
    left = north / "store.left"
    if has_left == "more":
        left.write_text('{"spent": 0.0, "marks": {"hub": [3, "AAAA"]}}')
    elif has_left is None:
        left.unlink()
    said = fedbandits("party", "run", north, code=15 if has_left == "no more" else 14)
    assert ("--moved" in said) == (has_left == "no more")
    assert ("--restore" in said) == (has_left != "no more")
    assert "moved=True" not in said


def test_a_store_that_is_older_than_what_has_left_needs_a_word(machine):
    north = machine / "north"
    run_and_stop(machine, "north")
    (north / "store.left").write_text('{"spent": 0.0, "marks": {"hub": [3, "AAAA"]}}')
    told = fedbandits("party", "run", north, code=14)
    assert "store.left: knows of more than this store" in told
    assert "--restore" in told
    run_and_stop(machine, "north", restores=True)
    run_and_stop(machine, "north")  # what has left is written anew


def test_a_party_that_compiles_is_said_to_start(machine, monkeypatch):
    """Not to be away. Once it runs its door says more."""
    north, seen = machine / "north", []

    def look(*_):
        seen.append(is_starting(north))
        if len(seen) == 1:
            assert "north starts, and cannot" in fedbandits("party", "status", north, code=3)
        else:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(party_process, "_compile", look)
    monkeypatch.setattr(party_process, "look_at_what_is_new", look)
    party_process.run_party(north)
    assert seen == [True, False]
    assert "north does not run" in fedbandits("party", "status", north, code=3)


def test_who_was_killed_while_it_compiled_does_not_start(machine):
    north = load_party(machine / "north")
    with says_it_starts(north.path):
        assert is_starting(north.path)
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        (north.path / "starting.json").write_text(f'{{"pid": {ended.pid}, "since": {time.time()}}}')
        assert not is_starting(north.path)
        (north.path / "starting.json").write_text("{")
        assert not is_starting(north.path)
    assert not (north.path / "starting.json").exists()


def test_a_model_is_handed_out(machine, tmp_path):
    """As of the newest saved state; who has none says so."""
    assert "there is no store yet" in fedbandits(
        "party", "export", machine / "north", tmp_path / "north.npz", code=18
    )
    run_and_stop(machine, "north", "hub")
    fedbandits("party", "export", machine / "north", tmp_path / "north.npz")
    assert load_model(tmp_path / "north.npz").learned.estimate.shape == (1, 3)
    fedbandits("party", "export", machine / "hub", tmp_path / "hub.npz", code=2)


def test_a_member_is_admitted_from_another_folder(machine, tmp_path):
    """Keys are made where the party lives; what goes to the authority holds none of them."""
    elsewhere = tmp_path / "elsewhere"
    file = tmp_path / "clinics.toml"
    fedbandits("federation", "init", file, "--out", tmp_path / "office")
    made = fedbandits("party", "create", "south", "--federation", file, "--out", elsewhere)
    request = elsewhere / "south" / "request.json"
    assert b"PRIVATE" not in request.read_bytes()
    said = fedbandits("federation", "admit", tmp_path / "office", request)
    assert "admission-south.json" in said
    (told,) = re.findall(r"The fingerprint of its keys is ([-0-9a-f]+): say it in a call", made)
    assert f"The keys of south have the fingerprint {told}:" in said
    admission = tmp_path / "office" / "authority" / "admission-south.json"
    wrong = fedbandits(
        "party", "admit", elsewhere / "south", admission, "--authority", "12-34", code=10
    )
    assert "12-34" in wrong
    assert "Admitted; members: south" in fedbandits(
        "party", "admit", elsewhere / "south", admission
    )
    users = json.loads((tmp_path / "office" / "broker" / "nats.conf").read_text())
    assert {"south.v1", "authority"} == {u["user"] for u in users["authorization"]["users"]}
    assert load_parties(elsewhere)[0].member == "south"


def test_every_preset_with_parties_has_an_example():
    """It is read as it is, and its parties are rehearsed."""
    found = set()
    for preset in preset_names():
        try:
            text = example(preset)
        except ConfigError:  # it has no parties
            continue
        federation = read_federation(text)
        found.add(federation.system.name)
        assert own_example(federation, federation.everybody[0]).keys() <= {"costs"}
    assert {"feducb", "feducb_p2p", "fclub", "fclub_published", "pfcb", "samba"} <= found
    assert warm(read_federation(example("feducb")), {}) >= 0


def test_every_code_stands_for_one_kind_of_error():
    for ending in ENDINGS:
        assert code_of(ending.error("")) == ending.code
    assert code_of(StaleStoreError("")) == 14
    assert code_of(ConfigError("")) == 2


@pytest.mark.parametrize("preset", ["distributed-ucb", "samba-silent-ucb"])
def test_a_customer_orders_a_run_and_learns_its_total(preset, tmp_path):
    """Nothing begins before that; who is no customer orders nothing."""
    text = example(preset).replace("rounds = 1000", "rounds = 5")
    (tmp_path / "auction.toml").write_text(text.replace("100 ms", "20 ms"))
    machine = tmp_path / "auction"
    init_federation(tmp_path / "auction.toml", machine, local=True, first_port=0)
    members = load_parties(machine)[0].federation.everybody
    said, earned = [], []

    async def pull(party):
        while True:
            number = await party.node.next_pull(60.0)
            if number is not None:
                earned.append(number % 2)
                await party.node.pull(number, number % 2)
                with pytest.raises(DuplicateRewardError, match=f"pull {number} was told before"):
                    await party.node.pull(number, 1 - number % 2)

    async def play():
        parties = await started(machine, *members)
        await until(lambda: all(party.node.ready for party in parties))
        by_name = {party.folder.member: party for party in parties}
        assert by_name["customer"].node.status()["stage"] == ""
        with pytest.raises(ConfigError, match="role is controller"):
            order(machine / "controller", said.append)
        pulls = [asyncio.create_task(pull(by_name[name])) for name in ("north", "south", "east")]
        total = await asyncio.to_thread(order, machine / "customer", said.append)
        for each in pulls:
            each.cancel()
        results = await asyncio.gather(*pulls, return_exceptions=True)
        assert {type(result) for result in results} == {asyncio.CancelledError}
        with pytest.raises(LateRewardError, match="the run has ended"):
            await by_name["north"].node.pull(99, 1)
        for party in parties:
            await party.stop()
        return total

    assert asyncio.run(play()) == sum(earned)
    assert len(earned) == 5
    assert "done" in said[-1]
    assert "total: " in fedbandits("samba", "order", machine / "customer")


def test_a_federation_whose_rounds_are_over_is_not_made(tmp_path):
    file = clinics_file(tmp_path, every="1 min", start="2020-01-01T00:00:00Z")
    said = fedbandits("federation", "init", file, "--out", tmp_path / "clinics", code=2)
    assert "clock.start: all 1,000 rounds were over on 2020-01-01 16:40 UTC" in said
    assert not (tmp_path / "clinics").exists()


@pytest.mark.parametrize(
    ("given", "changed", "said"),
    [
        (
            'name = "clinics"', 'name = "w ard"',
            "name: given 'w ard', allowed: up to 64 letters without accents, digits, _ and -",
        ),
        (
            'message_time = "1 s"', 'message_time = "2 h"',
            "message_time: given 7200 s, allowed: at most clock.every, 3600 s",
        ),
    ],
)  # fmt: skip
def test_what_no_federation_can_have_is_refused_with_what_is_allowed(
    given, changed, said, tmp_path
):
    file = clinics_file(tmp_path)
    text = file.read_text()
    assert given in text
    file.write_text(text.replace(given, changed))
    assert said in fedbandits("federation", "init", file, "--out", tmp_path / "made", code=2)
    assert not (tmp_path / "made").exists()


def test_beats_may_be_shorter_than_messages_take(tmp_path):
    (tmp_path / "auction.toml").write_text(example("distributed-ucb"))
    init_federation(tmp_path / "auction.toml", tmp_path / "auction", local=False)


def test_a_start_that_is_far_off_is_told_of_when_a_federation_is_made(tmp_path, capsys):
    for year, told in ((2126, True), (None, False)):
        more = {} if year is None else {"start": f"{year}-01-01T00:00:00Z"}
        init(clinics_file(tmp_path, **more), tmp_path / f"clinics-{year}", first_port=0)
        found = "begins on 2126-01-01 00:00 UTC, in more than a year" in capsys.readouterr().err
        assert found == told


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        ("2026-11-25", "2026-11-25"), ("13:00:00", "13:00:00"), ("1795612995", "1795612995"),
        ('"tomorrow"', "'tomorrow'"), ("2026-11-25T13:00:00", "2026-11-25T13:00:00"),
    ],
)  # fmt: skip
def test_a_start_that_is_no_instant_is_refused_in_plain_words(tmp_path, start, shown):
    file = clinics_file(tmp_path, start="2030-01-01T00:00:00Z")
    file.write_text(file.read_text().replace("2030-01-01T00:00:00Z", start))
    said = fedbandits("federation", "init", file, "--out", tmp_path / "clinics", code=2)
    allowed = "allowed: a time with its zone, such as 2030-01-31T08:00:00Z"
    assert f"clock.start: given {shown}, {allowed}" in " ".join(said.split())


def test_a_large_delta_is_told_of_when_a_federation_is_made(tmp_path, capsys):
    file = clinics_file(tmp_path)
    file.write_text(file.read_text().replace("delta = 1e-5", "delta = 0.5"))
    init(file, tmp_path / "clinics", first_port=0)
    assert "warning: system.delta: given 0.5" in capsys.readouterr().err


def test_word_of_a_start_holds_up_nothing(tmp_path):
    """Neither a party where it cannot be left, nor whoever looks when a clock was put back."""
    file = tmp_path / "starting.json"
    file.mkdir()
    with says_it_starts(tmp_path):
        assert not is_starting(tmp_path)
    file.rmdir()
    for since in (time.time() + 3600.0, 9e99, time.time() - 3600.0):
        file.write_text(json.dumps({"pid": os.getpid(), "since": since}))
        assert not is_starting(tmp_path)
    with says_it_starts(tmp_path):
        other = json.dumps({"pid": os.getppid(), "since": time.time()})
        file.write_text(other)  # a second start, which will be refused
    assert file.read_text() == other


def test_a_party_that_the_first_file_does_not_name_comes_last():
    class Seen(NamedTuple):
        member: str

    parties = [Seen("sud"), Seen("east"), Seen("north")]
    assert [each.member for each in in_order(parties, ("north", "south", "east"))] == [
        "north", "east", "sud"
    ]  # fmt: skip
