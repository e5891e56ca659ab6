"""Who sees what, from transcripts; and that a party which sees too much is found."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from fedbandits.crypto.aead import TamperedPacketError
from fedbandits.crypto.keystream import derive_key
from fedbandits.environments import Bernoulli
from fedbandits.random import Key
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.audit import examination
from fedbandits.systems.samba.audit.adversary import OBSERVER, Exposure
from fedbandits.systems.samba.audit.attack import (
    comp_observations,
    count_recovered,
    keys_of_party,
    recover_statistics,
)
from fedbandits.systems.samba.audit.examination import (
    COALITIONS,
    FIGURE_7,
    OTHERS,
    PARTICIPANTS,
    REWARD,
    security_table,
)
from fedbandits.systems.samba.ciphers import channel_cipher
from fedbandits.systems.samba.config import UCB
from fedbandits.systems.samba.kernels import Batch
from fedbandits.systems.samba.keys import (
    COMP,
    CONTROLLER,
    CUSTOMER,
    CompKeys,
    ControllerKeys,
    OwnersKeys,
    SimulatedSecrets,
    make_keys,
    owner_key,
)
from fedbandits.systems.samba.messages import Score, Setup
from fedbandits.systems.samba.plan import Comparing, agree
from fedbandits.systems.samba.streams import Streams
from fedbandits.testing.replicates import plan_of
from tests.systems.samba_worlds import ALGORITHMS, customer_key, federated, variant

PUBLISHED = Comparing("published", 4, "paillier")


def played(config, arms=4, budget=30, seed=0) -> PartiesReplicate:
    run = federated(config, arms, budget, seed)
    run.advance(budget)
    return run


def markdown(table, columns):
    """A table as it stands in the docs."""
    lines = ["| | " + " | ".join(columns.values()) + " |", "| --- |" + " --- |" * len(columns)]
    for datum, row in table.items():
        lines.append(f"| {datum} | " + " | ".join(row[name].text for name in columns) + " |")
    return "\n".join(lines)


def excess(run, algorithm="ucb"):
    """Cells in which somebody sees more than the paper's table allows."""
    return list(examination.excess(security_table(run), variant(algorithm).algorithm.rule()))


@pytest.mark.parametrize("cipher", ["aes-gcm", "stream"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nobody_sees_more_than_the_paper_allows(algorithm, cipher):
    assert excess(played(variant(algorithm, cipher=cipher)), algorithm) == []


def test_the_table_is_exactly_the_papers():
    for datum, row in security_table(played(variant("ucb"))).items():
        for participant, sight in row.items():
            assert sight == FIGURE_7[datum].get(participant, Exposure.NOT_SEEN), (
                datum,
                participant,
            )


def test_the_table_in_the_docs_is_the_generated_one():
    page = pathlib.Path(__file__).parents[2] / "docs" / "samba.md"
    run, text = played(variant("ucb")), page.read_text(encoding="utf-8")
    assert markdown(security_table(run), PARTICIPANTS) in text
    together = {title: title for title in COALITIONS.values()}
    assert markdown(security_table(run, who=COALITIONS), together) in text


def leak_channel_key(monkeypatch):
    run = federated(variant("ucb"), 4, 30)
    run.one("controller")._extra = run.one("comp")._supply.secrets["channel"]
    return run


def leak_mask_key(monkeypatch):
    run = federated(variant("ucb"), 4, 30)
    run.one("comp")._extra = [run.one("controller").draws.keys.masks]
    return run


def leak_controller_secret(monkeypatch):
    run = federated(variant("ucb"), 4, 30)
    run.one("comp")._extra = {"secret": run.one("controller").draws.keys.places}
    return run


def leak_private_key(monkeypatch):
    run = federated(variant("ucb"), 4, 30)
    run.of("owner")[0]._extra = customer_key()
    run.one("controller")._extra = customer_key()
    return run


def weakened(*off):
    """A run without some protections, as the page that shows runs step by step plays it."""
    config, facts = variant("ucb"), Bernoulli(arms=4).facts
    weak = SYSTEM.guide(SYSTEM.plan(config, facts, 30)).without(SYSTEM, off)
    return PartiesReplicate(weak, weak.plan(config, facts, 30), Bernoulli(arms=4), 0, 0)


def no_permutation(monkeypatch):
    return weakened("permutation")


def no_mask(monkeypatch):
    return weakened("mask")


def masks_of_one_bit(monkeypatch):
    monkeypatch.setattr(
        "fedbandits.systems.samba.streams.Masks.draw", lambda _, step, iteration: 2.0 ** (step % 7)
    )
    return federated(variant("ucb"), 4, 30)


def comp_keeps_a_setup(monkeypatch):
    run = federated(variant("ucb"), 4, 30)
    keys = run.one("controller").draws.keys
    run.one("comp")._extra = Setup(
        sender="a", receiver="b", run=bytes(16), budget=1, arms=1, algorithm=UCB(), public_key=b"",
        mask_key=keys.masks, exploration_key=keys.exploration, place=0,
    )  # fmt: skip
    return run


def no_encryption(monkeypatch):
    return weakened("encryption")


def sums_in_clear(monkeypatch):
    return weakened("paillier")


LEAKS = (
    leak_channel_key, leak_mask_key, leak_controller_secret, leak_private_key, no_permutation,
    no_mask, masks_of_one_bit, comp_keeps_a_setup, no_encryption, sums_in_clear,
)  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_a_leak_is_found(leak, monkeypatch):
    run = leak(monkeypatch)
    run.advance(30)
    assert excess(run)


def test_distributed_runs_show_everything_but_permutations_to_comp():
    seen = security_table(played(variant("ucb", "distributed")))
    assert seen[REWARD][CONTROLLER] is Exposure.CLEAR
    assert seen[OTHERS][OBSERVER] is Exposure.CLEAR


def test_parties_hold_their_own_keys_and_no_others():
    run = played(variant("ucb"))
    of_comp = run.one("comp")._supply.secrets
    channel, masks = of_comp["channel"], run.one("controller").draws.keys.masks
    places, waits = run.one("controller").draws.keys.places, of_comp["comp"]
    held = {party.name: keys_of_party(party)[0] for party in run.network.parties.values()}
    assert channel not in held[CONTROLLER] | held[CUSTOMER]
    assert masks not in held[COMP] | held[CUSTOMER]
    assert waits in held[COMP]
    for name in held:
        assert (places in held[name]) == (name == CONTROLLER)
        assert name == COMP or waits not in held[name]
        assert bool(keys_of_party(run.network.parties[name])[1]) == (name == CUSTOMER)


def secrets_of(run):
    """Every secret of a run, by name, and whose state may hold it: an owner was given two."""
    simulated, agreed = SimulatedSecrets.derive(0, 0), run.one("controller").agreement
    keys = run.one("controller").draws.keys
    own = make_keys(CompKeys, simulated.comp, agreed)
    secret = {
        "owners' and Comp's": simulated.channel,
        "packets": derive_key(simulated.channel, f"samba {agreed.context.hex()}"),
        "Controller's": simulated.controller, "Comp's": simulated.comp,
        **{f"Controller's {name}": key for name, key in keys._asdict().items()},
        **{f"Comp's {name}": key for name, key in own._asdict().items()},
    }  # fmt: skip
    for prime in (customer_key().p, customer_key().q):
        for order in ("big", "little"):
            secret[f"prime {prime % 97} {order}"] = prime.to_bytes(128, order)
        secret[f"prime {prime % 97} in words"] = str(prime).encode()
    return secret, {keys.masks, keys.exploration}


@pytest.mark.parametrize("parts", [{}, {"exploration_shortcut": "published"}])
def test_no_dump_holds_a_key_that_its_party_was_not_given(parts):
    run = federated(variant("egreedy", algorithm="epsilon-greedy(0.5)", **parts), 4, 12)
    secret, given = secrets_of(run)
    found, dumps = set(), 0
    while run.network.deliver() or run.run._act_as_told() or run.run._end_rounds():
        for party in run.parties:
            dump, role = party.dump(), party.role
            held = {name for name, key in secret.items() if key in dump}
            found |= {(role, name) for name in held}
            assert keys_of_party([party.state])[0] <= given
            assert keys_of_party([party.state])[1] == []
            dumps += 1
    assert found == {("owner", "Controller's masks"), ("owner", "Controller's exploration")}
    assert dumps > 400
    assert {party.stage for party in run.parties} == {"done"}


def test_a_restarted_party_is_given_the_same_secrets():
    config = variant("ucb")
    supplies = SYSTEM.simulated_supplies(plan_of(config, Bernoulli(arms=3), 9), None, 0, 0)
    for role, places in ((CUSTOMER, 1), (CONTROLLER, 1), (COMP, 1), ("owner", 3)):
        for place in range(places):
            assert supplies(role, place) == supplies(role, place)
    assert supplies(CUSTOMER, 0).private_key is supplies(CUSTOMER, 0).private_key
    assert supplies("owner", 0) != supplies("owner", 1)


def test_runs_and_agreements_have_keys_of_their_own():
    """Otherwise a second order would use every nonce again."""
    base = (9, 3, UCB(), bytes(16), PUBLISHED)
    others = [
        (10, *base[1:]), (9, 2, *base[2:]), (9, 3, UCB(1.0), *base[3:]),
        (*base[:3], b"\x01" * 16, PUBLISHED), (*base[:4], Comparing("silent", 4, "paillier")),
    ]  # fmt: skip
    key, nonce = bytes(32), [bytes(12)]
    (sealed,) = channel_cipher("aes-gcm", key, agree(*base)).seal(nonce, [b"score"])
    (added,) = channel_cipher("stream", key, agree(*base)).seal(nonce, [b"score"])
    for other in others:
        cipher = channel_cipher("stream", key, agree(*other))
        assert cipher.open(nonce, [added]) != [b"score"]
        with pytest.raises(TamperedPacketError):
            channel_cipher("aes-gcm", key, agree(*other)).open(nonce, [sealed])


def test_secrets_differ_between_replicates_and_purposes():
    one, two = SimulatedSecrets.derive(0, 0), SimulatedSecrets.derive(0, 1)
    assert len({*one, *two}) == 2 * len(one) == 24
    agreed = agree(90, 6, UCB(), one.run, PUBLISHED)
    keys = make_keys(ControllerKeys, one.controller, agreed)
    others = make_keys(CompKeys, one.comp, agreed) + make_keys(OwnersKeys, one.owners, agreed)
    assert len({*keys, *others}) == 7


def test_another_run_under_the_same_secrets_repeats_nothing():
    """Masks, places, exploration, Comp's draws and the owners': each hangs on the run's name."""
    one = SimulatedSecrets.derive(0, 0)
    drawn = set()
    for algorithm in ("pursuit", "egreedy"):
        batches = []
        for name in (bytes(16), b"\x01" * 16):
            agreed = agree(90, 6, variant(algorithm).algorithm, name, PUBLISHED)
            batches.append(Streams(one, agreed, random_ties=True, drawn_scores=6).batch(7, 80))
        for field, first, second in zip(Batch._fields, *batches, strict=True):
            assert first.size == second.size
            assert not np.intersect1d(first, second).size
            drawn |= {field} if first.size else set()
    assert drawn == set(Batch._fields)
    assert owner_key(Key(1, 2), bytes(16)) != owner_key(Key(1, 2), b"\x01" * 16)


def test_places_are_uniform_for_every_owner():
    """What Comp sees of an owner is its place and its packet's length."""
    run = played(variant("ucb"), arms=4, budget=1500)
    places = np.array([run.one("controller").draws.places(t, 1) for t in range(5, 1501)])
    for owner in range(4):
        counts = np.bincount(places[:, owner], minlength=4)
        assert abs(counts - 374).max() < 80  # 4.7 standard deviations
    numbers = {
        tuple(len(packet) for packet in message.sealed)
        for _, message in run.network.transcript.deliveries
        if message.receiver == COMP and hasattr(message, "sealed")
    }
    assert numbers == {(36,) * 4}


def test_messages_to_comp_carry_nothing_else():
    run = played(variant("ucb"))
    fields = run.network.transcript.fields_seen(COMP)
    envelope = {"sender", "receiver", "number", "version", "terms"}
    inside = {(kind, field) for kind, field in fields if field not in envelope}
    assert inside == {
        ("Start", "run"), ("Start", "budget"), ("Start", "arms"), ("Start", "algorithm"),
        ("ScoreList", "step"), ("ScoreList", "iteration"), ("ScoreList", "sealed"),
    }  # fmt: skip


def test_scores_of_equal_owners_are_encrypted_differently():
    run = played(variant("ucb"))
    sealed = [m.sealed for _, m in run.network.transcript.deliveries if isinstance(m, Score)]
    assert len(set(sealed)) == len(sealed)


def known_share(run) -> float:
    """The share of comparisons before which Comp knows every (s, n)."""
    found = count_recovered(run)
    return found.statistics / found.of


class TestAttack:
    @pytest.mark.parametrize(("arms", "budget"), [(2, 120), (5, 200), (12, 200)])
    def test_comp_recovers_the_statistics_of_ucb(self, arms, budget):
        assert known_share(played(variant("ucb"), arms, budget, seed=arms)) > 0.98

    def test_it_needs_the_scores_ratios(self):
        """Other masks for every owner would end the attack (and the comparison)."""
        run = played(variant("ucb"), 5, 100)
        spoilt = [
            seen._replace(values=seen.values * np.linspace(1.0, 1.1, 5))
            for seen in comp_observations(run)
        ]
        assert all(
            not r.candidates
            for r in list(recover_statistics(spoilt, 5, run.one("comp").agreement.rule))[1:]
        )

    def test_softmax_probabilities_are_seen_exactly(self):
        run = played(variant("softmax"), 5, 60)
        last = list(comp_observations(run))[-1]
        weights = np.zeros(5)
        counts = np.zeros((5, 2))
        for step, arm, reward in run.stage.pulled:
            if step < 60:
                counts[arm] += (reward, 1)
        weights = np.exp(counts[:, 0] / counts[:, 1] / 0.06)
        expected = np.sort(weights / weights.sum())
        np.testing.assert_allclose(np.sort(last.values / last.values.sum()), expected, rtol=1e-12)

    def test_softmax_gives_away_the_statistics_too(self):
        assert known_share(played(variant("softmax"), 5, 200, seed=1)) > 0.85

    def test_epsilon_greedy_gives_away_some(self):
        assert known_share(played(variant("egreedy"), 4, 60, seed=1)) > 0.2

    @pytest.mark.parametrize("shortcut", ["empty", "none", "published", "published-each"])
    def test_exploration_shows(self, shortcut):
        run = played(variant("egreedy", exploration_shortcut=shortcut), 4, 200)
        exploring = {t for t in range(5, 201) if run.one("controller").draws.explores(t)}
        shown = {
            seen.step
            for seen in comp_observations(run)
            if len(seen.values) == 0 or (seen.values == seen.values[0]).all()
        }
        assert exploring <= shown


def test_errors_and_texts_show_no_secret():
    run = played(variant("ucb"))
    secrets = set().union(*(keys_of_party(party)[0] for party in run.network.parties.values()))
    texts = [repr(party) + str(vars(type(party))) for party in run.network.parties.values()]
    for key in secrets:
        assert not any(key.hex() in text or repr(key) in text for text in texts)
