"""The audit of a silent run: who sees what, and whether a server guesses who won."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fedbandits.privacy.examined import Examined, Guess
from fedbandits.privacy.sizes import scaled
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.samba.audit.guesses import Hits, guess_by_last_answer, pulled_arms
from fedbandits.systems.samba.audit.sight import OBSERVER, OWNER, Sight
from fedbandits.systems.samba.audit.silent_sight import SilentExamination
from fedbandits.systems.samba.audit.table import (
    OTHERS,
    OWN,
    PARTICIPANTS,
    PULLED,
    REWARD,
    SINGLE,
    Table,
)
from fedbandits.systems.samba.audit.transcripts import first_views, second_views
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.names import COMP, CONTROLLER, CUSTOMER, DEALER
from fedbandits.systems.samba.silent.streams import SilentSecrets
from fedbandits.systems.samba.silent.views import (
    Opened,
    expanded_first,
    expanded_second,
    open_first,
    open_second,
)
from fedbandits.systems.samba.streams import SimulatedSecrets

#: Columns of the table: those of the published variant, and the dealer.
LOOKING = {**PARTICIPANTS, DEALER: "dealer"}
#: Those who might pool what they see, and what they are called.
TOGETHER = {
    (CONTROLLER, OWNER): "Controller and data owner i",
    (COMP, OWNER): "Comp and data owner i",
    (COMP, CONTROLLER): "Comp and Controller",
    (DEALER, CONTROLLER): "dealer and Controller",
    (DEALER, COMP): "dealer and Comp",
}
#: Everybody as one who hears all messages too: what is not meant for it must not open.
LISTENING: dict[tuple[str, ...], str] = {
    (name, OBSERVER): name for name in LOOKING if name != OBSERVER
}
#: How each datum may be seen; by all others not at all.
ALLOWED: dict[str, dict[str, Sight]] = {
    REWARD: {CUSTOMER: Sight.CLEAR, OBSERVER: Sight.ENCRYPTED},
    OWN: {OWNER: Sight.CLEAR, OBSERVER: Sight.ENCRYPTED},
    OTHERS: {OBSERVER: Sight.ENCRYPTED},
    PULLED: {OWNER: Sight.CLEAR, OBSERVER: Sight.ENCRYPTED},
    SINGLE: {OWNER: Sight.CLEAR},
}
#: Pulls of the run that is looked through, and of the one that is guessed about (at least).
_LOOKED_AT, _PULLS, _LEAST_PULLS = 40, 800, 100
#: How the winner's place is taken for an owner: as it is, or through the server's own order.
_READINGS = ("won", "unshuffled", "shuffled")


def silent_table(
    run: PartiesReplicate,
    secrets: SilentSecrets,
    who: Mapping[tuple[str, ...], str] | None = None,
) -> dict[str, dict[str, Sight]]:
    """Who sees what, from the transcript of a silent run: datum by participant.

    Parameters
    ----------
    run
        A silent run of SAMBA's parties, played to its end.
    secrets
        All of its secrets.
    who
        Those who pool what they see, as :data:`TOGETHER`; by default everybody alone.
    """
    alone = {(name,): name for name in LOOKING}
    eyes = {text: SilentExamination(run, secrets, *names) for names, text in (who or alone).items()}
    others = range(1, len(run.of("owner")))
    return {
        REWARD: {name: eye.cumulative_reward() for name, eye in eyes.items()},
        OWN: {name: eye.statistics([0]) for name, eye in eyes.items()},
        OTHERS: {name: eye.statistics(others) for name, eye in eyes.items()},
        PULLED: {name: eye.pulls() for name, eye in eyes.items()},
        SINGLE: {name: eye.single_rewards() for name, eye in eyes.items()},
    }


def silent_excess(
    table: Table, total: str, hears: bool = False
) -> Iterator[tuple[str, str, Sight]]:
    """Cells in which somebody sees more than the claim says: datum, participant, how.

    Parameters
    ----------
    table
        Of :func:`silent_table`, everybody alone.
    total
        How the customer gets the total: Paillier's ciphertexts pass through the Controller.
    hears
        Whether everybody hears all messages, as :data:`LISTENING`: then it has the packets that
        were not for it, sealed.
    """
    least = Sight.ENCRYPTED if hears else Sight.NOT_SEEN
    for datum, row in table.items():
        for participant, sight in row.items():
            allowed = max(ALLOWED[datum].get(participant, Sight.NOT_SEEN), least)
            if total == "paillier" and participant in (CONTROLLER, CUSTOMER, OWNER):
                allowed = max(allowed, Sight.ENCRYPTED)
            if sight > allowed:
                yield datum, participant, sight


def examine_silently(
    play: Callable[[SambaPlan, int], PartiesReplicate], plan: SambaPlan, scale: float
) -> Examined:
    """Who sees what in a small run of a silent variant, and who guesses what.

    Parameters
    ----------
    play
        Plays a small run of a plan's variant, of so many pulls, with the secrets of seed 0.
    plan
        The variant is its. Packets are sealed with AES-GCM, so that it shows which ones open.
    scale
        How many times as many pulls are guessed about as in an audit of the usual size.
    """
    config = plan.config
    looked = msgspec.structs.replace(plan, config=msgspec.structs.replace(config, cipher="aes-gcm"))
    secrets = SilentSecrets.simulated(SimulatedSecrets.derive(0, 0))
    small, run = play(looked, _LOOKED_AT), play(looked, scaled(_PULLS, scale, _LEAST_PULLS))
    seen = silent_table(small, secrets)
    excess = tuple(_excess(small, secrets, seen)) if config.execution == "secure" else ()
    return Examined(
        guesses=tuple(_guesses(run, secrets, config)),
        participants=tuple(LOOKING.values()),
        table=tuple((datum, *(row[name].text for name in LOOKING)) for datum, row in seen.items()),
        excess=excess,
    )


def _excess(run: PartiesReplicate, secrets: SilentSecrets, seen: Table) -> Iterator[str]:
    """Who sees too much, alone and with whatever a listener hears."""
    plan: Any = run.plan
    for datum, who, sight in silent_excess(seen, plan.config.total):
        yield f"{LOOKING[who]}: {datum}: {sight.text}"
    heard = silent_table(run, secrets, LISTENING)
    for datum, who, sight in silent_excess(heard, plan.config.total, hears=True):
        yield f"{LOOKING[who]}, who hears all messages: {datum}: {sight.text}"


def _guesses(run: PartiesReplicate, secrets: SilentSecrets, config: Any) -> Iterator[Guess]:
    owners, agreed = [party.name for party in run.of("owner")], run.one("controller").agreement
    firsts = first_views(run, secrets.controller(owners, agreed))
    seconds = second_views(run, secrets.comp(owners, agreed))
    by_first = [open_first(v, expanded_first(v, config.arity), config.arity) for v in firsts]
    by_second = [open_second(v, expanded_second(v, config.arity), config.arity) for v in seconds]
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
    """A server takes the winner's place for an owner, as it is or through its own order.

    Parameters
    ----------
    run
        A silent run, played to its end.
    opened
        What the server makes of every turn. From the first half it learns which reading is best.
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
