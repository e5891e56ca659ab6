"""Who sees what in a silent run, by every key that can be found; faults show in the table."""

from __future__ import annotations

import copy

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Bernoulli
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.audit.adversary import OBSERVER, ONE_OWNER, Exposure, SilentAdversary
from fedbandits.systems.samba.audit.attack import guess_by_winner
from fedbandits.systems.samba.audit.examination import (
    ALLOWED,
    LISTENERS,
    OTHERS,
    OWN,
    PULLED,
    REWARD,
    SILENT_COALITIONS,
    SILENT_PARTICIPANTS,
    SINGLE,
    examine,
    security_table,
    silent_excess,
)
from fedbandits.systems.samba.audit.views import Opened
from fedbandits.systems.samba.ciphers import DOWN, TO_FIRST, TO_SECOND, TOTAL, UP, Line, write_word
from fedbandits.systems.samba.keys import PadKeys, SimulatedSecrets, make_keys, owners_secret
from fedbandits.systems.samba.messages import Answer, Word
from fedbandits.systems.samba.roles import comp, controller, members, owner
from fedbandits.systems.samba.streams import Pads
from fedbandits.testing.replicates import plan_of
from tests.systems.samba_worlds import federated, silent

SECRETS = SimulatedSecrets.derive(0, 0)


@pytest.fixture(scope="module")
def run():
    played = federated(silent("ucb"), 4, 16)
    played.advance(16)
    return played


@pytest.mark.parametrize("total", ["shares", "paillier"])
@pytest.mark.parametrize("algorithm", ["egreedy", "pursuit"])
def test_servers_and_dealer_see_nothing(algorithm, total):
    played = federated(silent(algorithm, total=total), 3, 12)
    played.advance(12)
    table = security_table(played, SECRETS)
    assert list(silent_excess(table, total)) == []
    for datum, row in table.items():
        for server in ("comp", "controller", "dealer"):
            passes_on = (total, server, datum) == ("paillier", "controller", REWARD)
            assert row[server] is (Exposure.ENCRYPTED if passes_on else Exposure.NOT_SEEN)
        assert row[ONE_OWNER] is ALLOWED[datum].get(ONE_OWNER, row[ONE_OWNER])
    assert table[REWARD]["customer"] is Exposure.CLEAR
    assert {datum: row[OBSERVER] for datum, row in table.items()} == {
        REWARD: Exposure.ENCRYPTED, OWN: Exposure.ENCRYPTED, OTHERS: Exposure.ENCRYPTED,
        PULLED: Exposure.ENCRYPTED, SINGLE: Exposure.NOT_SEEN,
    }  # fmt: skip


def test_what_those_see_who_pool_is_what_the_page_says(run):
    table = security_table(run, SECRETS, SILENT_COALITIONS)
    for pair in ("Comp and Controller", "dealer and Controller", "dealer and Comp"):
        assert {row[pair] for row in table.values()} == {Exposure.CLEAR}
    for pair in ("Controller and data owner i", "Comp and data owner i"):
        assert table[OTHERS][pair] is Exposure.NOT_SEEN
        assert table[REWARD][pair] is Exposure.NOT_SEEN
        assert table[OWN][pair] is table[PULLED][pair] is Exposure.CLEAR


def changed(run, change):
    """The same run with other messages in its transcript."""
    other = copy.copy(run)
    other.network = copy.copy(run.network)
    transcript = copy.copy(run.network.transcript)
    transcript.deliveries = [(at, change(m)) for at, m in run.network.transcript.deliveries]
    other.network.transcript = transcript
    return other


def test_answers_that_are_not_sealed_show_the_winner_to_comp(run):
    """Of whoever listens: Comp takes the pads off, an observer cannot."""
    agreed = run.one("controller").agreement

    def unsealed(message):
        if not isinstance(message, Answer):
            return message
        secret = owners_secret(SECRETS.pads, "pads", message.receiver)
        pads = Pads(make_keys(PadKeys, secret, agreed).answers, agreed)
        word = int(pads.draw(message.step, message.iteration)) + (message.receiver == ONE_OWNER)
        return msgspec.structs.replace(message, sealed=write_word(word))

    bad = changed(run, unsealed)
    assert SilentAdversary(bad, SECRETS, "comp", OBSERVER).pulls() is Exposure.CLEAR
    assert SilentAdversary(bad, SECRETS, OBSERVER).pulls() is Exposure.NOT_SEEN
    assert SilentAdversary(run, SECRETS, "comp", OBSERVER).pulls() is Exposure.ENCRYPTED


def test_words_that_are_not_sealed_show_scores_to_comp(run):
    bad = changed(
        run,
        lambda m: msgspec.structs.replace(m, sealed=bytes(8)) if isinstance(m, Word) else m,
    )
    eye = SilentAdversary(bad, SECRETS, "comp", OBSERVER)
    assert eye.statistics([1]) is Exposure.CLEAR
    assert SilentAdversary(bad, SECRETS, OBSERVER).statistics([1]) is not Exposure.CLEAR


@pytest.mark.parametrize(
    ("directions", "found"),
    [
        ({UP}, {("comp", REWARD), ("comp", OWN), ("comp", OTHERS), ("comp", PULLED),
                ("comp", SINGLE)}),
        ({DOWN}, {("comp", PULLED)}),
        ({TO_SECOND, TO_FIRST}, {("dealer", OWN), ("dealer", OTHERS), ("dealer", PULLED),
                                 ("dealer", REWARD), ("dealer", SINGLE)}),
        ({TOTAL}, {(who, REWARD) for who in ("comp", "controller", "dealer", ONE_OWNER)}),
    ],
)  # fmt: skip
def test_parties_that_do_not_seal_are_found(directions, found, monkeypatch):
    """Alone no party sees more then; whoever hears all messages does."""

    def line(cipher, key, direction):
        return Line("none" if direction in directions else cipher, key, direction)

    for role in (owner, comp, controller, members):
        monkeypatch.setattr(role, "Line", line)
    played = federated(silent("ucb"), 3, 12)
    played.advance(12)
    alone = silent_excess(security_table(played, SECRETS), "shares")
    assert {who for _, who, _ in alone} == ({OBSERVER} if directions == {TOTAL} else set())
    excess = silent_excess(security_table(played, SECRETS, LISTENERS), "shares", hears=True)
    assert {(who, datum) for datum, who, _ in excess} == found


def test_who_hears_all_messages_sees_no_more(run):
    heard = security_table(run, SECRETS, LISTENERS)
    assert list(silent_excess(heard, "shares", hears=True)) == []


@pytest.mark.parametrize(
    ("who", "secret", "datum"),
    [
        ("controller", "pads", PULLED), ("controller", "second", OTHERS),
        ("comp", "first", OTHERS), ("owner-0", "pads", None),
    ],
)  # fmt: skip
def test_a_key_too_many_shows(run, who, secret, datum):
    """A server with the other one's secret reads all; an owner hears no other owner's packets."""
    party = run.network.parties[who]
    party.extra = getattr(SECRETS, secret)
    try:
        table = security_table(run, SECRETS)
    finally:
        del party.extra
    found = [(each, participant) for each, participant, _ in silent_excess(table, "shares")]
    assert ((datum, who) in found) == (datum is not None)


def test_a_server_that_knows_the_order_guesses_every_arm(run):
    pulled = {step: arm for step, arm, _ in run.stage.pulled if step > 4}
    none = np.empty((1, 0), np.uint64)

    def opened(place):
        return Opened(None, (), np.array([7]), np.array([place]), np.array([7]), none, none)

    known = [opened(pulled[step]) for step in sorted(pulled)]
    hits = guess_by_winner(run, known)
    assert hits.right == hits.of == len(known) - len(known) // 2
    assert guess_by_winner(run, [opened(9)] * len(known)).right == 0


@pytest.mark.parametrize(("algorithm", "parts"), [("egreedy", {}), ("ucb", {"cipher": "stream"})])
def test_an_audit_of_a_silent_variant_finds_nothing(algorithm, parts):
    plan = plan_of(silent(algorithm, **parts), Bernoulli(arms=5), 200)
    found = examine(SYSTEM, plan, scale=0.05)
    assert found.broken(0.99) == ()
    assert found.participants == tuple(SILENT_PARTICIPANTS.values())
    assert {guess.who for guess in found.guesses} == {"Controller", "Comp", "external observer"}
