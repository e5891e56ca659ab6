"""SAMBA's customer: pays for a budget of pulls, and alone gets what they earned."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from fedbandits.crypto.aead import TamperedPacketError
from fedbandits.crypto.paillier import PrivateKey
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.party import Party
from fedbandits.federation.state import Transitions
from fedbandits.systems.samba.messages import Order, Total
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.sums import decrypt, public_bytes


class CustomerSupply(NamedTuple):
    """What the customer brings.

    Parameters
    ----------
    private_key
        Its own Paillier key; None for sums in clear.
    """

    private_key: PrivateKey | None


class Customer(Party):
    """Pays for N pulls and gets their cumulative reward, which nobody else can read.

    Parameters
    ----------
    name, controller
        This party's name and the Controller's.
    plan
        What all parties go by: it orders the plan's budget and algorithm.
    supply
        The Paillier key that it brings.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "start"): ("waiting",),
        ("waiting", "Total"): ("done",),
    }

    def __init__(self, name: str, controller: str, plan: SambaPlan, supply: CustomerSupply) -> None:
        super().__init__(name, "idle", [controller])
        self.cumulative_reward: int | None = None
        self._controller, self._plan, self._private_key = controller, plan, supply.private_key

    def start(self) -> list[Message]:
        """Step 0: the order.

        Raises
        ------
        LocalProtocolError
            If it was sent already.
        """
        self._require("start")
        self._move("start", "waiting")
        order = Order(
            sender=self.name,
            receiver=self._controller,
            budget=self._plan.rounds,
            algorithm=self._plan.config.algorithm,
            public_key=public_bytes(self._private_key),
        )
        return [self._numbered(order)]

    def _handle(self, message: Message) -> list[Message]:
        if not isinstance(message, Total):
            raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for me")
        reward = decrypt(self._private_key, message.ciphertext)
        if reward > self._plan.rounds:
            raise TamperedPacketError(f"{self.name}: more reward than pulls were paid for")
        self.cumulative_reward = reward
        self._move("Total", "done")
        return []
