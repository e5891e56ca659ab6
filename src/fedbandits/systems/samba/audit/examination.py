"""SAMBA's part of an audit: parties play in a small world, and everybody looks and guesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.privacy.examined import Examined, Guess
from fedbandits.privacy.sizes import scaled
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.samba.audit.adversary import OBSERVER
from fedbandits.systems.samba.audit.attack import (
    READS_OTHER,
    SCORES_KNOWN,
    Hits,
    count_recovered,
    exploring_steps,
    guess_by_drawn_score,
    guess_by_last_answer,
    guess_by_place,
    other_sums,
    pulled_arms,
)
from fedbandits.systems.samba.audit.table import (
    LISTENERS,
    PARTICIPANTS,
    PULLED,
    SILENT_PARTICIPANTS,
    Table,
    excess,
    security_table,
    silent_excess,
    silent_table,
)
from fedbandits.systems.samba.audit.transcripts import first_views, second_views
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.keys import FirstKeys, SecondKeys, SimulatedSecrets
from fedbandits.systems.samba.plan import SambaPlan, make_plan
from fedbandits.systems.samba.silent.views import (
    Opened,
    expanded_first,
    expanded_second,
    open_first,
    open_second,
)

#: Most arms and pulls of the run that is guessed about, pulls of the one that is looked through.
_ARMS, _PULLS, _LOOKED_AT = 5, 800, 40
#: Pulls of the run that is guessed about, at least.
_LEAST_PULLS = 100
#: Whom a message's place tells where an owner stands in Comp's next list.
_KNOW_PLACES = ("controller", OBSERVER)
#: How the winner's place is taken for an owner: as it is, or through the server's own order.
_READINGS = ("won", "unshuffled", "shuffled")


def examine(system: System[Any], plan: SambaPlan, scale: float = 1.0) -> Examined | None:
    """Look who sees what in a run of this variant, and who guesses what; None in a plain run.

    Parameters
    ----------
    system
        The system whose parties play.
    plan
        A plan of the variant; arms and pulls of the runs are few.
    scale
        How many times as many pulls are guessed about as in an audit of the usual size.
    """
    config = plan.config
    if config.execution == "plain":
        return None
    if config.is_silent:  # sealed with AES-GCM, so that it shows which packets open
        looked = msgspec.structs.replace(config, cipher="aes-gcm")
        plan = msgspec.structs.replace(plan, config=looked)
    small = _play(system, plan, _LOOKED_AT)
    run = _play(system, plan, scaled(_PULLS, scale, _LEAST_PULLS))
    if config.is_silent:
        secrets = SimulatedSecrets.derive(0, 0)
        seen, participants = silent_table(small, secrets), SILENT_PARTICIPANTS
        guesses = _silent_guesses(run, secrets, config)
        unstated = _silently_unstated(small, secrets, seen)
    else:
        seen, participants = security_table(small), PARTICIPANTS
        guesses, unstated = _guesses(run, plan), _unstated(seen, plan)
    return Examined(
        guesses=tuple(guesses),
        participants=tuple(participants.values()),
        table=tuple(
            (datum, *(row[name].text for name in participants)) for datum, row in seen.items()
        ),
        # A claim says that a run in clear shows everything.
        excess=tuple(unstated) if config.execution == "secure" else (),
    )


def _states_drawn_arm(plan: SambaPlan) -> bool:
    """Tell whether the claim says that the Controller knows the arm of steps that explore."""
    return plan.config.explores and plan.config.controller_draws


def _play(system: System[Any], plan: SambaPlan, pulls: int) -> PartiesReplicate:
    """Play a small run of the variant, with secrets of seed 0; its Paillier key is short."""
    world = Bernoulli(arms=min(_ARMS, plan.arms))
    config = msgspec.structs.replace(plan.config, paillier_bits=2048)
    small = make_plan(config, world.facts, pulls)
    run = PartiesReplicate(system, small, world, 0, 0)
    run.advance(pulls)
    return run


def _guesses(run: PartiesReplicate, plan: SambaPlan) -> Iterator[Guess]:
    stated = plan.config.execution != "secure"
    first = stated or plan.config.tie_breaking == "first"
    drawn = _states_drawn_arm(plan)
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


def _unstated(seen: Table, plan: SambaPlan) -> Iterator[str]:
    """List what shows in the table of a published run and not in the claim."""
    config = plan.config
    for datum, participant, exposure in excess(seen, config.algorithm.rule()):
        known = config.tie_breaking == "first" or _states_drawn_arm(plan)
        if known and datum == PULLED and participant in _KNOW_PLACES:
            continue
        yield f"{PARTICIPANTS[participant]}: {datum}: {exposure.text}"


def _silently_unstated(
    run: PartiesReplicate, secrets: SimulatedSecrets, seen: Table
) -> Iterator[str]:
    """List who sees too much in a silent run, alone and with whatever a listener hears."""
    plan: Any = run.plan
    heard = silent_table(run, secrets, LISTENERS)
    for table, hears, text in ((seen, False, ""), (heard, True, ", who hears all messages")):
        for datum, who, exposure in silent_excess(table, plan.config.total, hears):
            yield f"{SILENT_PARTICIPANTS[who]}{text}: {datum}: {exposure.text}"


def _silent_guesses(
    run: PartiesReplicate, secrets: SimulatedSecrets, config: Samba
) -> Iterator[Guess]:
    owners, agreed = [party.name for party in run.of("owner")], run.one("controller").agreement
    mine, arity = secrets._asdict(), config.arity
    firsts = first_views(run, FirstKeys.make(mine, owners, agreed))
    seconds = second_views(run, SecondKeys.make(mine, owners, agreed))
    by_first = [open_first(view, expanded_first(view, arity), arity) for view in firsts]
    by_second = [open_second(view, expanded_second(view, arity), arity) for view in seconds]
    for who, opened in (("Controller", by_first), ("Comp", by_second)):
        yield Guess(
            who=who, what="the arm of a step, from the winner's place", stated=False,
            **guess_by_winner(run, opened)._asdict(),
        )  # fmt: skip
    yield Guess(
        who="external observer", what="the arm of a step, from whose answer is last",
        stated=config.execution != "secure", **guess_by_last_answer(run)._asdict(),
    )  # fmt: skip


def guess_by_winner(run: PartiesReplicate, opened: Sequence[Opened]) -> Hits:
    """Take the winner's place for an owner, as it is or through the server's own order.

    From the first half of ``opened``, what the server makes of every turn, it learns which reading
    is best.
    """
    pulled, iterations = pulled_arms(run), run.one("controller").agreement.iterations
    last = opened[iterations - 1 :: iterations]
    arms = [pulled[step] for step in sorted(pulled)]
    half, count = len(arms) // 2, len(run.of("owner"))
    hits = {
        reading: [int(getattr(o, reading)[0]) == arm for o, arm in zip(last, arms, strict=True)]
        for reading in _READINGS
    }
    best = max(_READINGS, key=lambda reading: sum(hits[reading][:half]))
    return Hits(sum(hits[best][half:]), len(arms) - half, 1.0 / count)
