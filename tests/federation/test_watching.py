"""Whoever watches parties sees every event that changes one, once and in order, and no other."""

from __future__ import annotations

from collections import Counter

import pytest

import fedbandits as fb
from fedbandits.federation.messages import Message
from fedbandits.systems import find_preset
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.restored import MortalParty
from fedbandits.testing.worlds import small_world

ROUNDS = 20


class Notes:
    """Notes whom it meets, and what it sees."""

    def __init__(self):
        self.met, self.seen = [], []

    def meet(self, party):
        self.met.append((party.name, party.stage))

    def see(self, happened):
        party, before, event, answer, sent = happened
        self.seen.append((party.name, before.stage, party.stage, event, answer, list(sent)))


def watched(preset, **how):
    found, notes = find_preset(preset), Notes()
    world = small_world(found)
    config = fb.system(preset, **({"paillier_bits": 2048} if found.name == "samba" else {})).config
    plan = found.plan(config, world.facts, ROUNDS)
    run = PartiesReplicate(found, plan, world, 0, 0, watch=notes, **how)
    run.advance(ROUNDS)
    return run, notes


@pytest.mark.parametrize("preset", ["feducb", "samba-ucb", "fclub-published", "samba-silent-ucb"])
def test_everything_that_happens_is_seen_once(preset):
    run, notes = watched(preset)
    delivered = [message for _, message in run.network.transcript.deliveries]
    heard = [event for *_, event, _, _ in notes.seen if isinstance(event, Message)]
    assert Counter(map(repr, heard)) == Counter(map(repr, delivered))
    sent = [message for *_, messages in notes.seen for message in messages]
    assert Counter(map(repr, sent)) == Counter(map(repr, delivered))
    decided = sum(answer is not None for *_, answer, _ in notes.seen)
    assert decided == sum(player.decisions_made for player in run.players)


@pytest.mark.parametrize("preset", ["feducb", "samba-egreedy-printed", "samba-silent-ucb"])
def test_each_event_begins_where_the_one_before_it_ended(preset):
    run, notes = watched(preset)
    stages = dict(notes.met)
    assert list(stages) == [party.name for party in run.parties]
    for name, before, after, event, _, _ in notes.seen:
        assert before == stages[name]
        allowed = run.network.parties[name].TRANSITIONS[before, type(event)]
        assert after in allowed
        stages[name] = after
    assert stages == {party.name: party.stage for party in run.parties}


def test_what_is_refused_is_not_seen():
    run, notes = watched("feducb")
    count = len(notes.seen)
    party = run.one("controller")
    _, message = next(each for each in run.network.transcript.deliveries
                      if each[1].receiver == "controller")  # fmt: skip
    assert party.receive(message).outcome == "duplicate"
    assert party.receive_bytes(b"nonsense", message.sender).outcome == "refused"
    with pytest.raises(fb.parties.LocalProtocolError):
        run.players[0].end_round(ROUNDS + 7)
    assert len(notes.seen) == count


def test_parties_that_restart_are_watched_too():
    _, alive = watched("feducb")
    _, mortal = watched("feducb", embody=lambda make: MortalParty(make, Counter()))
    assert len(mortal.met) > len(alive.met)
    names = {name for name, _ in alive.met}
    for name in names:
        seen, again = (
            [type(event) for each, _, _, event, _, _ in notes.seen if each == name]
            for notes in (alive, mortal)
        )
        assert len(again) >= len(seen)


def test_a_notebook_watches_a_federation():
    notes = Notes()
    run = fb.parties.federate(
        fb.system("feducb").config, fb.environments.Linear(agents=2), 5, 0, 0, watch=notes
    )
    assert [name for name, _ in notes.met] == ["agent-0", "agent-1", "controller"]
    run.advance(1)
    assert {type(event).__name__ for *_, event, _, _ in notes.seen} >= {"Decide", "Observe"}
