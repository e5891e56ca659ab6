"""Tables of claims: the table of reports, and the page of all presets (docs/claims.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fedbandits.environments import Bernoulli, Clustered, Linear, Procurement
from fedbandits.environments.base import Environment
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.statements import MESSAGE_TIMES
from fedbandits.settings.experiment import system
from fedbandits.systems import System, systems

#: A world for every kind of system: small, drawn, without a data file.
REFERENCE_WORLDS: tuple[Environment, ...] = (
    Linear(agents=10, dim=10, arms=20),
    Clustered(users=40, clusters=5, dim=10, servers=5, items=10, placement="spread"),
    Procurement(agents=10, producers=30),
    Bernoulli(arms=10),
)
REFERENCE_ROUNDS = 60_000
#: The budget of every system that has one.
REFERENCE_BUDGET = {"epsilon": 1.0, "delta": 1e-5}

#: Columns of :func:`overview`.
OVERVIEW = (
    "system",
    "the paper claims",
    "supported by accounting",
    "contents alone",
    "noise, in records",
    "not protected",
)
#: Note below the table of :func:`overview`.
OVERVIEW_NOTE = (
    "Supported by accounting: the ε of everything that leaves a party, "
    f"{MESSAGE_TIMES}. Interactive: it holds also if later records depend on the one that changes. "
    "Fixed log: it holds only if all other records stay as they are. Contents alone: the ε if "
    "everybody knew the message times. Noise: the deviation in the largest release, over the most "
    "that a record can be (over what it can change, where noise has a shape of its own). Not "
    "protected: in a few words; the claim of each system says why."
)

_HEAD = """# What every preset claims

The sound variants of FedUCB, FCLUB and P-FCB have a finite ε for one record. As published, only
P-FCB has one; SAMBA encrypts, and has no ε. This page is for whoever compares presets. Figures for
your own configuration: `fedbandits privacy CONFIG.toml`. What privacy costs in regret:
[How private is it?](privacy.md)

Made by `fedbandits privacy --all --markdown`; do not edit.

Each section says who is protected (the privacy unit: one visit, one purchase, one reward), from
whom, at what ε and δ, under which conditions, and what is not protected. A finite ε is for one
record. What several records of one person cost together stands under *not protected*.

Every preset with a budget is asked for ε = {epsilon:g} at δ = {delta:g}, over {rounds:,} rounds of
a small world of its kind. These worlds have {worlds}.
"""


def reference_world(system: System[Any]) -> Environment:
    """Return the world of the page in which a system's claims are stated."""
    return next(world for world in REFERENCE_WORLDS if system.plays_in(type(world)))


def reference_claims() -> dict[str, PrivacyClaim]:
    """Make the claim of every preset, in its reference world and at the same budget."""
    return {
        preset: kind.claim(
            system(preset, **_budget(kind)).plan(reference_world(kind), REFERENCE_ROUNDS)
        )
        for kind in systems()
        for preset in kind.presets
    }


def _budget(system: System[Any]) -> dict[str, Any]:
    fields = system.config_type.__struct_fields__
    return {key: value for key, value in REFERENCE_BUDGET.items() if key in fields}


def overview(claims: Mapping[str, PrivacyClaim]) -> list[tuple[str, ...]]:
    """Return a row for each system, with the columns of :data:`OVERVIEW`."""
    return [
        (
            label,
            "–" if claim.paper_claims is None else "ε = {:g}, δ = {:g}".format(*claim.paper_claims),
            _supported(claim),
            _contents(claim),
            f"{claim.noise:.3g}" if claim.noise else "–",
            "; ".join(claim.limits),
        )
        for label, claim in claims.items()
    ]


def _supported(claim: PrivacyClaim) -> str:
    if claim.is_private:
        return _price(claim, claim.epsilon) + f", {claim.holds_for}" * bool(claim.events)
    return "no ε: encryption" if claim.encrypted else "no finite ε"


def _contents(claim: PrivacyClaim) -> str:
    return "–" if claim.encrypted else _price(claim, claim.epsilon_contents)


def _price(claim: PrivacyClaim, epsilon: float) -> str:
    if math.isinf(epsilon):
        return "ε = ∞"
    return f"ε = {epsilon:.4g} at δ = {claim.delta:g}" if claim.events else "ε = 0, nothing leaves"


def reference_page(claims: Mapping[str, PrivacyClaim]) -> str:
    """Write docs/claims.md from the result of :func:`reference_claims`."""
    worlds = ", ".join(_world(world) for world in REFERENCE_WORLDS)
    head = _HEAD.format(rounds=REFERENCE_ROUNDS, worlds=worlds, **REFERENCE_BUDGET)
    described = {
        name: preset.description for kind in systems() for name, preset in kind.presets.items()
    }
    return claims_markdown(claims, head, described)


def claims_markdown(
    claims: Mapping[str, PrivacyClaim],
    head: str = "# Claims\n",
    described: Mapping[str, str] | None = None,
) -> str:
    """Write claims as a page of Markdown: ``head``, a table of all claims, then sections.

    A section begins with the text in ``described`` under its label.
    """
    parts = [head, _table(OVERVIEW, overview(claims)), f"{OVERVIEW_NOTE}\n"]
    for label, claim in claims.items():
        description = f"{_cell(described[label])}.\n\n" if described else ""
        parts.append(f"## {_cell(label)}\n\n{description}{_section(claim)}")
    return "\n".join(parts)


def _section(claim: PrivacyClaim) -> str:
    rows = [(title, "\n".join(lines)) for title, lines in claim.rows()]
    return f"**{_cell(claim.headline)}**\n\n{_table(('', ''), rows)}"


def _world(world: Environment) -> str:
    names = [kind.name for kind in systems() if kind.plays_in(type(world))]
    return (
        f"{world.parties} {world.words.parties} for {' and '.join(f'`{name}`' for name in names)}"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(map(_cell, row)) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """Escape text, so that it cannot end a cell or be markup; line breaks are kept."""
    return re.sub(r"[\\|*_<[`]", r"\\\g<0>", text).replace("\n", "<br>")
