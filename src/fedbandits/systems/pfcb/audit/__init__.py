"""P-FCB in two neighbouring worlds, for an audit.

The record is one purchase from one producer: all units that can be bought, all of them good, in one
world; in the other nothing was bought, or, where only outcomes are covered, none of them is good.
Where outcomes may come late, it also moves from one batch to another.

:mod:`.releases` attacks reports as configured and looks at their noise; whole buyers are attacked
here.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fedbandits.environments.procurement import Procurement
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.systems.aggregation import SecureSum, of_few
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import BEYOND, Neighbours
from fedbandits.systems.party_games import MessagesGame, SmallWorld, Targets, moves
from fedbandits.systems.pfcb.audit.buyers import (
    BuyersRun,
    LateRun,
    Order,
    exchange_rounds_of,
)
from fedbandits.systems.pfcb.audit.releases import (
    UNITS,
    contents_games,
    covariance_over_time,
    moved_game,
    secure_numbers,
    share_numbers,
    simulated_numbers,
)
from fedbandits.systems.pfcb.config import PFCB, Growing
from fedbandits.systems.pfcb.kernels import CLEAR
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.sums_audit import sums_checks
from fedbandits.systems.sums_audit.run import MEMBERS, SUMS, SumsAudited


def games(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[Game]:
    """Return what an audit plays: reports as configured, then whole buyers on a log, reacting."""
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    moves = plan.late and plan.constants.releases > 1
    small = small_world(system, plan.config, plan.facts.parties)
    return [
        *contents_games(plan),
        *([moved_game(plan)] if moves else []),
        *messages_games(small),
        *([late_game(small)] if moves and small.plan.constants.releases > 1 else []),
        *moves_games(making_all(system, plan)),
    ]


def noise_checks(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[NoisyNumbers]:
    """Return all that buyers report: as configured, and as a few of them with secure noise."""
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    small = making_all(system, plan)
    if plan.secure is not None:
        return [share_numbers(small, secure) for secure in (True, False)]
    return [simulated_numbers(plan), secure_numbers(small)]


def protocol_checks(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[ProtocolCheck]:
    """Return checks of secure sums beside their noise; none where reports are seen."""
    if plan.secure is None or plan.constants.releases == 0:
        return []
    small = _releasing(system, plan, SUMS, MEMBERS)
    covariance = covariance_over_time(small.plan)
    return sums_checks(SumsAudited(system, plan, small, "buyer", covariance))


ROUNDS = 48
#: Releases that whole buyers make where they make all.
_MOST_RELEASES = 24
#: Of so many buyers of secure sums one may tell the others its noise, and three share the noise.
BUYERS, PRODUCERS = 4, 2
#: The world that whole buyers are audited in.
WORLD = Procurement(
    agents=BUYERS, producers=PRODUCERS, max_capacity=UNITS, quality_threshold=0.1, instance=1
)


def small_world(system: System[PFCBPlan], config: PFCB, parties: int = BUYERS) -> SmallWorld:
    """Return the variant of so many ``parties`` as four buyers play it."""
    return _played(system, msgspec.structs.replace(config, window="auto"), ROUNDS, parties)


def making_all(system: System[PFCBPlan], plan: PFCBPlan) -> SmallWorld:
    """Return four buyers that make all releases of a plan, if not too many, one a round."""
    return _releasing(system, plan, min(plan.constants.releases, _MOST_RELEASES))


def _releasing(
    system: System[PFCBPlan], plan: PFCBPlan, releases: int, buyers: int = BUYERS
) -> SmallWorld:
    """Return a few buyers that make so many releases, one a round."""
    small = plan.config
    if not plan.constants.every_round:
        small = msgspec.structs.replace(small, schedule=Growing(1.01), window=(1, releases))
    return _played(system, small, releases + 1, plan.facts.parties, buyers)


def _played(
    system: System[PFCBPlan], config: PFCB, rounds: int, parties: int, buyers: int = BUYERS
) -> SmallWorld:
    """Return the variant of so many ``parties`` as a few ``buyers`` play it."""
    small, world = config, msgspec.structs.replace(WORLD, agents=buyers)
    if isinstance(config.aggregation, SecureSum):
        few = of_few(config.aggregation, parties, buyers)
        small = msgspec.structs.replace(small, aggregation=few)
        # With equal capacities a purchase moves sums the farthest.
        world = msgspec.structs.replace(world, homogeneous=True)
    return SmallWorld(system, system.plan(small, world.facts, rounds), world)


def messages_games(small: SmallWorld) -> list[Game]:
    """Attack whole buyers on a log and reacting; a later purchase of sums; with secure noise."""
    plan, ends = small.plan, exchange_rounds_of(small.plan)
    # In the first running sum, and so in all; a batch is as good as any other.
    early = 1, ends[0] if plan.continual is not None else ends[-1]
    found: list[Game] = [
        messages_game(small, "fixed log", early),
        messages_game(small, "interactive", early),
    ]
    if plan.continual is not None and len(ends) > 1:
        found.append(messages_game(small, "fixed log", (ends[0] + 1, ends[-1])))
    found.append(messages_game(small, "fixed log", (1, ends[-1]), secure=True))
    return found


def moves_games(small: SmallWorld) -> list[Game]:
    """Measure how far a purchase moves all releases, within its bounds and beyond."""
    rounds, words = (1, small.plan.rounds), f", {small.plan.constants.releases} releases"
    within = messages_game(small, "fixed log", rounds)
    beyond = messages_game(small, "fixed log", rounds, times=int(BEYOND))
    stretched = f"{beyond.looks_at}{words}, a purchase beyond its capacity"
    return moves(
        within._replace(looks_at=f"{within.looks_at}{words}"), beyond._replace(looks_at=stretched)
    )


def messages_game(
    small: SmallWorld, neighbours: Neighbours, rounds: tuple[int, int], secure: bool = False,
    times: int = 1,
) -> MessagesGame:  # fmt: skip
    """Attack whole buyers, of whom one's purchase from one producer is replaced.

    Its round is drawn from ``rounds``, the first and the last. ``secure``: with the noise of a
    deployment. It may be so many ``times`` as large as the capacity.
    """
    plan, (first, last), fixed = small.plan, rounds, neighbours == "fixed log"
    # Whoever acts on reports alone buys what follows from them and from what is public.
    informed = fixed or plan.config.local_view == "released"

    def make(run: PartiesReplicate, number: int, targets: Targets) -> BuyersRun:
        orders = [Order(buyer, producer, first + after) for buyer, producer, after in targets]
        return BuyersRun(run, number, fixed, informed, orders, times)

    which = f", a purchase of rounds {first} to {last}" + (", with secure noise" if secure else "")
    what = "messages" if plan.secure is None else "sums by messages"
    buyers = plan.constants.agents
    looks_at = f"{what} of one drawn of {buyers} buyers in {plan.rounds} rounds{which}"
    return MessagesGame(
        neighbours, looks_at, small, (buyers, PRODUCERS, last - first + 1), make, informed, secure,
        covariance_over_time(plan),
    )  # fmt: skip


def late_game(small: SmallWorld) -> MessagesGame:
    """Attack whole buyers, of whom one's purchase is inspected in time, or late.

    They must have two exchanges at least.
    """
    plan, last = small.plan, exchange_rounds_of(small.plan)[-2]

    def make(run: PartiesReplicate, number: int, targets: Targets) -> LateRun:
        ((buyer, producer, after),) = targets
        return LateRun(run, number, Order(buyer, producer, 1 + after))

    buyers = plan.constants.agents
    looks_at = (
        f"messages of one drawn of {buyers} buyers in {plan.rounds} rounds, a purchase of rounds 1 "
        f"to {last} whose outcome comes before its report or after it"
    )
    bounds = buyers, PRODUCERS, last
    return MessagesGame("fixed log", looks_at, small, bounds, make, gaussian=True)
