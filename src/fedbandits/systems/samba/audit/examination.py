"""SAMBA's part of an audit: parties play in a small world, and everybody looks and guesses."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import msgspec

from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.privacy.examined import Examined, Guess
from fedbandits.privacy.sizes import scaled
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.samba.audit.attack import SCORES_KNOWN, count_recovered
from fedbandits.systems.samba.audit.guesses import (
    READS_OTHER,
    exploring_steps,
    guess_by_drawn_score,
    guess_by_last_answer,
    guess_by_place,
    other_sums,
    pulled_arms,
)
from fedbandits.systems.samba.audit.sight import OBSERVER
from fedbandits.systems.samba.audit.silent_examination import examine_silently
from fedbandits.systems.samba.audit.table import PARTICIPANTS, PULLED, excess, security_table
from fedbandits.systems.samba.plan import SambaPlan, make_plan

#: Most arms and pulls of the run that is guessed about, pulls of the one that is looked through.
_ARMS, _PULLS, _LOOKED_AT = 5, 800, 40
#: Pulls of the run that is guessed about, at least.
_LEAST_PULLS = 100
#: Whom a message's place tells where an owner stands in Comp's next list.
_KNOW_PLACES = ("controller", OBSERVER)


def examine(system: System[Any], plan: SambaPlan, scale: float = 1.0) -> Examined | None:
    """Who sees what in a run of this variant, and who guesses what; None where nobody exchanges.

    Parameters
    ----------
    system
        The system whose parties play.
    plan
        The variant is its; arms and pulls are few.
    scale
        How many times as many pulls are guessed about as in an audit of the usual size.
    """
    if plan.config.execution == "plain":
        return None
    if plan.config.is_silent:
        return examine_silently(functools.partial(_play, system), plan, scale)
    seen = security_table(_play(system, plan, _LOOKED_AT))
    guesses = tuple(_guesses(_play(system, plan, scaled(_PULLS, scale, _LEAST_PULLS)), plan))
    return Examined(
        guesses=guesses,
        participants=tuple(PARTICIPANTS.values()),
        table=tuple(
            (datum, *(row[name].text for name in PARTICIPANTS)) for datum, row in seen.items()
        ),
        excess=tuple(_unstated(seen, plan)),
    )


def _explores_in_sight(plan: SambaPlan) -> bool:
    """Whether the claim says that the Controller knows the arm of steps that explore."""
    return plan.config.explores and plan.config.controller_draws


def _play(system: System[Any], plan: SambaPlan, pulls: int) -> PartiesReplicate:
    """A small run of the variant; its keys are short, which changes nothing that is looked at."""
    world = Bernoulli(arms=min(_ARMS, plan.arms))
    config = msgspec.structs.replace(plan.config, paillier_bits=2048)
    small = make_plan(config, world.facts, pulls)
    run = PartiesReplicate(system, small, world, 0, 0)
    run.advance(pulls)
    return run


def _guesses(run: PartiesReplicate, plan: SambaPlan) -> Iterator[Guess]:
    stated = plan.config.execution != "secure"
    first = stated or plan.config.tie_breaking == "first"
    drawn = _explores_in_sight(plan)
    rule, arms = run.one("controller").agreement.rule, len(run.of("owner"))
    if type(rule) in SCORES_KNOWN:
        found = count_recovered(run)
        yield Guess(
            who="Comp", what="every (sᵢ, nᵢ), without names, before a comparison",
            right=found.statistics, of=found.of, chance=0.0, stated=True,
        )  # fmt: skip
    exploring = exploring_steps(run)
    others = [step for step in pulled_arms(run) if step not in set(exploring)]
    other = "another step" if exploring else "a step"
    groups = (exploring, "a step that explores", first or drawn), (others, other, first)
    for steps, text, said in groups:
        if steps:
            hits = guess_by_place(run, steps)
            yield Guess(
                who="Controller", what=f"the arm of {text}, from its place", stated=said,
                **hits._asdict(),
            )  # fmt: skip
    if exploring and plan.config.controller_draws:
        yield Guess(
            who="Controller", what="the arm of a step that explores, from the scores it drew",
            stated=stated or drawn, **guess_by_drawn_score(run, exploring)._asdict(),
        )  # fmt: skip
    late = guess_by_last_answer(run)
    yield Guess(
        who="external observer", what="the arm of a step, from whose answer is last",
        stated=stated, **late._asdict(),
    )  # fmt: skip
    if arms == 2 and type(rule) in READS_OTHER:
        known = [possible == {true} for true, possible in other_sums(run)]
        yield Guess(
            who="data owner i", what="the other owner's sum, from its own bits",
            right=sum(known), of=len(known), chance=0.0, stated=True,
        )  # fmt: skip


def _unstated(seen: dict[str, dict[str, Any]], plan: SambaPlan) -> Iterator[str]:
    """What shows in the table and not in the claim, which says that a run in clear shows all."""
    config = plan.config
    if config.execution != "secure":
        return
    for datum, participant, sight in excess(seen, config.algorithm.rule()):
        known = config.tie_breaking == "first" or _explores_in_sight(plan)
        if known and datum == PULLED and participant in _KNOW_PLACES:
            continue
        yield f"{PARTICIPANTS[participant]}: {datum}: {sight.text}"
