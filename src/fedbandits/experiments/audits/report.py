"""An audit as HTML: a table of verdicts, and what every attack found."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedbandits.experiments.audits.verdict import Audit, Verdict
from fedbandits.experiments.html import as_table, as_text
from fedbandits.privacy.auditing import Finding
from fedbandits.privacy.error_rates import Examined
from fedbandits.privacy.noise_check import NoiseFinding
from fedbandits.privacy.protocol_check import ProtocolFinding
from fedbandits.privacy.sensitivity_check import SensitivityFinding

_VERDICTS = (
    "system",
    "verdict",
    "claimed",
    "ε at least",
    "tightness",
    "noise × needed",
    "measured",
)
_FINDINGS = ("system", "what attackers saw", "neighbours", "ε at least", "best attack", "runs")
_NOISE = ("system", "numbers that leave", "checked", "of", "runs", "draws", "planned noise")
_MOVED = ("system", "what was played", "neighbours", "farthest move costs ε", "charged ε", "pairs")
_PROTOCOL = ("system", "what was held against what", "what came out")
_GUESSES = ("who", "guesses", "right", "by chance", "the claim says so")
_EXAMINED_NOTE = (
    "Parties played a small run, and everybody looked at all that reached them, with all keys that "
    "they hold. A guess that is right more often than by chance breaks a claim that does not say "
    "so; a cell that shows more than the claim says does, too."
)
_NOTE = (
    "Every system was played many times in two worlds that differ in one record. Attacks were "
    "chosen on runs of their own; bounds on ε follow from their errors on others (Clopper & "
    "Pearson), and hold together for a system with the stated confidence. A claim that holds was "
    "attacked without success: that is evidence, not proof. Tightness is the bound from contents "
    "over what accounting says of contents; noise is compared with what the claimed (ε, δ) needs, "
    "as charged and as measured. Where noise is planned, every released number was compared with "
    "the draws that it is made of: it must be the planned combination of them, no draw may come "
    "twice, and draws must have the deviation 1 (χ², with a false alarm in a million). Where the "
    "noise can be made the same in both worlds, it cancels: what remains is how far one record "
    "moves the releases. What else a claim rests on is played once: what differs from the claim "
    "breaks it."
)


def audit_section(audit: Audit) -> str:
    """Return the body of a report's section."""
    verdicts = audit.verdicts
    findings = [_finding_row(v.system, finding) for v in verdicts for finding in v.findings]
    noise = [_noise_row(v.system, finding) for v in verdicts for finding in v.noise]
    protocol = [_protocol_row(v.system, finding) for v in verdicts for finding in v.protocol]
    moved = [_moved_row(v.system, finding) for v in verdicts for finding in v.moved]
    return (
        f"<p><b>{as_text(audit.summary)}</b></p>"
        f"{_table(_VERDICTS, [_verdict_row(v) for v in verdicts])}"
        f"{''.join(f'<p>{as_text(v.left_out_line)}</p>' for v in verdicts if v.left_out_line)}"
        f"<p class=note>{as_text(_NOTE)}</p>"
        f"{_table(_FINDINGS, findings) if findings else ''}"
        f"{_checked([v.noise_line for v in verdicts if v.noise], _NOISE, noise)}"
        f"{_checked([v.sensitivity_line for v in verdicts if v.moved], _MOVED, moved)}"
        f"{_checked([], _PROTOCOL, protocol)}"
        f"{''.join(_examined_section(v.system, v.examined) for v in verdicts if v.examined)}"
    )


def _examined_section(system: str, examined: Examined) -> str:
    """Show who guessed what, and who sees what."""
    guesses = [
        (g.who, g.what, g.share, f"{100 * g.chance:.1f}%", "yes" if g.stated else "no")
        for g in examined.guesses
    ]
    return (
        f"<h3>{as_text(system)}: who guesses what</h3>{_table(_GUESSES, guesses)}"
        f"<p class=note>{as_text(_EXAMINED_NOTE)}</p>"
        f"<h3>{as_text(system)}: who sees what</h3>"
        f"{_table(('', *examined.participants), list(examined.table))}"
    )


def _checked(lines: list[str], titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Show a line a system, then what was checked."""
    said = "".join(f"<p>{as_text(line)}</p>" for line in lines)
    return f"{said}{_table(titles, rows) if rows else ''}"


def _noise_row(system: str, finding: NoiseFinding) -> tuple[str, ...]:
    return (
        system,
        finding.looks_at,
        f"{finding.numbers:,}",
        f"{finding.planned:,}",
        f"{finding.runs:,}",
        f"{finding.draws:,}",
        "; ".join(finding.named) or "in every one",
    )


def _protocol_row(system: str, finding: ProtocolFinding) -> tuple[str, ...]:
    return system, finding.looks_at, "; ".join(finding.wrong) or finding.found


def _moved_row(system: str, finding: SensitivityFinding) -> tuple[str, ...]:
    return (
        system,
        finding.looks_at,
        finding.neighbours,
        _number(finding.epsilon),
        _number(finding.charged),
        f"{finding.runs:,}",
    )


def _verdict_row(verdict: Verdict) -> tuple[str, ...]:
    claimed = f"ε = {_number(verdict.epsilon)}, δ = {verdict.delta:g}, {verdict.claimed_by}"
    if verdict.examined is not None:
        return (verdict.system, verdict.outcome, "no ε: encrypted", "–", "–", "–", "–")
    if not verdict.tested:
        return (verdict.system, verdict.outcome, "–", "–", "–", "–", "–")
    return (
        verdict.system,
        verdict.outcome,
        claimed,
        _number(verdict.epsilon_low),
        _number(verdict.tightness),
        _number(verdict.noise_factor),
        _number(verdict.noise_measured),
    )


def _finding_row(system: str, finding: Finding) -> tuple[str, ...]:
    return (
        system,
        finding.looks_at,
        finding.neighbours,
        _number(finding.epsilon_low),
        finding.attack,
        f"{finding.runs:,}",
    )


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return as_table(titles, rows, kind="overview")


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.3g}"
