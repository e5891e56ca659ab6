"""What follows from a server's secrets and the run's name; it is made again after a restart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbandits._typing import Words64
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.silent.dealt_to_server import Deals, DealtToFirst, DealtToSecond
from fedbandits.systems.samba.silent.packets import Line
from fedbandits.systems.samba.silent.roles.supplies import CompSupply, ControllerSupply
from fedbandits.systems.samba.silent.streams import (
    DOWN,
    TO_FIRST,
    TO_SECOND,
    TOTAL,
    UP,
    FirstKeys,
    Pads,
    SecondKeys,
    total_key,
    total_pad,
)
from fedbandits.systems.samba.streams import Places, SilentControllerKeys


class FirstTools:
    """The Controller's."""

    def __init__(
        self,
        plan: SambaPlan,
        supply: ControllerSupply,
        owners: Sequence[str],
        run: bytes,
        deals: Deals,
    ) -> None:
        self.agreed = plan.agreement(run)
        keys = FirstKeys.derive(supply.packets, supply.link, supply.first, owners, self.agreed)
        cipher = plan.config.packet_cipher
        self.up = [Line(cipher, each.up, UP) for each in keys.owners]
        self.down = [Line(cipher, each.down, DOWN) for each in keys.owners]
        self.to_second = Line(cipher, keys.link.to_second, TO_SECOND)
        self.to_first = Line(cipher, keys.link.to_first, TO_FIRST)
        self.dealt = DealtToFirst(deals, cipher, keys.dealt)
        self.bill = Line(cipher, total_key(supply.bill, self.agreed), TOTAL)
        ties = SilentControllerKeys.derive(supply.secret, run).ties
        self.places = Places(ties, plan.arms, plan.iterations)


class SecondTools:
    """Comp's."""

    def __init__(
        self, plan: SambaPlan, supply: CompSupply, owners: Sequence[str], run: bytes, deals: Deals
    ) -> None:
        self.agreed = plan.agreement(run)
        keys = SecondKeys.derive(supply.pads, supply.link, supply.second, owners, self.agreed)
        cipher = plan.config.packet_cipher
        self.to_second = Line(cipher, keys.link.to_second, TO_SECOND)
        self.to_first = Line(cipher, keys.link.to_first, TO_FIRST)
        self.dealt = DealtToSecond(deals, cipher, keys.dealt)
        self.receipt = Line(cipher, total_key(supply.receipt, self.agreed), TOTAL)
        self.total = sum(int(total_pad(each.total)) for each in keys.owners)
        self._words = [Pads(each.words, self.agreed) for each in keys.owners]
        self._answers = [Pads(each.answers, self.agreed) for each in keys.owners]

    def words(self, step: int, iteration: int) -> Words64:
        """Its shares of all scores, (arms,)."""
        return np.array([pads.draw(step, iteration) for pads in self._words], np.uint64)

    def answers(self, step: int, iteration: int) -> Words64:
        """What it adds to the owners' answers, (arms,)."""
        return np.array([pads.draw(step, iteration) for pads in self._answers], np.uint64)
