"""What participants guess about pulls: never better than by chance, or the claim says so."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from rich.console import Console

import fedbandits as fb
from fedbandits.cli.audit import examined_tables
from fedbandits.crypto.aead import NONCE_BYTES
from fedbandits.environments import Bernoulli
from fedbandits.errors import LocalProtocolError
from fedbandits.experiments.audits.audit import audit
from fedbandits.experiments.audits.verdict import Audit, judge, with_examined
from fedbandits.experiments.report.pages import section
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.audit import examination
from fedbandits.systems.samba.audit.adversary import OBSERVER, Exposure
from fedbandits.systems.samba.audit.attack import (
    exploring_steps,
    guess_by_drawn_score,
    guess_by_last_answer,
    guess_by_place,
    other_sums,
    pulled_arms,
)
from fedbandits.systems.samba.audit.examination import PULLED, security_table
from fedbandits.systems.samba.kernels import any_place
from fedbandits.systems.samba.keys import CONTROLLER
from fedbandits.systems.samba.messages import Score, ScoreList, Setup
from fedbandits.systems.samba.roles import comp
from fedbandits.systems.samba.roles.owner import DataOwner
from fedbandits.testing.replicates import plan_of
from tests.federation.receiving import taken
from tests.systems.samba_worlds import federated, variant


def played(config, arms=5, budget=800, seed=0):
    run = federated(config, arms, budget, seed)
    run.advance(budget)
    return run


@pytest.mark.parametrize("shortcut", ["empty", "none"])
def test_the_controller_does_not_know_the_arm_of_steps_that_explore(shortcut):
    run = played(variant("egreedy", exploration_shortcut=shortcut))
    hits = guess_by_place(run, exploring_steps(run))
    assert hits.of > 30
    assert not hits.beats_chance


def test_the_controller_knows_them_where_the_first_place_wins():
    run = played(variant("egreedy", tie_breaking="first"))
    hits = guess_by_place(run, exploring_steps(run))
    assert hits.right == hits.of > 30
    seen = security_table(played(variant("egreedy", tie_breaking="first"), budget=250))
    assert seen[PULLED][CONTROLLER] is seen[PULLED][OBSERVER] is Exposure.GUESSED


@pytest.mark.parametrize("shortcut", ["published", "published-each"])
def test_the_controller_knows_them_where_it_draws_the_scores(shortcut):
    run = played(variant("egreedy", exploration_shortcut=shortcut))
    exploring = exploring_steps(run)
    hits = guess_by_drawn_score(run, exploring)
    assert hits.right == hits.of == len(exploring) > 60
    by_place = guess_by_place(run, exploring)
    assert by_place.beats_chance == (shortcut == "published")
    seen = security_table(played(variant("egreedy", exploration_shortcut=shortcut), budget=150))
    assert seen[PULLED][CONTROLLER] is seen[PULLED][OBSERVER] is Exposure.GUESSED


def test_without_drawn_scores_there_is_nothing_to_guess_by():
    run = played(variant("egreedy"))
    assert not guess_by_drawn_score(run, exploring_steps(run)).beats_chance


@pytest.mark.parametrize(("ties", "known"), [("random", False), ("first", True)])
def test_ties_tell_the_controller_nothing(ties, known):
    """UCB with many arms: scores tie as long as arms have like numbers of pulls and rewards."""
    run = played(variant("ucb", "distributed", tie_breaking=ties), arms=100, budget=300)
    assert guess_by_place(run, list(pulled_arms(run))).beats_chance == known


def test_all_places_are_chosen_alike_in_steps_that_explore():
    run = played(variant("egreedy", cipher="stream"), arms=4, budget=4000)
    pulled, controller = pulled_arms(run), run.one("controller")
    places = [int(controller.draws.places(t, 1)[pulled[t]]) for t in exploring_steps(run)]
    assert all(abs(places.count(p) - len(places) / 4) < 40 for p in range(4))  # 4.7 deviations


def eager(monkeypatch):
    """Owners who answer as soon as they can, as they did once."""
    receive_bytes, observe = DataOwner.receive_bytes, DataOwner.observe

    def at_once(owner, outgoing):
        due = owner.next_end
        return outgoing if due is None else outgoing + owner.end_round(due)

    def received(self, data, link):
        receipt = receive_bytes(self, data, link)
        return msgspec.structs.replace(receipt, outgoing=at_once(self, receipt.outgoing))

    monkeypatch.setattr(DataOwner, "receive_bytes", received)
    monkeypatch.setattr(DataOwner, "observe", lambda self, d, o: at_once(self, observe(self, d, o)))


@pytest.mark.parametrize("algorithm", ["ucb", "pursuit"])
def test_a_late_answer_names_the_arm_only_without_a_beat(algorithm, monkeypatch):
    beaten = guess_by_last_answer(played(variant(algorithm), budget=300))
    assert not beaten.beats_chance
    eager(monkeypatch)
    at_once = guess_by_last_answer(played(variant(algorithm), budget=300))
    assert at_once.right == at_once.of == 295


def test_answers_come_in_one_order_whoever_pulled():
    run = played(variant("thompson"), budget=200)
    steps = {}
    for _, message in run.network.transcript.deliveries:
        if isinstance(message, Score):
            steps.setdefault(message.step, []).append(message.sender)
    assert len(steps) == 195
    assert set(map(tuple, steps.values())) == {tuple(f"owner-{i}" for i in range(5))}


def test_an_owner_answers_on_the_beat_and_not_before_its_pull_is_over():
    run = federated(variant("ucb"), 3, 9)
    while run.network.deliver() is not None:
        pass
    owner = run.of("owner")[0]
    assert owner.next_end is None
    with pytest.raises(LocalProtocolError, match="EndRound is not possible while pulling"):
        owner.end_round(3)
    assert owner.observe(owner.decide(None), 1) == []
    assert owner.next_end == 3
    with pytest.raises(LocalProtocolError, match="end of round 4, not of 3"):
        owner.end_round(4)
    (score,) = owner.end_round(3)
    assert (type(score), score.step) == (Score, 4)


@pytest.mark.parametrize("cipher", ["aes-gcm", "stream"])
def test_one_place_given_twice_makes_no_second_packet_under_one_nonce(cipher):
    """Nor does a setup that is replayed to an owner that began anew."""
    sealed = []
    for index in (0, 1, 1):
        run = federated(variant("ucb", cipher=cipher), 3, 9)
        while run.network.deliver() is not None:
            pass
        setups = [m for _, m in run.network.transcript.deliveries if isinstance(m, Setup)]
        roles, supplies = SYSTEM.roles(run.plan), SYSTEM.simulated_supplies(run.plan, None, 0, 0)
        owner = roles.make(roles.acting, index, run.terms, supplies("owner", index))
        taken(owner, msgspec.structs.replace(setups[0], receiver=owner.name))
        owner.observe(owner.decide(None), 1)
        sealed += [message.sealed for message in owner.end_round(3)]
    assert len(sealed) == len({packet[:NONCE_BYTES] for packet in sealed}) == 3
    assert len({packet[NONCE_BYTES:] for packet in sealed}) == 3


def test_packets_tell_comp_nothing_of_their_owner():
    """What a packet begins with never comes twice: no owner has one of its own."""
    run = played(variant("ucb"), budget=100)
    lists = [m.sealed for _, m in run.network.transcript.deliveries if isinstance(m, ScoreList)]
    starts = [packet[:NONCE_BYTES] for sealed in lists for packet in sealed]
    assert len(set(starts)) == len(starts) == 95 * 5


def test_an_owner_of_two_reads_the_others_sum():
    known = [possible == {true} for true, possible in other_sums(played(variant("ucb"), arms=2))]
    assert sum(known) > 0.99 * len(known)
    stated = [SYSTEM.claim(plan_of(variant("ucb"), Bernoulli(arms=k), 9)) for k in (2, 3)]
    limit = "the other owner's sums, from an owner, as there are two"
    assert [limit in claim.limits for claim in stated] == [True, False]


class TestExamination:
    def examined(self, algorithm, arms=5, execution="samba", **parts):
        plan = plan_of(variant(algorithm, execution, **parts), Bernoulli(arms=arms), 100)
        return SYSTEM.examine(plan, None), SYSTEM.claim(plan)

    def outcome(self, *arguments, **parts):
        examined, claim = self.examined(*arguments, **parts)
        return with_examined(judge("x", claim, (), 0.99), examined)

    @pytest.mark.parametrize(
        ("algorithm", "parts"),
        [("ucb", {}), ("egreedy", {}), ("pursuit", {"cipher": "stream"}),
         ("egreedy", {"exploration_shortcut": "published"}),
         ("egreedy", {"exploration_shortcut": "published-each"}),
         ("ucb", {"exploration_shortcut": "published"}),
         ("egreedy", {"tie_breaking": "first"}), ("ucb", {"arms": 2}),
         ("ucb", {"execution": "distributed"})],
    )  # fmt: skip
    def test_nobody_finds_out_more_than_is_claimed(self, algorithm, parts):
        verdict = self.outcome(algorithm, **parts)
        assert verdict.outcome == "holds", verdict.line
        assert "nobody found out more than the claim says" in verdict.line

    def test_comps_attack_is_counted(self):
        examined, claim = self.examined("ucb")
        (found,) = [guess for guess in examined.guesses if guess.who == "Comp"]
        assert found.right > 0.98 * found.of
        assert found.stated
        assert "what Comp computes from masked scores" in claim.limits

    def test_a_plain_run_has_nobody_to_examine(self):
        assert self.outcome("ucb", execution="plain").outcome == "nothing claimed"

    def test_the_first_place_is_found(self, monkeypatch):
        monkeypatch.setattr(comp, "any_place", lambda tie, arms: any_place(tie, 1))
        verdict = self.outcome("egreedy")
        assert verdict.outcome == "broken"
        assert (
            "Controller: the arm of a step that explores, from its place: 40 of 40" in verdict.line
        )

    @pytest.mark.parametrize("shortcut", ["published", "published-each"])
    def test_drawn_scores_are_found_where_the_claim_is_silent(self, shortcut, monkeypatch):
        monkeypatch.setattr(examination, "_states_drawn_arm", lambda plan: False)
        verdict = self.outcome("egreedy", exploration_shortcut=shortcut)
        assert verdict.outcome == "broken"
        assert "the arm of a step that explores, from the scores it drew: 79 of 79" in verdict.line

    def test_the_claim_says_who_knows_where_the_controller_draws(self):
        for algorithm, shortcut, said in (
            ("egreedy", "published", True), ("egreedy", "published-each", True),
            ("egreedy", "empty", False), ("ucb", "published", False),
        ):  # fmt: skip
            plan = plan_of(variant(algorithm, exploration_shortcut=shortcut), Bernoulli(arms=3), 9)
            limits = " ".join(SYSTEM.claim(plan).limits)
            assert ("the Controller, which draws its scores" in limits) == said

    def test_a_late_answer_is_found(self, monkeypatch):
        eager(monkeypatch)
        verdict = self.outcome("ucb")
        assert verdict.outcome == "broken"
        assert (
            "external observer: the arm of a step, from whose answer is last: 795" in verdict.line
        )

    def test_a_cell_that_shows_too_much_is_found(self, monkeypatch):
        monkeypatch.setattr("fedbandits.systems.samba.streams.Masks.draw", lambda *_: 1.0)
        verdict = self.outcome("thompson")
        assert verdict.outcome == "broken"
        assert "Comp: the same of other owners: permuted" in verdict.line

    def test_it_is_shown_in_terminal_json_and_report(self):
        experiment = fb.Experiment(
            rounds=50, environment=Bernoulli(arms=3), systems=(fb.system("samba-egreedy"),)
        )
        found = audit(experiment)
        again = msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(found))), Audit)
        assert again.verdicts[0].examined == found.verdicts[0].examined
        assert found.summary.startswith("audit of 1 system: 1 hold")
        with io.StringIO() as file:
            for table in examined_tables(found):
                Console(file=file, width=200).print(table)
            terminal = file.getvalue()
        for shown in (terminal, section("audit", audit=found)):
            assert "the arm of a step that explores, from its place" in shown
            assert "who sees what" in shown
            assert "external observer" in shown
            assert "samba-egreedy" in shown
