"""SAMBA's Controller: sees ciphertexts alone, and permutes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from fedbandits._typing import Ints
from fedbandits.crypto.aead import CipherName, PacketLengthError, overhead_of
from fedbandits.errors import ConfigError
from fedbandits.federation.messages import (
    DuplicateError,
    Message,
    OutOfOrderError,
)
from fedbandits.federation.party import Party, Transitions
from fedbandits.learners.index_rules import explores
from fedbandits.systems.samba.draws import (
    BIT_BYTES,
    SCORE_BYTES,
    ControllerKeys,
    Exploration,
    Masks,
    Places,
)
from fedbandits.systems.samba.messages import (
    Bit,
    BitList,
    Explore,
    Order,
    Score,
    ScoreList,
    Setup,
    Start,
    Sum,
    Total,
)
from fedbandits.systems.samba.plan import check_order
from fedbandits.systems.samba.sums import SumCipher


class Controller(Party):
    """Permutes what it cannot read, and adds up what it cannot decrypt.

    Parameters
    ----------
    name, customer, comp, owners
        Names; owner i has arm i.
    secret
        Its own: places, masks and exploration come of it. It has no key of scores or bits.
    run
        Names the run; fresh random bytes every time.
    cipher
        Of scores and bits, for their lengths.
    exploration_shortcut
        Whether owners leave out their scores in steps that explore.

    Raises
    ------
    ConfigError
        If there are fewer than two owners.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "Order"): ("collecting", "summing"),
        ("collecting", "Score"): ("collecting", "comparing"),
        ("comparing", "BitList"): ("collecting", "summing"),
        ("summing", "Sum"): ("summing", "done"),
    }

    def __init__(
        self,
        name: str,
        customer: str,
        comp: str,
        owners: Sequence[str],
        secret: bytes,
        run: bytes,
        cipher: CipherName,
        exploration_shortcut: bool = True,
    ) -> None:
        senders: dict[type[Message], Sequence[str]] = {
            Order: [customer],
            Score: owners,
            BitList: [comp],
            Sum: owners,
        }
        super().__init__(name, "idle", [customer, comp, *owners], senders)
        if len(owners) < 2:
            raise ConfigError(f"{name}: needs at least 2 data owners, has {len(owners)}")
        self._customer, self._comp, self._owners = customer, comp, tuple(owners)
        self._keys, self._run = ControllerKeys.derive(secret), run
        overhead = overhead_of(cipher)
        self._score_length, self._bit_length = SCORE_BYTES + overhead, BIT_BYTES + overhead
        self._shortcut = exploration_shortcut
        self._exploration = Exploration(self._keys.exploration)
        self._collected: dict[str, bytes] = {}
        self._step, self._iteration = 0, 1

    def places_of(self, step: int, iteration: int) -> Ints:
        """Where each owner stands in Comp's list, (arms,); only the Controller knows."""
        return self._stream.draw(step, iteration)

    def mask_of(self, step: int, iteration: int) -> float:
        """αₜ, which the Controller could draw too, having handed out its key."""
        return Masks(self._keys.masks, self._plan.iterations).draw(step, iteration)

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Order():
                return self._begin(message)
            case Score():
                return self._collect(message)
            case BitList():
                return self._hand_out(message)
            case Sum():
                return self._add(message)
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for me")

    def _begin(self, order: Order) -> list[Message]:
        arms = len(self._owners)
        plan = check_order(self.name, order.budget, arms, order.algorithm, self._run)
        self._sums = SumCipher(order.public_key)
        self._plan, self._step = plan, arms + 1
        self._stream = Places(self._keys.places, arms, plan.iterations)
        self._places: Ints = self._stream.draw(self._step, 1)
        self._move("Order", self._next_state())
        start = Start(
            sender=self.name,
            receiver=self._comp,
            run=self._run,
            budget=order.budget,
            arms=arms,
            algorithm=order.algorithm,
        )
        setups = [self._setup(order, i) for i in range(arms)]
        return [self._numbered(message) for message in (start, *setups)]

    def _setup(self, order: Order, owner: int) -> Setup:
        return Setup(
            sender=self.name,
            receiver=self._owners[owner],
            run=self._run,
            budget=order.budget,
            arms=len(self._owners),
            algorithm=order.algorithm,
            public_key=order.public_key,
            mask_key=self._keys.masks,
            exploration_key=self._keys.exploration,
            place=int(self._places[owner]),
        )

    def _next_state(self) -> str:
        return "collecting" if self._step <= self._plan.budget else "summing"

    @property
    def _is_silent(self) -> bool:
        """Whether owners leave out their scores in this step."""
        draw = self._exploration.draw(self._step)
        return self._shortcut and bool(explores(self._plan.rule, self._step, self._plan.arms, draw))

    def _collect(self, message: Score) -> list[Message]:
        self._check_turn(message.sender, message.step, message.iteration)
        length = 0 if self._is_silent else self._score_length
        if len(message.sealed) != length:
            raise PacketLengthError(
                f"{self.name}: {message.sender} sent {len(message.sealed)} bytes as its score, "
                f"expected {length}"
            )
        self._collected[message.sender] = message.sealed
        if len(self._collected) < self._plan.arms:
            self._move("Score", "collecting")
            return []
        self._move("Score", "comparing")
        listed = [b""] * self._plan.arms
        for i, owner in enumerate(self._owners):
            listed[self._places[i]] = self._collected[owner]
        self._collected = {}
        silent = self._is_silent
        return [self._numbered(self._explore() if silent else self._list(tuple(listed)))]

    def _explore(self) -> Explore:
        return Explore(sender=self.name, receiver=self._comp, step=self._step)

    def _list(self, sealed: tuple[bytes, ...]) -> ScoreList:
        return ScoreList(
            sender=self.name,
            receiver=self._comp,
            step=self._step,
            iteration=self._iteration,
            sealed=sealed,
        )

    def _check_turn(self, sender: str, step: int, iteration: int) -> None:
        if (step, iteration) != (self._step, self._iteration):
            raise OutOfOrderError(
                f"{self.name}: {sender} sent step {step}.{iteration}, "
                f"this is {self._step}.{self._iteration}"
            )
        if sender in self._collected:
            raise DuplicateError(f"{self.name}: {sender} sent step {step}.{iteration} again")

    def _hand_out(self, message: BitList) -> list[Message]:
        self._check_turn(message.sender, message.step, message.iteration)
        if list(map(len, message.sealed)) != [self._bit_length] * self._plan.arms:
            raise PacketLengthError(
                f"{self.name}: expected {self._plan.arms} bits of {self._bit_length} bytes"
            )
        bits = [message.sealed[place] for place in self._places]
        if self._iteration < self._plan.iterations:
            self._iteration += 1
        else:
            self._step, self._iteration = self._step + 1, 1
        self._places = self._stream.draw(self._step, self._iteration)
        self._move("BitList", self._next_state())
        return [
            self._numbered(
                Bit(
                    sender=self.name,
                    receiver=owner,
                    step=message.step,
                    iteration=message.iteration,
                    sealed=bits[i],
                    place=int(self._places[i]),
                )
            )
            for i, owner in enumerate(self._owners)
        ]

    def _add(self, message: Sum) -> list[Message]:
        if message.sender in self._collected:
            raise DuplicateError(f"{self.name}: {message.sender} sent its sum again")
        self._sums.check(message.ciphertext)
        collected = self._collected | {message.sender: message.ciphertext}
        if len(collected) < self._plan.arms:
            self._collected = collected
            self._move("Sum", "summing")
            return []
        total = self._sums.add([collected[owner] for owner in self._owners])
        self._collected = collected
        self._move("Sum", "done")
        return [self._numbered(Total(sender=self.name, receiver=self._customer, ciphertext=total))]
