"""SAMBA's two servers: the Controller, who sees ciphertexts, and Comp, who sees masked scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fedbandits._typing import Ints
from fedbandits.crypto.aead import Channel, CipherName, PacketLengthError, make_cipher
from fedbandits.crypto.keystream import KeyStream
from fedbandits.errors import ConfigError
from fedbandits.federation.messages import (
    DuplicateError,
    Message,
    NotFiniteError,
    OutOfOrderError,
)
from fedbandits.federation.party import Party, Transitions
from fedbandits.learners.index_rules import explores
from fedbandits.systems.samba.draws import (
    BIT_BYTES,
    BITS,
    SCORE_BYTES,
    SCORES,
    ControllerKeys,
    Exploration,
    Places,
    position,
    waits_key,
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
from fedbandits.systems.samba.packets import floats
from fedbandits.systems.samba.plan import Plan, check_order
from fedbandits.systems.samba.steps import choose
from fedbandits.systems.samba.sums import SumCipher


class Controller(Party):
    """Permutes what it cannot read, and adds up what it cannot decrypt.

    Parameters
    ----------
    name, customer, comp, owners
        Names; owner i has arm i.
    secret
        Its own: places, masks and exploration come of it. It has no key of scores or bits.
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
        exploration_shortcut: bool = True,
    ) -> None:
        super().__init__(name, "idle", [customer, comp, *owners])
        if len(owners) < 2:
            raise ConfigError(f"{name}: needs at least 2 data owners, has {len(owners)}")
        self._customer, self._comp, self._owners = customer, comp, tuple(owners)
        self._keys = ControllerKeys.derive(secret)
        self._shortcut = exploration_shortcut
        self._exploration = Exploration(self._keys.exploration)
        self._collected: dict[str, bytes] = {}
        self._step, self._iteration = 0, 1

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
        plan = check_order(self.name, order.budget, arms, order.algorithm)
        self._sums = SumCipher(order.public_key)
        self._plan, self._step = plan, arms + 1
        self._stream = Places(self._keys.places, arms, plan.iterations)
        self._places: Ints = self._stream.draw(self._step, 1)
        self._move("Order", self._next_state())
        start = Start(
            sender=self.name,
            receiver=self._comp,
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
        if self._is_silent != (not message.sealed):
            raise PacketLengthError(
                f"{self.name}: {message.sender} sent {len(message.sealed)} bytes as its score"
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
        if len(message.sealed) != self._plan.arms:
            raise PacketLengthError(f"{self.name}: {len(message.sealed)} bits for all owners")
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
        self._collected[message.sender] = message.ciphertext
        if len(self._collected) < self._plan.arms:
            self._move("Sum", "summing")
            return []
        self._move("Sum", "done")
        total = self._sums.add([self._collected[owner] for owner in self._owners])
        return [self._numbered(Total(sender=self.name, receiver=self._customer, ciphertext=total))]


class Comp(Party):
    """Compares masked scores, not knowing whose they are.

    Parameters
    ----------
    name, controller
        This party's name and the Controller's.
    key
        Of scores and bits, shared with all data owners.
    secret
        Its own, for probability matching.
    cipher
        Of scores and bits.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "Start"): ("ready",),
        ("ready", "ScoreList"): ("ready",),
        ("ready", "Explore"): ("ready",),
    }

    def __init__(
        self, name: str, controller: str, key: bytes, secret: bytes, cipher: CipherName
    ) -> None:
        super().__init__(name, "idle", [controller])
        self._controller, self._key, self._cipher = controller, key, cipher
        self._waits_key = waits_key(secret)
        self._step, self._iteration = 0, 1

    def reopen(
        self, step: int, iteration: int, scores: Sequence[bytes], bits: Sequence[bytes]
    ) -> tuple[list[bytes], list[bytes]]:
        """Look again at what it has received and sent, as a curious party may."""
        cipher = make_cipher(self._cipher, self._key, self._plan.context)
        slots = range(self._plan.arms)
        opened = Channel(cipher, SCORES, SCORE_BYTES).open(step, iteration, slots, scores)
        return opened, Channel(cipher, BITS, BIT_BYTES).open(step, iteration, slots, bits)

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Start():
                return self._begin(message)
            case ScoreList():
                self._check_turn(message.step, message.iteration)
                return self._answer("ScoreList", self._compare(message))
            case Explore():
                self._check_turn(message.step, 1)
                if not self._plan.can_explore:
                    raise OutOfOrderError(f"{self.name}: this algorithm does not explore")
                # Places are uniformly random, so the first one is as good as any.
                return self._answer("Explore", 0)
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for me")

    def _begin(self, start: Start) -> list[Message]:
        self._plan: Plan = check_order(self.name, start.budget, start.arms, start.algorithm)
        cipher = make_cipher(self._cipher, self._key, self._plan.context)
        self._scores = Channel(cipher, SCORES, SCORE_BYTES)
        self._bits = Channel(cipher, BITS, BIT_BYTES)
        self._stream = KeyStream(self._waits_key, start.arms)
        self._step = start.arms + 1
        self._move("Start", "ready")
        return []

    def _check_turn(self, step: int, iteration: int) -> None:
        turn = (self._step, self._iteration)
        if (step, iteration) != turn or self._step > self._plan.budget:
            raise OutOfOrderError(
                f"{self.name}: asked for step {step}.{iteration}, this is {turn[0]}.{turn[1]}"
            )

    def _compare(self, message: ScoreList) -> int:
        plan = self._plan
        if len(message.sealed) != plan.arms:
            raise PacketLengthError(
                f"{self.name}: {len(message.sealed)} scores of {plan.arms} owners"
            )
        opened = self._scores.open(self._step, self._iteration, range(plan.arms), message.sealed)
        high, low = floats(opened)
        words = self._stream.words(position(self._step, self._iteration, plan.iterations))
        comparison = plan.comparisons[self._iteration - 1]
        place = int(choose(comparison, high, low, words, np.empty(plan.arms)))
        if place < 0:
            raise NotFiniteError(f"{self.name}: a score that is no score at step {self._step}")
        return place

    def _answer(self, event: str, place: int) -> list[Message]:
        arms, step, iteration = self._plan.arms, self._step, self._iteration
        bits = [b"\x01" if i == place else b"\x00" for i in range(arms)]
        sealed = tuple(self._bits.seal(step, iteration, range(arms), bits))
        self._scores.advance(step, iteration)
        if iteration < self._plan.iterations:
            self._iteration += 1
        else:
            self._step, self._iteration = step + 1, 1
        self._move(event, "ready")
        answer = BitList(
            sender=self.name,
            receiver=self._controller,
            step=step,
            iteration=iteration,
            sealed=sealed,
        )
        return [self._numbered(answer)]
