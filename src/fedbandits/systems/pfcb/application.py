"""Applications of a buyer, which ask it for purchases, and the supplies of buyers.

A buyer brings its costs, which nobody else is told: ``costs`` under ``[own]`` in its settings, a
number a producer. Everybody's capacities are another matter. Buyers judge each other's reports by
them, so all must go by the same ones: they are facts of the federation (``capacities`` under
``[facts]``), and so a part of the terms, which are compared when members meet.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats, Ints
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decision
from fedbandits.federation.seats import HELPER
from fedbandits.federation.totals.plan import HelperSecrets
from fedbandits.systems.application import Application, Asked, Resources, Told, list_type
from fedbandits.systems.exported import Learned
from fedbandits.systems.pfcb.kernels import CLEAR
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.pfcb.roles.buying import BuyerSupply
from fedbandits.systems.secure_sums import agent_secrets, helper_secrets

BUYER = "buyer"
#: Far beyond any price, and far within the range of a float.
_MOST_COST = 1e300


class PurchaseAsked(Asked, frozen=True):
    """A purchase is to be decided on; a buyer knows all that it rests on.

    The answer is the units to buy, one number a producer.
    """


class PurchaseTold(Told, frozen=True):
    """Numbers of units that were good, by producer.

    ``units`` has how many were bought, if these are others than those that were decided on.
    """

    reward: list[int]
    units: list[int] | None = None


class Purchases(Application[PFCBPlan]):
    """A buyer decides on units to buy of every producer."""

    ASKED = PurchaseAsked
    TOLD = PurchaseTold
    ACTION = list[int]

    def bounds(self) -> dict[str, Any]:
        facts = self.plan.facts
        units = Annotated[int, Meta(ge=0, le=facts.largest_capacity)]
        each = list_type(units, facts.producers, facts.producers)
        return {"reward": each, "units": each | None}

    def situation(self, party: ActingParty[Any], asked: Any) -> None:
        del party, asked

    def action(self, decision: Decision, asked: Any) -> list[int]:
        del asked
        units: list[int] = decision.action.tolist()
        return units

    def observation(
        self, party: ActingParty[Any], number: int, told: PurchaseTold
    ) -> tuple[Decision, Ints]:
        good, found = _whole(party.name, told.reward), party.state.open.get(number)
        if told.units is not None:
            return Decision(number, _whole(party.name, told.units)), good
        # Of one that is not open the party says whether it came too late.
        return Decision(number, good if found is None else found.units), good

    def stand_in(self, value: float) -> PurchaseTold:
        """Say that nothing was bought: of a purchase of unknown outcome nothing can be learned.

        Raises
        ------
        ConfigError
            If ``value`` is not 0.
        """
        if value != 0.0:
            raise ConfigError(
                f"rewards.default: given {value:g}, allowed: 0, which means that nothing was bought"
            )
        none = [0] * self.plan.constants.producers
        return PurchaseTold(reward=none, units=none)


def _whole(name: str, units: list[int]) -> Ints:
    """Return numbers of units as an array."""
    if any(abs(each) > 2**62 for each in units):
        raise LocalProtocolError(f"{name}: numbers of units are outside all bounds")
    return np.array(units, np.int64)


def application(plan: PFCBPlan) -> Purchases:
    """Return how applications ask a buyer."""
    return Purchases(plan)


def supply(
    plan: PFCBPlan, role: str, place: int, resources: Resources
) -> BuyerSupply | HelperSecrets | None:
    """Return the supply of a party.

    A buyer brings its costs, noise that is charged for, and secrets to mask reports by. A helper
    brings the secrets that it shares with buyers; a controller nothing.

    Raises
    ------
    ConfigError
        If its settings have no costs, or the facts no capacities.
    """
    if role == HELPER:
        return helper_secrets(plan, place, resources)
    if role != BUYER:
        return None
    if not plan.facts.capacities:
        raise ConfigError(
            "facts.capacities: missing; allowed: a row for each buyer, with the most units that it "
            "can buy from each producer in a round"
        )
    noise = resources.noise(plan.event) if plan.constants.reports != CLEAR else _no_noise
    capacities = np.array(plan.facts.capacities, np.int64)
    masks = agent_secrets(plan, resources)
    return BuyerSupply(noise, _costs(plan, resources.own("costs")), capacities, masks)


def _costs(plan: PFCBPlan, given: Any) -> Floats:
    """Check own costs as the settings have them; an error shows none of them."""
    producers = plan.constants.producers
    numbers = isinstance(given, list | tuple) and len(given) == producers
    if not numbers or not all(
        type(cost) in (int, float) and 0 <= cost <= _MOST_COST for cost in given
    ):
        raise ConfigError(
            f"own.costs: allowed: {producers} numbers ≥ 0, what a unit of each producer costs"
        )
    return np.array(given, np.float64)


def _no_noise(step: int) -> Floats:
    del step
    return np.zeros(0)


def export(plan: PFCBPlan, party: Any) -> Learned:
    """Return a buyer's estimate of every producer's quality; a row's V is the units behind it."""
    units, good = party.state.books.combined
    known = units > 0.0
    weight = np.where(known, units, 0.0)
    quality = np.divide(good, units, out=np.zeros_like(units), where=known)
    return Learned(
        names=tuple(f"producer {i}" for i in range(len(units))),
        estimate=np.clip(quality, 0.0, 1.0)[:, None],
        gram=weight[:, None, None],
        counts=weight.copy(),
        counted="units",
        contains_own_records=plan.constants.raw_view or plan.constants.reports == CLEAR,
    )
