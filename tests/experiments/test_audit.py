"""Verdicts: which findings bear on which claim, and what is said of it."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.experiments.audits import parts as audit_parts
from fedbandits.experiments.audits.audit import audit
from fedbandits.experiments.audits.verdict import Audit, judge
from fedbandits.experiments.events import (
    AuditFinished,
    AuditStarted,
    Compiling,
    Part,
    PartAdvanced,
    PartFinished,
    PartStarted,
)
from fedbandits.experiments.report.pages import section
from fedbandits.privacy import gaussian, sensitivity_check
from fedbandits.privacy.accounting import Encrypted
from fedbandits.privacy.auditing import Finding
from fedbandits.privacy.auditing import audit as attack
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.noise_check import NoiseFinding
from fedbandits.privacy.protocol_check import ProtocolFinding
from fedbandits.systems.agents import audit as agents_audit

DELTA = 0.01


def claim_of(epsilon=1.0, holds_for="interactive", contents=None, paper=None):
    contents = epsilon if contents is None else contents
    return PrivacyClaim(
        unit="a record",
        from_whom="everybody",
        relation="replace-one",
        holds_for=holds_for,
        epsilon=epsilon,
        epsilon_contents=contents,
        delta=DELTA,
        mu=gaussian.mu_of(contents, DELTA) if 0.0 < contents < math.inf else contents,
        paper_claims=paper and (paper, DELTA),
    )


def found(low, neighbours="fixed log", looks_at="messages of two agents", mu=math.nan):
    return Finding(
        neighbours=neighbours,
        sees=looks_at.split()[0],
        looks_at=looks_at,
        epsilon_low=low,
        attack="learned (direct): 1 and 2 errors in 100 runs each",
        runs=100,
        confidence=0.99,
        mu=mu,
    )


def contents(low, mu=math.nan):
    return found(low, looks_at="contents of 3 releases", mu=mu)


def judged(claim, *findings):
    return judge("label", claim, findings, 0.99)


class TestJudge:
    def test_a_claim_above_all_findings_holds(self):
        verdict = judged(claim_of(), contents(0.9), found(0.3), found(0.5, "interactive"))
        assert verdict.outcome == "holds"
        assert (verdict.epsilon_low, verdict.epsilon) == (0.9, 1.0)
        assert verdict.tightness == 0.9
        assert verdict.claimed_by == "accounting"
        assert verdict.line.startswith("label: holds: ε_low = 0.9 ≤ ε = 1 at δ = 0.01")

    def test_a_claim_below_one_is_broken_and_the_worst_is_shown(self):
        verdict = judged(claim_of(), contents(0.9), found(3.0, "interactive"))
        assert verdict.outcome == "broken"
        assert verdict.epsilon_low == 3.0
        assert "ε_low = 3 > ε = 1" in verdict.line
        assert "messages of two agents: learned (direct): 1 and 2 errors" in verdict.line

    def test_a_claim_for_a_fixed_log_says_nothing_of_reactions(self):
        claim = claim_of(holds_for="fixed log")
        verdict = judged(claim, contents(0.9), found(3.0, "interactive"))
        assert verdict.outcome == "holds"
        assert verdict.epsilon_low == 0.9
        assert judged(claim, contents(0.9), found(3.0)).outcome == "broken"

    def test_a_paper_s_claim_is_held_against_everything(self):
        for finding in (found(3.0, "interactive"), found(3.0), contents(3.0)):
            for claim in (
                claim_of(math.inf, "nothing", contents=4.0, paper=1.0),
                claim_of(4.0, "fixed log", paper=1.0),
            ):
                verdict = judged(claim, contents(0.1), finding)
                assert verdict.outcome == "broken"
                assert verdict.claimed_by == "the paper"
                assert verdict.epsilon == 1.0

    def test_a_paper_s_claim_may_stand_while_its_accounting_does_not(self):
        """Less noise than is charged for is a mistake, however much a paper asks for."""
        claim = claim_of(0.1, "fixed log", paper=1.0)
        assert judged(claim, contents(0.05)).outcome == "holds"
        assert judged(claim, contents(0.5)).outcome == "broken"

    def test_of_a_variant_that_claims_contents_alone_contents_are_judged(self):
        claim = claim_of(math.inf, "nothing", contents=1.0)
        verdict = judged(claim, contents(0.8), found(5.0), found(5.0, "interactive"))
        assert verdict.outcome == "holds"
        assert verdict.epsilon_low == 0.8
        assert "contents alone" in verdict.claimed_by
        assert judged(claim, contents(1.2)).outcome == "broken"

    def test_without_a_finite_epsilon_nothing_is_claimed(self):
        verdict = judged(claim_of(math.inf, "nothing"), found(3.0))
        assert verdict.outcome == "nothing claimed"
        assert verdict.line == "label: nothing claimed, no ε to put to the test"

    def test_a_claim_that_nobody_attacked_is_not_said_to_hold(self):
        """Neither without games, nor where what was found does not bear on the claim."""
        reacting = found(0.1, "interactive")
        for verdict in (judged(claim_of()), judged(claim_of(1.0, "fixed log"), reacting)):
            assert (verdict.outcome, verdict.tested) == ("not attacked", False)
            assert "not attacked: ε = 1 at δ = 0.01 as accounting claims, and" in verdict.line
            whole = Audit((verdict,))
            assert whole.untested
            assert not whole.broken
            assert "1 not attacked (label)" in whole.summary

    def test_where_nothing_leaves_there_is_nothing_to_attack(self):
        verdict = judged(claim_of(0.0))
        assert verdict.outcome == "nothing leaves"
        assert "by its claim (ε = 0)" in verdict.line
        assert not Audit((verdict,)).untested
        charged = msgspec.structs.replace(claim_of(0.0), events=(Encrypted("AES"),))
        assert judged(charged).outcome == "not attacked"

    def test_noise_that_is_missing_breaks_a_claim_without_games(self):
        bare = noise(missing=2)
        assert judge("label", claim_of(), (), 0.99, (bare,)).outcome == "broken"
        assert judge("label", claim_of(), (), 0.99, (noise(),)).outcome == "not attacked"

    def test_noise_that_is_too_much_is_said_and_measured(self):
        wasteful = msgspec.structs.replace(
            claim_of(paper=1.0), mu=0.25 * gaussian.mu_of(1.0, DELTA), epsilon_contents=0.2
        )
        verdict = judged(wasteful, contents(0.1, mu=0.2 * gaussian.mu_of(1.0, DELTA)))
        assert verdict.noise_factor == pytest.approx(4.0)
        assert verdict.noise_measured == pytest.approx(5.0)
        assert "noise 4.0 × needed, 5.0 measured" in verdict.line
        assert "needed" not in judged(claim_of(), contents(0.9)).line

    @given(st.lists(st.tuples(st.floats(0.0, 5.0), st.booleans(), st.booleans()), min_size=1))
    def test_one_finding_too_many_breaks_a_claim_and_no_other_mends_it(self, lows):
        findings = [
            found(low, "interactive" if reacts else "fixed log", "contents" if of else "messages")
            for low, reacts, of in lows
        ]
        verdict = judged(claim_of(), *findings)
        assert (verdict.outcome == "broken") == (max(low for low, _, _ in lows) > 1.0)


class TestSummary:
    def test_it_counts_outcomes_and_names_what_is_broken(self):
        verdicts = (
            judged(claim_of(), contents(0.9)),
            msgspec.structs.replace(judged(claim_of(), contents(2.0)), system="leaky"),
            judged(claim_of(math.inf, "nothing")),
        )
        whole = Audit(verdicts)
        assert whole.broken
        assert whole.summary == (
            "audit of 3 systems: 1 hold, 1 broken (leaky), 1 nothing claimed "
            "(confidence 0.99 a system)"
        )
        assert not Audit(verdicts[::2]).broken
        assert "broken" not in Audit(verdicts[::2]).summary
        assert Audit(verdicts[:1]).summary.startswith("audit of 1 system: 1 hold ")


def attack_of_few_runs(game, runs, delta, confidence, training=None, **options):
    """What must be found, the trigger, tells the worlds apart in every run.

    Without an error in 40 runs a side the bound is ε ≥ 1.4, whatever the seed; that a sound system
    is taken for a broken one has a probability of at most 0.01.
    """
    return attack(game, min(runs, 40), delta, confidence, training=20, **options)


def three_systems():
    return fb.Experiment(
        rounds=60,
        environment=Linear(agents=2, dim=2, arms=3),
        systems=tuple(
            fb.system(name, label=name, **budget)
            for name, budget in (
                ("feducb", {"epsilon": 1.0, "delta": DELTA, "schedule": "every(4)"}),
                ("feducb-published", {"epsilon": 1.0, "delta": DELTA}),
                ("linucb-alone", {}),
            )
        ),
    )


@pytest.fixture(scope="module")
def audited():
    """What an audit of three systems came to, and what it told while it went on."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agents_audit, "_HORIZONS", (13,))  # whole parties are dear
        patch.setattr(agents_audit, "_MOST_RELEASES", 8)
        patch.setattr(audit_parts, "attack", attack_of_few_runs)
        patch.setattr(sensitivity_check, "_LEAST", 4)
        return audit(three_systems(), 10_000, on_event=told.append), told


class TestAudit:
    def test_every_system_gets_its_verdict(self, audited):
        outcomes = {verdict.system: verdict.outcome for verdict in audited[0].verdicts}
        assert outcomes == {
            "feducb": "holds",
            "feducb-published": "broken",
            "linucb-alone": "nothing leaves",
        }
        assert audited[0].broken

    def test_what_breaks_the_published_system_is_that_a_message_exists(self, audited):
        verdict = audited[0].verdicts[1]
        worst = max(verdict.findings, key=lambda finding: finding.epsilon_low)
        assert "which messages there are" in worst.attack
        assert verdict.claimed_by == "the paper"

    def test_bounds_of_one_system_hold_together(self, audited):
        for verdict in audited[0].verdicts:
            failures = [1.0 - finding.confidence for finding in verdict.findings]
            assert sum(failures) <= 0.01 * (1 + 1e-9)

    def test_parts_count_up_to_the_total(self, audited):
        whole, told = audited
        told = [event for event in told if not isinstance(event, Compiling)]
        started, *inside, finished = told
        assert isinstance(started, AuditStarted)
        assert started.systems == ("feducb", "feducb-published", "linucb-alone")
        total, broken = len(started.parts), ("feducb-published",)
        assert finished == AuditFinished(total=total, summary=whole.summary, broken=broken)
        assert {event.total for event in inside} == {total}
        for kind, first in ((PartStarted, 0), (PartFinished, 1)):
            events = [event for event in inside if isinstance(event, kind)]
            assert [event.done for event in events] == list(range(first, total + first))
            assert [Part(e.system, e.kind, e.looks_at) for e in events] == list(started.parts)

    def test_they_are_the_games_and_checks_of_the_verdicts(self, audited):
        whole, told = audited
        found = [
            (verdict.system, finding.looks_at)
            for verdict in whole.verdicts
            for finding in (*verdict.protocol, *verdict.moved, *verdict.noise, *verdict.findings)
        ]
        assert [(part.system, part.looks_at) for part in told[0].parts] == found
        kinds = {part.kind for part in told[0].parts}
        assert kinds == {"contents", "messages", "sensitivity", "noise", "protocol"}

    def test_a_sound_system_is_charged_for_just_what_its_records_move(self, audited):
        sound, *others = audited[0].verdicts
        assert max(f.epsilon for f in sound.moved) == pytest.approx(sound.epsilon, rel=1e-4)
        assert all(finding.right for verdict in others for finding in verdict.moved)
        assert others[-1].moved == ()  # alone
        page = section("audit", audit=audited[0])
        assert "feducb: no record moves its releases further than is charged" in page
        assert "farthest move costs ε" in page

    def test_a_part_advances_while_it_goes_on(self, audited):
        inside, shares = {}, []
        for event in audited[1]:
            if isinstance(event, PartStarted):
                shares = inside.setdefault(event.done, [])
            elif isinstance(event, PartAdvanced):
                shares.append(event.share)
        messages = [i for i, p in enumerate(audited[1][0].parts) if p.kind == "messages"]
        assert all(len(inside[number]) >= 3 for number in messages)
        for shares in inside.values():
            assert shares == sorted(shares)
            assert all(0.0 < share < 1.0 for share in shares)

    def test_both_kinds_of_neighbours_and_contents_and_messages_are_looked_at(self, audited):
        for verdict in audited[0].verdicts[:2]:
            kinds = {(f.neighbours, f.sees) for f in verdict.findings}
            assert kinds >= {
                ("fixed log", "contents"), ("fixed log", "messages"), ("interactive", "messages"),
            }  # fmt: skip


class TestProtocol:
    """What parties do beside noise breaks a claim too, whatever attackers found."""

    def judged(self, *wrong):
        found = ProtocolFinding(looks_at="2 helpers: the claim", found="2 helpers", wrong=wrong)
        return judge("label", claim_of(), (contents(0.9),), 0.99, protocol=(found,))

    def test_what_is_as_claimed_is_said(self):
        verdict = self.judged()
        assert verdict.outcome == "holds"
        assert verdict.protocol_lines == ("label: 2 helpers: the claim: 2 helpers",)

    def test_what_is_not_breaks_the_claim_by_name(self):
        verdict = self.judged("the terms have 1", "masks cancel")
        assert verdict.outcome == "broken"
        said = "broken: the terms have 1 and masks cancel, so not ε = 1 at δ = "
        assert said in verdict.line
        assert verdict.protocol_lines == (
            "label: 2 helpers: the claim: the terms have 1; masks cancel",
        )
        assert "<td>the terms have 1; masks cancel</td>" in section(
            "audit", audit=Audit((verdict,))
        )

    def test_it_survives_the_file(self):
        whole = Audit((self.judged("masks cancel"),))
        assert msgspec.convert(msgspec.to_builtins(whole), Audit) == whole

    def test_an_audit_checks_processes_wherever_there_is_noise(self, audited):
        checked = [[found.looks_at for found in v.protocol] for v in audited[0].verdicts]
        processes = "noise of new and of forked processes, against one another"
        assert checked == [[processes], [processes], []]


def noise(missing=0, excessive=0, numbers=30, planned=30, unreleased=0):
    named = (
        ("agent 1, release 2, number 0: 0 × planned",) if missing + excessive + unreleased else ()
    )
    return NoiseFinding(
        looks_at="3 releases of 2 agents", numbers=numbers, planned=planned, runs=3, draws=8192,
        missing=missing, excessive=excessive, unreleased=unreleased, named=named, alarm=1e-6,
        deployed=True,
    )  # fmt: skip


class TestNoise:
    """A number without its planned noise breaks a claim, whatever attackers found."""

    def judged(self, *found):
        return judge("label", claim_of(), (contents(0.9),), 0.99, found)

    def test_where_every_number_has_its_noise_the_line_says_how_many_were_checked(self):
        verdict = self.judged(noise(), noise())
        assert verdict.outcome == "holds"
        assert verdict.noise_line == (
            "label: every released number has its planned noise: 60 numbers compared with the "
            "draws that they are made of, to six digits; 16,384 draws of secure noise have their "
            "deviation, below 0.94 × it would show"
        )
        some = self.judged(noise(numbers=10, planned=5000))
        assert ": 10 of 5,000 numbers compared with the draws" in some.noise_line

    def test_a_number_with_less_breaks_the_claim_and_is_named(self):
        verdict = self.judged(noise(), noise(missing=1))
        assert verdict.outcome == "broken"
        said = "broken: 1 released number has less noise than planned, so not ε = 1 at δ = "
        assert said in verdict.line
        assert "noise: 1 have less (agent 1, release 2, number 0: 0 × plan" in verdict.noise_line

    def test_a_number_with_more_keeps_it_and_is_named(self):
        verdict = self.judged(noise(excessive=1))
        assert verdict.outcome == "holds"
        assert "noise: 1 more (agent 1" in verdict.noise_line

    def test_a_number_that_does_not_leave_in_every_run_breaks_it_by_name(self):
        verdict = self.judged(noise(unreleased=2))
        assert verdict.outcome == "broken"
        said = "broken: 2 planned numbers were not released in every run, so not ε = 1 at δ = "
        assert said in verdict.line
        assert "noise: 2 were not released in every run (" in verdict.noise_line
        both = self.judged(noise(missing=1, unreleased=1))
        assert "1 released number has less noise than planned and 1 planned number" in both.line

    def test_where_no_noise_is_planned_nothing_is_said(self):
        assert self.judged().noise_line == ""

    def test_an_audit_checks_all_noise_there_is(self, audited):
        checked = {v.system: [f.looks_at for f in v.noise] for v in audited[0].verdicts}
        assert [len(parts) for parts in checked.values()] == [3, 3, 0]
        assert "as compiled" in checked["feducb"][0]
        assert "secure noise" in checked["feducb"][1]
        assert "as parties simulate" in checked["feducb"][2]

    def test_what_it_did_not_play_stands_in_the_verdict(self, audited):
        sound, *_, alone = audited[0].verdicts
        assert "feducb: not played: " in sound.left_out_line
        assert "only after releases of both worlds differ" in sound.left_out_line
        assert alone.left_out_line == ""
        assert sound.left_out_line in section("audit", audit=audited[0])

    def test_all_of_them_are_right(self, audited):
        assert all(finding.right for v in audited[0].verdicts for finding in v.noise)

    def test_the_report_shows_it(self):
        page = section("audit", audit=Audit((self.judged(noise(), noise(missing=1)),)))
        assert "not every released number has its planned noise" in page
        assert "<td>agent 1, release 2, number 0: 0 × planned</td>" in page
        assert "<td>in every one</td>" in page

    def test_it_survives_the_file(self):
        whole = Audit((self.judged(noise(missing=1)),))
        assert msgspec.convert(msgspec.to_builtins(whole), Audit) == whole
