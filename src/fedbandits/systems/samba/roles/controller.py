"""SAMBA's Controller: sees ciphertexts alone, and permutes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from fedbandits._typing import Ints
from fedbandits.crypto.aead import PacketLengthError, overhead_of
from fedbandits.errors import ConfigError
from fedbandits.federation.messages import DuplicateError, Message, OutOfOrderError
from fedbandits.federation.party import Party
from fedbandits.federation.state import Transitions
from fedbandits.learners.index_rules import explores
from fedbandits.systems.samba.agreement import Agreement, accept
from fedbandits.systems.samba.kernels import list_drawn
from fedbandits.systems.samba.messages import (
    TABLE,
    Bit,
    BitList,
    Drawn,
    Explore,
    Order,
    Score,
    ScoreList,
    Setup,
    Start,
    Sum,
    Total,
)
from fedbandits.systems.samba.packets import BIT_BYTES, SCORE_BYTES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.streams import (
    ControllerKeys,
    DrawnScores,
    Exploration,
    Masks,
    Places,
)
from fedbandits.systems.samba.sums import SumCipher


class ControllerSupply(NamedTuple):
    """What the Controller brings.

    Parameters
    ----------
    secret
        Its own: places, masks and exploration come of it. It has no key of scores or bits.
    run
        The run's name; fresh random bytes every time.
    """

    secret: bytes
    run: bytes


class Controller(Party):
    """Permutes what it cannot read, and adds up what it cannot decrypt.

    Where it draws the scores of steps that explore (section 5.4 as printed), owners send nothing
    then: the beat tells it that the last pull is over (:meth:`end_round`), as it does the owners.
    Its beat must come after theirs, or a bit reaches an owner that is not waiting for one.

    Parameters
    ----------
    name, customer, comp, owners
        Names of parties; owner i has arm i.
    plan
        What all parties go by; budget and algorithm are those of the customer's order.
    supply
        Its secret, and the run's name.

    Raises
    ------
    ConfigError
        If there are fewer than two owners.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "Order"): ("collecting", "drawing", "summing"),
        ("collecting", "Score"): ("collecting", "comparing"),
        ("comparing", "BitList"): ("collecting", "drawing", "summing"),
        ("drawing", "end_round"): ("comparing",),
        ("summing", "Sum"): ("summing", "done"),
    }

    def __init__(
        self,
        name: str,
        customer: str,
        comp: str,
        owners: Sequence[str],
        plan: SambaPlan,
        supply: ControllerSupply,
    ) -> None:
        named = {"customer": [customer], "comp": [comp], "owner": owners}
        received = {kind: who for kind, (who, whom) in TABLE.items() if whom == "controller"}
        senders = {kind: named[who] for kind, who in received.items()}
        super().__init__(name, "idle", [customer, comp, *owners], senders)
        if len(owners) < 2:
            raise ConfigError(f"{name}: needs at least 2 data owners, has {len(owners)}")
        self._customer, self._comp, self._owners = customer, comp, tuple(owners)
        self._keys, self._run = ControllerKeys.derive(supply.secret, supply.run), supply.run
        overhead = overhead_of(plan.config.packet_cipher)
        self._score_length, self._bit_length = SCORE_BYTES + overhead, BIT_BYTES + overhead
        self._silences = plan.config.exploration_shortcut != "none"
        self._draws = plan.drawn_scores > 0
        self._drawn = DrawnScores(self._keys.scores, plan.drawn_scores)
        self._exploration = Exploration(self._keys.exploration)
        self._collected: dict[str, bytes] = {}
        self._step, self._iteration = 0, 1

    def places_of(self, step: int, iteration: int) -> Ints:
        """Where each owner stands in Comp's list, (arms,); only the Controller knows."""
        return self._stream.draw(step, iteration)

    def mask_of(self, step: int, iteration: int) -> float:
        """αₜ, which the Controller could draw too, having handed out its key."""
        return Masks(self._keys.masks, self.agreement.iterations).draw(step, iteration)

    def explores_at(self, step: int) -> bool:
        """Whether a step explores, which the owners know too."""
        draw, agreed = self._exploration.draw(step), self.agreement
        return bool(explores(agreed.rule, step, agreed.arms, draw))

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
        agreed = accept(self.name, order.budget, arms, order.algorithm, self._run)
        self._sums = SumCipher(order.public_key)
        self.agreement: Agreement = agreed
        self._step = arms + 1
        self._stream = Places(self._keys.places, arms, agreed.iterations)
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
        if self._step > self.agreement.budget:
            return "summing"
        return "drawing" if self._draws and self.explores_at(self._step) else "collecting"

    @property
    def next_end(self) -> int | None:
        """The round before a step whose scores it draws; None before others."""
        return self._step - 1 if self.state == "drawing" else None

    def end_round(self, round_: int) -> list[Message]:
        """The beat: all pulls of the round are over, so the next step can explore.

        Raises
        ------
        LocalProtocolError
            If it is not this round's end that is waited for. Nothing has changed then.
        """
        self._require_next_end(round_)
        scores = np.empty(self.agreement.arms)
        list_drawn(self._drawn.draw(self._step), self._places, scores)
        drawn = Drawn(
            sender=self.name,
            receiver=self._comp,
            step=self._step,
            scores=tuple(scores.tolist()),
        )
        self._move("end_round", "comparing")
        return [self._numbered(drawn)]

    @property
    def _is_silent(self) -> bool:
        """Whether owners leave out their scores in this step."""
        return self._silences and self.explores_at(self._step)

    def _collect(self, message: Score) -> list[Message]:
        self._check_turn(message.sender, message.step, message.iteration)
        length = 0 if self._is_silent else self._score_length
        if len(message.sealed) != length:
            raise PacketLengthError(
                f"{self.name}: {message.sender} sent {len(message.sealed)} bytes as its score, "
                f"expected {length}"
            )
        self._collected[message.sender] = message.sealed
        if len(self._collected) < self.agreement.arms:
            self._move("Score", "collecting")
            return []
        self._move("Score", "comparing")
        listed = [b""] * self.agreement.arms
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
        if list(map(len, message.sealed)) != [self._bit_length] * self.agreement.arms:
            raise PacketLengthError(
                f"{self.name}: expected {self.agreement.arms} bits of {self._bit_length} bytes"
            )
        bits = [message.sealed[place] for place in self._places]
        if self._iteration < self.agreement.iterations:
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
        if len(collected) < self.agreement.arms:
            self._collected = collected
            self._move("Sum", "summing")
            return []
        total = self._sums.add([collected[owner] for owner in self._owners])
        self._collected = collected
        self._move("Sum", "done")
        return [self._numbered(Total(sender=self.name, receiver=self._customer, ciphertext=total))]
