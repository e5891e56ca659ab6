"""Verdicts of an audit: for each system, whether its claim holds.

A claim holds if its ε is at least every lower bound that bears on the claim. The bounds of a sound
variant are about the neighbours of its claim; the bounds of a paper's claim are all bounds. No
released number may have less noise than planned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal, TypeVar, get_args

import msgspec

from fedbandits.privacy import gaussian
from fedbandits.privacy.auditing import Finding
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.error_rates import Examined
from fedbandits.privacy.noise_check import NoiseFinding
from fedbandits.privacy.protocol_check import ProtocolFinding
from fedbandits.privacy.sensitivity_check import SensitivityFinding
from fedbandits.settings import CONFIDENCE

AnyFinding = TypeVar("AnyFinding", Finding, SensitivityFinding)
#: ``nothing claimed``: no finite ε. ``nothing leaves``: a claim without releases, which are not
#: attacked. ``not attacked``: a claimed ε without an attack by the system.
Outcome = Literal["holds", "broken", "not attacked", "nothing leaves", "nothing claimed"]
_UNTESTED: dict[Outcome, str] = {
    "not attacked": "not attacked: {claimed}, and the system brings no attack (games) to test it",
    "nothing leaves": "nothing leaves a party, by its claim (ε = 0): there is nothing to attack",
    "nothing claimed": "nothing claimed, no ε to put to the test",
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of an audit on one system.

    Parameters
    ----------
    system
        Label of the audited system.
    outcome
        Whether the claim holds against all attacks.
    claimed_by
        The source of the tested claim: the paper, or this package's accounting.
    epsilon, delta
        ε and δ of that claim.
    epsilon_low
        The largest lower bound on ε that bears on the claim.
    tightness
        The largest bound from contents, over the ε that accounting states for contents. A value far
        below 1 means more noise than needed, or too few runs.
    noise_factor
        Noise by accounting, over the noise that (ε, δ) needs: 1 for calibrated noise.
    noise_measured
        The same factor, measured in contents by the audit. NaN without a measurement.
    confidence
        Probability with which all bounds of this system hold together.
    findings
        Findings of attacks, one for each game.
    noise
        Findings on the planned noise of all released numbers, one for each check.
    moved
        Findings on the move of releases by a record, with the same noise in both worlds; one for
        each game.
    protocol
        Findings on further conditions of the claim, one for each check.
    examined
        Findings of participants, if encryption protects without an ε.
    not_played
        Games that the audit did not play, in words.
    """

    system: str
    outcome: Outcome
    claimed_by: str
    epsilon: float
    delta: float
    epsilon_low: float
    tightness: float
    noise_factor: float
    noise_measured: float
    confidence: float
    findings: tuple[Finding, ...]
    examined: Examined | None = None
    noise: tuple[NoiseFinding, ...] = ()
    moved: tuple[SensitivityFinding, ...] = ()
    protocol: tuple[ProtocolFinding, ...] = ()
    not_played: tuple[str, ...] = ()

    @property
    def left_out_line(self) -> str:
        """A line on games that the audit did not play; empty without a test."""
        if not (self.tested and self.not_played):
            return ""
        return f"{self.system}: not played: {'; '.join(self.not_played)}"

    @property
    def tested(self) -> bool:
        """True if the claim was tested."""
        return self.outcome not in _UNTESTED

    @property
    def noise_line(self) -> str:
        """A line on the noise of released numbers; empty without planned noise."""
        if not self.noise:
            return ""
        wrong = [name for finding in self.noise for name in finding.named]
        if wrong:
            counts = ", ".join(_counted(self.noise)) or "none by itself"
            return (
                f"{self.system}: not every released number has its planned noise: {counts} "
                f"({'; '.join(wrong)})"
            )
        numbers = sum(finding.numbers for finding in self.noise)
        planned = sum(finding.planned for finding in self.noise)
        of = f" of {planned:,}" if planned > numbers else ""
        sources = [finding for finding in self.noise if finding.deployed] or self.noise
        draws = sum(finding.draws for finding in sources)
        noise = " of secure noise" if sources[0].deployed else ""
        shows = min(finding.shows for finding in sources)
        return (
            f"{self.system}: every released number has its planned noise: {numbers:,}{of} numbers "
            f"compared with the draws that they are made of, to six digits; {draws:,} draws{noise} "
            f"have their deviation, below {shows:.2f} × it would show"
        )

    @property
    def sensitivity_line(self) -> str:
        """A line on the farthest move of releases by a record, beside the charged move.

        Empty without a charge or an attack.
        """
        if not self.moved:
            charged = self.claimed_by.startswith("accounting") and math.isfinite(self.epsilon)
            if not (self.tested and self.findings and charged):
                return ""
            return f"{self.system}: how far one record moves its releases was not measured"
        farthest = max(self.moved, key=lambda finding: finding.mu)
        pairs = sum(finding.runs for finding in self.moved)
        moves = "a record moves" if farthest.too_far else "no record moves"
        return (
            f"{self.system}: {moves} its releases further than is charged: the farthest costs ε = "
            f"{farthest.epsilon:.3g}, charged is ε = {farthest.charged:.3g}; {pairs:,} pairs of "
            "runs with the same noise"
        )

    @property
    def protocol_lines(self) -> tuple[str, ...]:
        """A line for each check of further conditions, with its result; empty without checks."""
        return tuple(
            f"{self.system}: {finding.looks_at}: {'; '.join(finding.wrong) or finding.found}"
            for finding in self.protocol
        )

    @property
    def line(self) -> str:
        """The verdict in one line."""
        if self.examined is not None:
            return f"{self.system}: {self.outcome}: {self._examined_line(self.examined)}"
        claimed = f"ε = {self.epsilon:.3g} at δ = {self.delta:g} as {self.claimed_by} claims"
        if not self.tested:
            return f"{self.system}: {_UNTESTED[self.outcome].format(claimed=claimed)}"
        missing = sum(finding.missing for finding in self.noise)
        if self.outcome == "broken" and self.epsilon_low <= self.epsilon and self._bare:
            return (
                f"{self.system}: broken: {self._bare}, so not {claimed} (attacks by themselves "
                f"showed {self.epsilon_low:.3g})"
            )
        sign = "≤" if self.outcome == "holds" else ">"
        waste = ""
        if self.noise_factor > 1.05:
            waste = f", noise {self.noise_factor:.1f} × needed, {self.noise_measured:.1f} measured"
        worst = max(self.findings, key=lambda finding: finding.epsilon_low, default=None)
        noise = "; noise is missing" if missing else ""
        shown = f"; {worst.looks_at}: {worst.attack}" if worst and self.outcome == "broken" else ""
        if self.outcome == "holds" and self.epsilon_low <= 0.0 < self.epsilon:
            shown = "; so few runs show nothing, take more"
        return (
            f"{self.system}: {self.outcome}: ε_low = {self.epsilon_low:.3g} {sign} {claimed} "
            f"(tightness {self.tightness:.2f}{waste}{shown}{noise})"
        )

    @property
    def _bare(self) -> str:
        """Words for all broken conditions: missing noise, far moves, and wrong protocols."""
        missing = sum(finding.missing for finding in self.noise)
        unreleased = sum(finding.unreleased for finding in self.noise)
        foreign = sum(finding.foreign for finding in self.noise)
        parts = []
        if missing:
            have = "number has" if missing == 1 else "numbers have"
            parts.append(f"{missing:,} released {have} less noise than planned")
        if foreign:
            have = "number has" if foreign == 1 else "numbers have"
            parts.append(f"{foreign:,} released {have} noise of other draws than planned")
        if unreleased:
            were = "number was" if unreleased == 1 else "numbers were"
            parts.append(f"{unreleased:,} planned {were} not released in every run")
        shared = sum(finding.shared for finding in self.noise)
        if shared:
            pairs = "pair of releases has" if shared == 1 else "pairs of releases have"
            parts.append(f"{shared:,} {pairs} noise in common")
        if any(finding.again for finding in self.noise):
            parts.append("draws were used more than once")
        if any(finding.uneven for finding in self.noise):
            parts.append("a source of noise draws with another deviation than 1")
        if any(finding.remembers for finding in self.moved):
            parts.append("a run depends on runs before it in the same process")
        parts += [words for finding in self.protocol for words in finding.wrong]
        too_far = [finding.epsilon for finding in self.moved if finding.too_far]
        if too_far:
            parts.append(f"one record moves releases so far that it costs ε = {max(too_far):.3g}")
        return " and ".join(parts)

    def _examined_line(self, examined: Examined) -> str:
        """Return the guesses that contradict the claim, or all guesses that beat chance."""
        shown = examined.broken(self.confidence)
        if shown:
            return f"more shows than the claim says: {'; '.join(shown)}"
        guessed = [g.text for g in examined.guesses if g.stated and g.beats_chance(self.confidence)]
        known = f": {'; '.join(guessed)}" if guessed else ""
        return f"no ε is claimed, and nobody found out more than the claim says{known}"


def _counted(noise: tuple[NoiseFinding, ...]) -> Iterator[str]:
    """Count the numbers, pairs and draws that are not as planned."""
    for field, words in (
        ("missing", "{:,} have less"),
        ("excessive", "{:,} more"),
        ("foreign", "{:,} noise of other draws"),
        ("unreleased", "{:,} were not released in every run"),
        ("shared", "{:,} pairs of releases share noise"),
        ("again", "{:,} draws were given again"),
        ("uneven", "{:,} groups of draws have another deviation"),
    ):
        count = sum(getattr(finding, field) for finding in noise)
        if count:
            yield words.format(count)


class Audit(msgspec.Struct, frozen=True, omit_defaults=True):
    """Verdicts of the systems of an experiment.

    Parameters
    ----------
    verdicts
        A verdict for each system.
    missing
        Labels of systems without a verdict, because the audit was interrupted.
    """

    verdicts: tuple[Verdict, ...]
    missing: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        """True if any claim is broken."""
        return any(verdict.outcome == "broken" for verdict in self.verdicts)

    @property
    def untested(self) -> bool:
        """True if a system claims an ε above 0 and has no attack."""
        return any(verdict.outcome == "not attacked" for verdict in self.verdicts)

    @property
    def summary(self) -> str:
        """A line about all systems."""
        counts = {
            outcome: [v.system for v in self.verdicts if v.outcome == outcome]
            for outcome in get_args(Outcome)
        }
        parts = [
            f"{len(names)} {'hold' if outcome == 'holds' else outcome}"
            + (f" ({', '.join(names)})" if outcome in ("broken", "not attacked") else "")
            for outcome, names in counts.items()
            if names
        ]
        sure = next((v.confidence for v in self.verdicts if v.findings), CONFIDENCE)
        systems = f"{len(self.verdicts)} system{'s' if len(self.verdicts) != 1 else ''}"
        left = f"; interrupted, not audited: {', '.join(self.missing)}" if self.missing else ""
        return f"audit of {systems}: {', '.join(parts)} (confidence {sure:g} a system){left}"


def with_examined(verdict: Verdict, examined: Examined | None) -> Verdict:
    """Change the verdict to *broken* if participants learned more than the claim allows."""
    if examined is None:
        return verdict
    outcome: Outcome = "broken" if examined.broken(verdict.confidence) else "holds"
    outcome = "broken" if verdict.outcome == "broken" else outcome
    return msgspec.structs.replace(verdict, outcome=outcome, examined=examined)


def judge(
    label: str,
    claim: PrivacyClaim,
    findings: tuple[Finding, ...],
    confidence: float,
    noise: tuple[NoiseFinding, ...] = (),
    moved: tuple[SensitivityFinding, ...] = (),
    protocol: tuple[ProtocolFinding, ...] = (),
) -> Verdict:
    """Compare the findings of an audit with a claim."""
    moved = tuple(_bearing(claim, moved))
    claimed_by, epsilon = claimed_of(claim)
    bearing = list(_bearing(claim, findings))
    low = max((finding.epsilon_low for finding in bearing), default=0.0)
    contents = max((f.epsilon_low for f in bearing if f.sees == "contents"), default=0.0)
    measured = next((f.mu for f in findings if f.sees == "contents"), math.nan)
    bare = any(finding.bare for finding in noise)
    bare = bare or not all(finding.right for finding in moved)
    bare = bare or not all(finding.right for finding in protocol)
    shown = low > epsilon or contents > claim.epsilon_contents
    outcome: Outcome = "broken" if shown or bare else "holds"
    if not math.isfinite(epsilon):
        outcome = "nothing claimed"
    elif not (bearing or bare):
        outcome = "not attacked" if epsilon > 0.0 or claim.events else "nothing leaves"
    return Verdict(
        system=label,
        outcome=outcome,
        claimed_by=claimed_by,
        epsilon=epsilon,
        delta=claim.delta,
        epsilon_low=low,
        tightness=contents / claim.epsilon_contents if claim.epsilon_contents > 0.0 else 0.0,
        noise_factor=_noise_factor(claim.mu, epsilon, claim.delta),
        noise_measured=_noise_factor(measured, epsilon, claim.delta),
        confidence=confidence,
        findings=findings,
        noise=noise,
        moved=moved,
        protocol=protocol,
    )


def claimed_of(claim: PrivacyClaim) -> tuple[str, float]:
    """Return the source and the ε of a claim: the paper if it states an ε, else accounting."""
    if claim.paper_claims is not None:
        return "the paper", claim.paper_claims[0]
    if claim.is_private:
        return "accounting", claim.epsilon
    return "accounting, for contents alone,", claim.epsilon_contents


def _bearing(claim: PrivacyClaim, findings: Iterable[AnyFinding]) -> Iterator[AnyFinding]:
    """Return the findings that bear on the claim: without reactions, if its log is fixed."""
    for finding in findings:
        contents_only = claim.paper_claims is None and not claim.is_private
        if contents_only and isinstance(finding, Finding) and finding.sees != "contents":
            continue
        fixed_only = claim.paper_claims is None and claim.holds_for == "fixed log"
        if fixed_only and finding.neighbours == "interactive":
            continue
        yield finding


def _noise_factor(mu: float, epsilon: float, delta: float) -> float:
    """Return the deviation of noise that costs μ, over the deviation that (ε, δ) needs."""
    if not (0.0 < mu < math.inf and 0.0 < epsilon < math.inf and delta > 0.0):
        return math.nan
    return gaussian.mu_of(epsilon, delta) / mu
