"""Recordings of small runs: what they show is what happened, and no more than anybody can see."""

from __future__ import annotations

import functools
import json
import re

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.messages import OtherTermsError
from fedbandits.parties import record
from fedbandits.recording import record as recorder
from fedbandits.recording.record import LISTENER, Recorder, fields_of
from fedbandits.studio.steps import record_steps, steppable
from fedbandits.systems import find_preset, find_system
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.guide import Guide
from fedbandits.systems.samba.audit.examination import (
    OTHERS,
    OWN,
    PARTICIPANTS,
    PULLED,
    REWARD,
    security_table,
)
from fedbandits.systems.samba.keys import COMP, CONTROLLER, CUSTOMER
from fedbandits.testing.worlds import small_world

#: Presets of all systems, and rounds in which each has released something.
PRESETS = {
    "feducb": 12, "feducb-published": 12, "feducb-secure": 12, "feducb-p2p": 12,
    "fedlinucb-async": 12, "fclub": 60, "fclub-published": 20, "samba-ucb": 16,
    "samba-pursuit": 12, "samba-silent-ucb": 10, "pfcb": 20, "pfcb-secure": 20,
}  # fmt: skip
SAMBA = {"preset": "samba-ucb", "parties": 4, "rounds": 20}
PROTECTIONS = ("encryption", "permutation", "mask", "paillier")
OBSERVER = "external observer"
OUTSIDE = ("Controller", OBSERVER)
SERVERS = ("Comp", *OUTSIDE)
SUMS = (OWN, OTHERS)
#: What each protection of SAMBA hides: cells of the table, and what they are without it.
HIDDEN = {
    "encryption": {(datum, who): "clear" for datum in (REWARD, *SUMS, PULLED) for who in OUTSIDE},
    "permutation": {**{(datum, "Comp"): "masked" for datum in SUMS}, (PULLED, "Comp"): "clear"},
    "mask": {(datum, "Comp"): "permuted" for datum in SUMS},
    "paillier": {(datum, who): "clear" for datum in (REWARD, *SUMS) for who in OUTSIDE},
}
#: The datum that a message of SAMBA is about.
ABOUT = {
    "Score": OTHERS, "ScoreList": OTHERS, "BitList": PULLED, "Bit": PULLED, "Sum": OTHERS,
    "Total": REWARD,
}  # fmt: skip
NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
COLUMNS = {**PARTICIPANTS, LISTENER: OBSERVER}


@functools.cache
def told(off=(), **job):
    return record_steps({**SAMBA, "off": list(off), **job})


@functools.cache
def watched(preset):
    """A preset's parties, played in a small world, and their recorder."""
    found = find_preset(preset)
    settings = {"paillier_bits": 2048} if found.name == "samba" else {}
    world = small_world(found)
    plan = found.plan(fb.system(preset, **settings).config, world.facts, PRESETS[preset])
    watcher = Recorder(found.guide(plan), found.roles(plan).codec)
    run = PartiesReplicate(found, plan, world, 0, 0, watch=watcher)
    run.advance(plan.rounds)
    return run, watcher


def cells(recording):
    """The table of who sees what, by datum and participant."""
    who, rows = recording["sight"]["who"], recording["sight"]["rows"]
    return {
        (row[0], name): cell for row in rows for name, cell in zip(who, row[1:], strict=True)
    }  # fmt: skip


def readings(recording):
    """All readings: the step, who reads, and what."""
    return [(step, each["who"], each["text"]) for step in recording["steps"]
            for each in step["reads"]]  # fmt: skip


def without_randomness(value):
    """A recording without encrypted bytes, which are fresh whatever the seed is."""
    if isinstance(value, dict):
        return {key: without_randomness(each) for key, each in value.items() if key != "hex"}
    return (
        [without_randomness(each) for each in value] if isinstance(value, list | tuple) else value
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_changes_lead_to_the_final_state(preset):
    run, watcher = watched(preset)
    states = {party.name: dict(party.first) for party in watcher.parties}
    for step in watcher.steps:
        assert step.changed.keys() <= states[step.party].keys()
        assert step.was == states[step.party]["stage"]
        states[step.party] |= step.changed
    assert states == {party.name: fields_of(party.state) for party in run.parties}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_recording_has_every_message_and_every_outcome(preset):
    run, watcher = watched(preset)
    received = [step for step in watcher.steps if step.message is not None]
    assert len(received) == run.network.transcript.messages.total()
    assert all(step.reads and step.message.receiver == step.party for step in received)
    sent = [message for step in watcher.steps for message in step.sent]
    key = lambda m: json.dumps(msgspec.to_builtins(m), sort_keys=True)  # noqa: E731
    assert sorted(map(key, sent)) == sorted(key(step.message) for step in received)
    assert all(step.pulls == (step.event == "Observe") for step in watcher.steps)
    assert any(step.releases for step in watcher.steps)
    assert all(re.match(r"[\w-]+ .*\.$", step.sentence) for step in watcher.steps)


@pytest.mark.parametrize("preset", ["feducb", "samba-ucb", "pfcb", "fclub"])
def test_a_watched_run_is_the_same_run(preset):
    run, _ = watched(preset)
    plan, system = run.plan, find_preset(preset)
    alone = PartiesReplicate(system, plan, small_world(system), 0, 0)
    alone.advance(plan.rounds)
    assert alone.reward.tolist() == run.reward.tolist()
    assert alone.regret.tolist() == run.regret.tolist()
    assert alone.network.transcript.messages == run.network.transcript.messages


def test_a_watcher_hides_no_key_and_shows_none():
    run, _ = watched("samba-ucb")
    system = find_system("samba")
    alone = PartiesReplicate(system, run.plan, small_world(system), 0, 0)
    alone.advance(run.plan.rounds)
    assert security_table(run) == security_table(alone)


@pytest.mark.parametrize("job", [{}, {"preset": "feducb"}, {"preset": "fclub-published"}])
def test_one_seed_makes_one_recording(job):
    first, second = (record_steps({**SAMBA, **job}) for _ in range(2))
    assert without_randomness(first) == without_randomness(second)
    other = record_steps({**SAMBA, **job, "seed": 1})
    assert without_randomness(first)["steps"] != without_randomness(other)["steps"]


def test_rounds_are_numbered():
    recording = told()
    rounds = [step["round"] for step in recording["steps"]]
    assert rounds[0] is None  # the customer's order
    assert rounds[1:] == sorted(rounds[1:])
    assert rounds[-1] == SAMBA["rounds"]


@pytest.mark.parametrize("off", [(), *((name,) for name in PROTECTIONS), PROTECTIONS])
def test_a_reading_says_what_the_table_says(off):
    table, open_to = cells(told(off)), set()
    for step, who, text in readings(told(off)):
        datum = ABOUT.get(step["event"])
        if datum is None or who.startswith("owner"):
            continue
        cell = table[datum, COLUMNS[who]]
        if not re.search(r"no key opens|key alone decrypts", text):
            assert cell not in ("encrypted", "not seen"), text
            open_to.add((datum, COLUMNS[who]))
        if "permuted" in cell:
            assert "owner-" not in text
            assert "owner i" not in text
        if cell.startswith("masked"):
            assert "Comp does not know" in text
    # Whoever sees something reads it in some message; but Comp has chosen the place itself, and the
    # cumulative reward follows from the sums of all owners.
    seen = {cell for cell, sight in table.items() if sight not in ("encrypted", "not seen")}
    read = {(datum, who) for datum, who in seen if datum in ABOUT.values() and who in SERVERS}
    assert read - open_to <= {(PULLED, "Comp"), *((REWARD, who) for who in SERVERS)}


@pytest.mark.parametrize("off", [(), ("paillier",), ("permutation",), ("mask",)])
def test_what_is_sealed_does_not_show_to_who_lacks_the_key(off):
    """Scores that Comp opens, and bits, are in no reading of the Controller or of a listener."""
    recording = told(off)
    for step, who, text in readings(recording):
        if step["event"] in ("Score", "ScoreList", "BitList", "Bit") and who in (
            CONTROLLER,
            LISTENER,
        ):
            seen = set(re.findall(r"\d[\d.e+-]*", text.split("its next place")[0]))
            message = step["message"]["fields"]["sealed"]
            packets = message if isinstance(message, list) else [message]
            sizes = {str(packet["bytes"]) for packet in packets} | {str(len(packets))}
            assert seen <= sizes | {str(owner) for owner in range(4)}, text


def test_an_owner_reads_its_own_bit_and_the_customer_the_total():
    recording = told()
    pulled = [step["party"] for step in recording["steps"] if step["pulls"]][4:]
    read = [who for step, who, text in readings(recording)
            if step["event"] == "Bit" and "Its bit is 1: pull." in text]  # fmt: skip
    assert read == pulled
    earned = sum(step["told"] for step in recording["steps"] if step["pulls"])
    (total,) = [text for step, who, text in readings(recording)
                if step["event"] == "Total" and who == CUSTOMER]  # fmt: skip
    assert total == f"The cumulative reward is {earned:.0f}."


def test_comp_reads_ratios_of_scores_and_without_masks_the_scores():
    def scores(off):
        return [
            np.array(re.search(r": (\S+(?:, \S+)*)\. ", text)[1].split(", "), float)
            for step, who, text in readings(told(off))
            if step["event"] == "ScoreList" and who == COMP
        ]

    masked, bare = scores(()), scores(("mask",))
    assert len(masked) == len(bare) == 16
    for one, other in zip(masked, bare, strict=True):
        assert one / one.sum() == pytest.approx(other / other.sum(), rel=1e-4)
    assert bare[0].max() == pytest.approx(1.0 + np.sqrt(2 * np.log(5)), rel=1e-4)


def test_a_score_in_clear_is_unmasked_by_who_handed_out_the_masks():
    """The Controller knows αₜ. Without encryption it has what Comp reads without masks, by name."""
    pattern = r"The score of owner-(\d), in clear: (\S+?)(?:, and αₜ = (\S+) is known)?\.$"
    found = {}
    for off in (("encryption",), ("encryption", "mask")):
        texts = [text for step, who, text in readings(told(off))
                 if step["event"] == "Score" and who == CONTROLLER]  # fmt: skip
        parts = [re.match(pattern, text).groups() for text in texts]
        found[off] = [(who, float(value) / float(mask or 1.0)) for who, value, mask in parts]
        assert all((mask is None) == ("mask" in off) for _, _, mask in parts)
    one, other = found.values()
    assert [who for who, _ in one] == [who for who, _ in other]
    assert [score for _, score in one] == pytest.approx([s for _, s in other], rel=1e-4)


def test_weakened_draws_are_what_the_parties_use():
    weak, plan, _ = weakened("samba-ucb", "mask", "permutation")
    run = PartiesReplicate(weak, plan, small_world(find_system("samba")), 0, 0)
    run.advance(9)
    draws = run.one("controller").draws
    assert draws.mask(5, 1) == 1.0
    assert draws.places(5, 1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("off", PROTECTIONS)
def test_a_protection_hides_what_it_says_and_nothing_else(off):
    usual, weak = cells(told()), cells(told((off,)))
    changed = {cell: sight for cell, sight in weak.items() if sight != usual[cell]}
    assert changed == HIDDEN[off]


def test_without_all_protections_servers_read_everything():
    table = cells(told(PROTECTIONS))
    assert {table[datum, "Comp"] for datum in SUMS} == {"clear"}
    assert table[REWARD, "Controller"] == "clear"


def test_the_attack_is_made_on_the_run_that_is_shown():
    for rounds in (20, 12):
        attack = told(rounds=rounds)["attack"]
        assert f"without names, before a comparison: {rounds - 4} of {rounds - 4}" in attack
    assert "from the winner's place" in record_steps(
        {"preset": "samba-silent-ucb", "parties": 3, "rounds": 8}
    )["attack"]  # fmt: skip


def test_servers_of_a_silent_run_read_shares():
    recording = record_steps({"preset": "samba-silent-ucb", "parties": 3, "rounds": 8})
    assert not {
        cells(recording)[datum, who] for datum in SUMS for who in ("Comp", "Controller")
    } - {"not seen"}
    shares = [text for step, who, text in readings(recording)
              if step["event"] == "Word" and who == CONTROLLER]  # fmt: skip
    assert len(set(shares)) == len(shares) == 3 * 5
    assert all("a random word" in text for text in shares)


def test_noise_hides_what_an_agent_knows():
    for off in ((), ("noise",)):
        recording = told(off, preset="feducb", rounds=3, parties=2)
        texts = [text for step, who, text in readings(recording) if step["event"] == "Upload"]
        assert all(("without noise" if off else "under noise") in text for text in texts)
        numbers = [float(n) for n in re.findall(r"-?\d+\.\d+", texts[0])]
        # Without noise the first sum is x xᵀ of one record: its trace is at most 1.
        assert (abs(numbers[0]) <= 1.0) == bool(off)


def test_masks_hide_what_one_member_sends():
    shown = {}
    for off in ((), ("masks",), ("masks", "noise")):
        recording = told(off, preset="feducb-secure", rounds=3, parties=3)
        shown[off] = [text for step, who, text in readings(recording)
                      if step["event"] == "Increment" and who == CONTROLLER]  # fmt: skip
        totals = {text for step, who, text in readings(recording) if step["event"] == "Total"}
        assert totals
    assert all("look uniform" in text for text in shown[()])
    assert all("under noise" in text for text in shown["masks",])
    assert all("without noise" in text for text in shown["masks", "noise"])


def test_bare_numbers_of_members_add_up_to_the_total():
    steps = told(("masks", "noise"), preset="feducb-secure", rounds=3, parties=3)["steps"]
    first = [step["reads"][0]["text"] for step in steps if step["event"] in ("Increment", "Total")]
    parts, (total, *_) = first[:3], first[3:]
    assert total.startswith("The sum of all members")
    sums = [np.array(NUMBERS.findall(text.partition(": ")[2]), float) for text in (*parts, total)]
    assert sum(sums[:3]) == pytest.approx(sums[3], abs=1e-4)
    assert abs(sums[3]).max() <= 3.0  # of three records that are no longer than 1


def test_a_copy_that_is_passed_on_is_no_release():
    steps = record_steps({"preset": "feducb-p2p", "parties": 5, "rounds": 8})["steps"]
    passed = [
        step for step in steps
        if step["sent"] and all(m["fields"]["origin"] != step["party"] for m in step["sent"])
    ]  # fmt: skip
    assert passed
    assert not any(step["releases"] for step in passed)
    assert any("passed on" in each["text"] for step in steps for each in step["reads"])


def test_masks_do_not_change_the_sums():
    with_masks, bare = (
        [step["message"]["fields"]["statistic"] for step in
         told(off, preset="feducb-secure", rounds=6, parties=3)["steps"]
         if step["event"] == "Total"]
        for off in ((), ("masks",))
    )  # fmt: skip
    assert with_masks == bare


def weakened(preset, *off):
    """A preset's system without some protections, its plan, and that of the system itself."""
    system = find_preset(preset)
    settings = {"paillier_bits": 2048} if system.name == "samba" else {}
    config, facts = fb.system(preset, **settings).config, small_world(system).facts
    plan = system.plan(config, facts, 9)
    weak = system.guide(plan).without(system, off)
    return weak, weak.plan(config, facts, 9), plan


def test_weakened_parties_cannot_be_deployed():
    weak, plan, _ = weakened("samba-ucb", "mask")
    with pytest.raises(LocalProtocolError, match="not to be deployed"):
        weak.supply(plan, "owner", 0, None)
    with pytest.raises(ConfigError, match="no system is called 'samba without mask'"):
        find_system(weak.name)
    with pytest.raises(ConfigError, match="off"):
        fb.system("samba-ucb", off=("mask",))
    assert weak.application(plan) is None
    assert not weak.presets


@pytest.mark.parametrize(
    ("preset", "off"),
    [("samba-ucb", "permutation"), ("feducb", "noise"), ("feducb-secure", "masks")],
)
def test_weakened_parties_are_refused_by_those_of_the_system(preset, off):
    weak, weak_plan, plan = weakened(preset, off)
    system, world = find_preset(preset), small_world(find_preset(preset))
    run = PartiesReplicate(weak, weak_plan, world, 0, 0)
    true = PartiesReplicate(system, plan, world, 0, 0)
    run.advance(9)
    assert run.epsilon == np.inf
    assert run.network.transcript.deliveries
    for _, message in run.network.transcript.deliveries:
        receipt = true.network.parties[message.receiver].receive(message)
        assert receipt.outcome == "refused"
        assert isinstance(receipt.why, OtherTermsError)


def test_weakened_plans_say_what_they_are_without():
    weak, plan, true = weakened("samba-ucb", "mask", "paillier")
    assert plan.config.off == ("mask", "paillier")
    assert type(true.config) is weak.config_type is not type(plan.config)
    assert weak.name == "samba without mask, paillier"


def test_long_recordings_are_cut(monkeypatch):
    whole = told()
    monkeypatch.setattr(recorder, "MOST_STEPS", 50)
    cut = record_steps(SAMBA)
    assert not whole["cut"]
    assert cut["cut"]
    assert without_randomness(cut["steps"]) == without_randomness(whole["steps"][:50])
    assert cells(cut) == cells(whole)  # it is played to its end all the same
    monkeypatch.setattr(recorder, "MOST_STEPS", 10**6)
    monkeypatch.setattr(recorder, "MOST_BYTES", 30_000)
    assert 20_000 < len(json.dumps(record_steps(SAMBA)["steps"])) < 40_000
    assert record_steps({**SAMBA, "preset": "feducb"})["cut"]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"parties": 1}, "parties: given 1, allowed: a whole number ≥ 2 and ≤ 60"),
        ({"parties": 61}, "parties: given 61, allowed: "),
        ({"rounds": 0}, "rounds: given 0, allowed: "),
        ({"rounds": "many"}, "rounds: given 'many', allowed: "),
        ({"parties": 60, "rounds": 201}, "rounds: given 201, allowed: 60 to 200 with 60 parties"),
        ({"rounds": 3}, "rounds: given 3, allowed: 4 to 3000 with 4 parties"),
        ({"preset": "sambaucb"}, "preset: given 'sambaucb', allowed: did you mean 'samba-ucb'?"),
        ({"preset": "plain-ucb"}, "preset: given 'plain-ucb', allowed: "),
        ({"off": ["noise"]}, "off: given noise, allowed: encryption, permutation, mask, paillier"),
        ({"preset": "linucb-alone", "off": ["noise"]}, "off: given noise, allowed: none, as"),
        ({"seed": -1}, "seed: given -1, allowed: "),
        ({"arms": 3}, "arms"),
    ],
)
def test_wrong_jobs_are_refused_by_their_key(job, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        record_steps({**SAMBA, **job})


def test_every_preset_with_parties_can_be_shown():
    found = {each["preset"]: each for each in steppable()}
    assert not [name for name in found if name.startswith("plain-")]
    assert set(PRESETS) <= set(found)
    assert [each["name"] for each in found["samba-ucb"]["protections"]] == list(PROTECTIONS)
    assert [each["name"] for each in found["feducb-secure"]["protections"]] == ["noise", "masks"]
    assert [each["name"] for each in found["fclub"]["protections"]] == ["noise"]
    assert found["linucb-alone"]["protections"] == []
    json.dumps(steppable())


def test_two_to_sixty_parties_act():
    for preset, role in (("samba-ucb", "owner"), ("fclub", "server"), ("feducb", "agent")):
        for parties in (2, 60):
            rounds = parties + 1 if preset == "samba-ucb" else 2
            recording = record_steps({"preset": preset, "parties": parties, "rounds": rounds})
            assert sum(each["role"] == role for each in recording["parties"]) == parties


def test_a_notebook_records_a_variant_in_its_own_world():
    world = fb.environments.Linear(agents=2, dim=3, arms=4)
    recording = record(fb.system("feducb", epsilon=2.0), world, 4)
    assert recording.preset == "feducb"
    assert recording.sight is None
    assert recording.attack is None
    for party in recording.parties:
        assert recording.state_of(party.name, 0) == party.first
        assert recording.state_of(party.name)["decisions" if party.role == "agent" else "stage"]
    assert recording != record("feducb", world, 4)  # of another ε
    with pytest.raises(ConfigError, match="a preset with parties"):
        record("plain-ucb", fb.environments.Bernoulli(arms=3), 9)


def test_a_system_without_a_guide_is_recorded_without_words():
    run, _ = watched("feducb")
    system = find_preset("feducb")
    watcher = Recorder(Guide(), system.roles(run.plan).codec)
    PartiesReplicate(system, run.plan, small_world(system), 0, 0, watch=watcher).advance(1)
    upload = next(step for step in watcher.steps if step.event == "Upload")
    assert upload.sentence.startswith("controller receives a Upload from agent-0")
    assert upload.reads == ()
