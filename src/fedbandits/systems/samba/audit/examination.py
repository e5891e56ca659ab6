"""SAMBA's part of an audit: parties play in a small world, and participants look and guess.

The table of sight is the paper's Figure 7. For every participant, each message that reached the
participant is opened with all keys found in the participant, and the contents are compared with the
truth. The table does not rest on the purpose of a message: a surplus key, a mask of 1 or a
permutation that stands still shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.learners.kernels.index_rules import DecreasingEpsilonGreedy, EpsilonGreedy, Pursuit
from fedbandits.privacy.auditing import scaled
from fedbandits.privacy.error_rates import Examined, Guess
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.samba.audit.adversary import (
    OBSERVER,
    ONE_OWNER,
    Adversary,
    Exposure,
    SilentAdversary,
)
from fedbandits.systems.samba.audit.attack import (
    READS_OTHER,
    SCORES_KNOWN,
    Hits,
    count_recovered,
    exploring_steps,
    guess_by_drawn_score,
    guess_by_last_answer,
    guess_by_place,
    guess_by_winner,
    other_sums,
    pulled_arms,
)
from fedbandits.systems.samba.audit.published_adversary import PublishedAdversary
from fedbandits.systems.samba.audit.views import first_views, open_first, open_second, second_views
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.keys import (
    COMP,
    CONTROLLER,
    CUSTOMER,
    DEALER,
    ServerKeys,
    SimulatedSecrets,
)
from fedbandits.systems.samba.plan import SambaPlan, make_plan

#: Columns of the table, and their headings; a silent run has a dealer, too.
PARTICIPANTS = {
    ONE_OWNER: "data owner i",
    CUSTOMER: "customer",
    COMP: "Comp",
    CONTROLLER: "Controller",
    OBSERVER: "external observer",
}
SILENT_PARTICIPANTS = {**PARTICIPANTS, DEALER: "dealer"}
#: Participants that might pool their views, and their headings.
COALITIONS = {
    (CONTROLLER, ONE_OWNER): "Controller and data owner i",
    (COMP, ONE_OWNER): "Comp and data owner i",
    (COMP, CONTROLLER): "Comp and Controller",
}
SILENT_COALITIONS = {
    **COALITIONS,
    (DEALER, CONTROLLER): "dealer and Controller",
    (DEALER, COMP): "dealer and Comp",
}
#: Every participant as a listener to all messages: messages for others must not open.
LISTENERS: dict[tuple[str, ...], str] = {
    (name, OBSERVER): name for name in SILENT_PARTICIPANTS if name != OBSERVER
}
REWARD, OWN, OTHERS, PULLED, SINGLE = (
    "cumulative reward",
    "sum of rewards and pulls of owner i",
    "the same of other owners",
    "arm pulled at step t",
    "reward at step t",
)
_CLEAR, _ENCRYPTED, _NOT_SEEN = Exposure.CLEAR, Exposure.ENCRYPTED, Exposure.NOT_SEEN
_OUTSIDE = {CONTROLLER: _ENCRYPTED, OBSERVER: _ENCRYPTED}
#: The paper's Figure 7: how each datum may be seen; by all others not at all.
FIGURE_7: dict[str, dict[str, Exposure]] = {
    REWARD: {CUSTOMER: _CLEAR, **_OUTSIDE},
    OWN: {ONE_OWNER: _CLEAR, COMP: Exposure.MASKED_PERMUTED, **_OUTSIDE},
    OTHERS: {COMP: Exposure.MASKED_PERMUTED, **_OUTSIDE},
    PULLED: {ONE_OWNER: _CLEAR, COMP: Exposure.PERMUTED, **_OUTSIDE},
    SINGLE: {ONE_OWNER: _CLEAR},
}
#: The same of a silent run.
ALLOWED: dict[str, dict[str, Exposure]] = {
    REWARD: {CUSTOMER: _CLEAR, OBSERVER: _ENCRYPTED},
    OWN: {ONE_OWNER: _CLEAR, OBSERVER: _ENCRYPTED},
    OTHERS: {OBSERVER: _ENCRYPTED},
    PULLED: {ONE_OWNER: _CLEAR, OBSERVER: _ENCRYPTED},
    SINGLE: {ONE_OWNER: _CLEAR},
}
#: Rules whose scores may be zero, which no mask hides (stated in the claim).
_MAY_BE_ZERO = (EpsilonGreedy, DecreasingEpsilonGreedy, Pursuit)

#: Datum by participant.
Table = Mapping[str, Mapping[str, Exposure]]
#: Most arms, most pulls for guesses, and pulls for the table.
_ARMS, _PULLS, _LOOKED_AT = 5, 800, 40
#: Least pulls for guesses.
_LEAST_PULLS = 100
#: Participants to which messages tell an owner's place in Comp's next list.
_KNOW_PLACES = ("controller", OBSERVER)


def security_table(
    run: PartiesReplicate,
    secrets: SimulatedSecrets | None = None,
    who: Mapping[tuple[str, ...], str] | None = None,
) -> dict[str, dict[str, Exposure]]:
    """Make the table of a run that was played to its end: datum by participant.

    ``secrets`` are all secrets of a silent run. ``who`` are participants with common views, as
    :data:`COALITIONS`; by default every participant is alone.
    """
    participants = SILENT_PARTICIPANTS if secrets else PARTICIPANTS
    who = who or {(name,): name for name in participants}
    adversaries: dict[str, Adversary] = {
        text: SilentAdversary(run, secrets, *names) if secrets else PublishedAdversary(run, *names)
        for names, text in who.items()
    }
    others = range(1, len(run.of("owner")))
    return {
        REWARD: {name: adversary.cumulative_reward() for name, adversary in adversaries.items()},
        OWN: {name: adversary.statistics([0]) for name, adversary in adversaries.items()},
        OTHERS: {name: adversary.statistics(others) for name, adversary in adversaries.items()},
        PULLED: {name: adversary.pulls() for name, adversary in adversaries.items()},
        SINGLE: {name: adversary.single_rewards() for name, adversary in adversaries.items()},
    }


def excess(table: Table, rule: Any) -> Iterator[tuple[str, str, Exposure]]:
    """List the cells that exceed the paper's figure, with their exposure."""
    for datum, participant, seen in _cells(table):
        allowed = FIGURE_7[datum].get(participant, _NOT_SEEN)
        if allowed is Exposure.MASKED_PERMUTED and isinstance(rule, _MAY_BE_ZERO):
            allowed = Exposure.PERMUTED
        if seen > allowed:
            yield datum, participant, seen


def silent_excess(
    table: Table, total: str, hears: bool = False
) -> Iterator[tuple[str, str, Exposure]]:
    """List the cells of a silent run that exceed the claim about single participants.

    ``total`` is the setting: Paillier's ciphertexts pass through the Controller. With ``hears``
    every participant hears all messages, as :data:`LISTENERS`, so it has sealed data of others.
    """
    least = _ENCRYPTED if hears else _NOT_SEEN
    for datum, participant, seen in _cells(table):
        allowed = max(ALLOWED[datum].get(participant, _NOT_SEEN), least)
        if total == "paillier" and participant in (CONTROLLER, CUSTOMER, ONE_OWNER):
            allowed = max(allowed, _ENCRYPTED)
        if seen > allowed:
            yield datum, participant, seen


def _cells(table: Table) -> Iterator[tuple[str, str, Exposure]]:
    for datum, row in table.items():
        for participant, seen in row.items():
            yield datum, participant, seen


def examine(system: System[Any], plan: SambaPlan, scale: float = 1.0) -> Examined | None:
    """Make the table, and the guesses, of runs of this variant; None in a plain run.

    Arms and pulls of the runs are few. ``scale`` is how many times as many pulls are guessed about
    as in an audit of the usual size.
    """
    config = plan.config
    if config.execution == "plain":
        return None
    if config.is_silent:  # AES-GCM shows which packets open
        looked = msgspec.structs.replace(config, cipher="aes-gcm")
        plan = msgspec.structs.replace(plan, config=looked)
    small = _play(system, plan, _LOOKED_AT)
    run = _play(system, plan, scaled(_PULLS, scale, _LEAST_PULLS))
    return look(small, run)


def look(run: PartiesReplicate, longer: PartiesReplicate | None = None, seed: int = 0) -> Examined:
    """Make the table, and the guesses, of a run that was played to its end.

    A ``longer`` run of the variant has more guesses. Secrets follow from ``seed``.
    """
    plan: Any = run.plan
    config, guessed = plan.config, longer or run
    if config.is_silent:
        secrets = SimulatedSecrets.derive(seed, 0)
        seen, participants = security_table(run, secrets), SILENT_PARTICIPANTS
        guesses = _silent_guesses(guessed, secrets, config)
        unstated = _silently_unstated(run, secrets, seen)
    else:
        seen, participants = security_table(run), PARTICIPANTS
        guesses, unstated = _guesses(guessed, plan), _unstated(seen, plan)
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


def _guess(who: str, text: str, hits: Hits, stated: bool) -> Guess:
    return Guess(who=who, what=text, stated=stated, **hits._asdict())


def _guess_by_last_answer(run: PartiesReplicate, stated: bool) -> Guess:
    text = "the arm of a step, from whose answer is last"
    return _guess("external observer", text, guess_by_last_answer(run), stated)


def _guesses(run: PartiesReplicate, plan: SambaPlan) -> Iterator[Guess]:
    stated = plan.config.execution != "secure"
    first = stated or plan.config.tie_breaking == "first"
    drawn = _states_drawn_arm(plan)
    rule, arms = run.one("controller").agreement.rule, len(run.of("owner"))
    if type(rule) in SCORES_KNOWN:
        recovered = count_recovered(run)
        hits = Hits(recovered.statistics, recovered.of, 0.0)
        yield _guess("Comp", "every (sᵢ, nᵢ), without names, before a comparison", hits, True)
    exploring = exploring_steps(run)
    others = [step for step in pulled_arms(run) if step not in set(exploring)]
    other = "another step" if exploring else "a step"
    groups = (exploring, "a step that explores", first or drawn), (others, other, first)
    for steps, text, said in groups:
        if steps:
            hits = guess_by_place(run, steps)
            yield _guess("Controller", f"the arm of {text}, from its place", hits, said)
    if exploring and plan.config.controller_draws:
        text = "the arm of a step that explores, from the scores it drew"
        yield _guess("Controller", text, guess_by_drawn_score(run, exploring), stated or drawn)
    yield _guess_by_last_answer(run, stated)
    if arms == 2 and type(rule) in READS_OTHER:
        known = [possible == {true} for true, possible in other_sums(run)]
        hits = Hits(sum(known), len(known), 0.0)
        yield _guess("data owner i", "the other owner's sum, from its own bits", hits, True)


def _unstated(seen: Table, plan: SambaPlan) -> Iterator[str]:
    """List the cells of a published run that the claim does not state."""
    config = plan.config
    for datum, participant, exposure in excess(seen, config.algorithm.rule()):
        known = config.tie_breaking == "first" or _states_drawn_arm(plan)
        if known and datum == PULLED and participant in _KNOW_PLACES:
            continue
        yield f"{PARTICIPANTS[participant]}: {datum}: {exposure.text}"


def _silently_unstated(
    run: PartiesReplicate, secrets: SimulatedSecrets, seen: Table
) -> Iterator[str]:
    """List the cells of a silent run beyond the claim, for participants alone and as listeners."""
    plan: Any = run.plan
    heard = security_table(run, secrets, LISTENERS)
    for table, hears, text in ((seen, False, ""), (heard, True, ", who hears all messages")):
        for datum, who, exposure in silent_excess(table, plan.config.total, hears):
            yield f"{SILENT_PARTICIPANTS[who]}{text}: {datum}: {exposure.text}"


def _silent_guesses(
    run: PartiesReplicate, secrets: SimulatedSecrets, config: Samba
) -> Iterator[Guess]:
    owners, agreed = [party.name for party in run.of("owner")], run.one("controller").agreement
    mine, arity = secrets._asdict(), config.arity
    firsts = first_views(run, ServerKeys.make(mine, owners, agreed, True))
    seconds = second_views(run, ServerKeys.make(mine, owners, agreed, False))
    by_first = [open_first(view, arity) for view in firsts]
    by_second = [open_second(view, arity) for view in seconds]
    text = "the arm of a step, from the winner's place"
    for who, opened in (("Controller", by_first), ("Comp", by_second)):
        yield _guess(who, text, guess_by_winner(run, opened), False)
    yield _guess_by_last_answer(run, config.execution != "secure")
