"""SAMBA without some of its protections, which shows what each protection hides.

The configuration of such a run names the missing protections, so the terms name them: a party of a
real run refuses such terms. No file can ask for such a run, as the type is not the system's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Ints
from fedbandits.crypto.aead import CipherName
from fedbandits.federation.roles import Roles
from fedbandits.systems.base import System
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.keys import CONTROLLER, OWNER
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.controller import Controller
from fedbandits.systems.samba.roles.owner import DataOwner, Given, PublishedOwnerTools
from fedbandits.systems.samba.streams import ControllerDraws, Masks
from fedbandits.systems.weakened import Weakened

_PROTECTIONS = {
    "encryption": "Scores and bits are sealed: the Controller, who hands them on, reads none.",
    "permutation": "Comp's lists have an order that it does not know: it reads scores, not whose.",
    "mask": "Owners multiply all scores of a step by one secret number: Comp reads ratios alone.",
    "paillier": "Sums of rewards are encrypted for the customer: the Controller adds them blindly.",
}


class WeakSamba(Samba, frozen=True, kw_only=True, tag=False):
    """Settings of a run without some protections.

    Parameters
    ----------
    off
        Names of these protections.
    """

    off: tuple[str, ...] = ()

    @property
    def packet_cipher(self) -> CipherName:
        return "none" if "encryption" in self.off else super().packet_cipher

    @property
    def encrypts_sums(self) -> bool:
        return "paillier" not in self.off and super().encrypts_sums


def protections(config: Samba) -> Mapping[str, str]:
    """Return the protections that a run of this configuration may be shown without."""
    if config.execution != "secure":
        return {name: _PROTECTIONS[name] for name in ("permutation", "mask")}
    if not config.is_silent:
        return _PROTECTIONS
    return {"encryption": "Messages are sealed: whoever hears one without its key reads nothing."}


def without(system: System[Any], off: Collection[str]) -> Weakened:
    """Return SAMBA without some of its protections."""

    def weaker(plan: SambaPlan) -> SambaPlan:
        settings = msgspec.structs.asdict(plan.config)
        weak = WeakSamba(**settings, off=tuple(sorted(off)))
        return msgspec.structs.replace(plan, config=weak)

    return Weakened(system, off, plan=weaker, roles=_roles)


def _roles(plan: SambaPlan, usual: Roles) -> Roles:
    """Return the parties of a plan; some have classes of their own."""
    if plan.config.is_silent:
        return usual
    return usual.replaced(
        {
            OWNER: lambda seat, given: _Owner(seat, plan, given),
            CONTROLLER: lambda seat, given: _Controller(seat, plan, given),
        }
    )


def _off(config: Samba) -> tuple[str, ...]:
    return config.off if isinstance(config, WeakSamba) else ()


class _NoMasks(Masks):
    def draw(self, step: int, iteration: int) -> float:
        return 1.0


class _OwnerTools(PublishedOwnerTools):
    def __init__(self, name: str, plan: SambaPlan, supply: Supply, given: Given) -> None:
        super().__init__(name, plan, supply, given)
        if "mask" in _off(plan.config):
            self._masks = _NoMasks(given.mask_key, self.agreed.iterations)


class _Owner(DataOwner):
    TOOLS = _OwnerTools


class _Draws(ControllerDraws):
    off: tuple[str, ...] = ()

    def places(self, step: int, iteration: int) -> Ints:
        if "permutation" in self.off:
            return np.arange(self.agreed.arms)
        return super().places(step, iteration)

    def mask(self, step: int, iteration: int) -> float:
        return 1.0 if "mask" in self.off else super().mask(step, iteration)


class _Controller(Controller):
    def _make_tools(self, run: bytes) -> ControllerDraws:
        usual = super()._make_tools(run)
        weak = _Draws(self._supply.secrets["controller"], usual.agreed, self._plan.drawn_scores)
        weak.off = _off(self._config)
        return weak
