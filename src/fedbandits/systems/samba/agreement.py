"""What the parties of one SAMBA run agree on (steps 0 and 1), and the cipher that follows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fedbandits.crypto.aead import CipherName, PacketCipher, Turn, make_cipher
from fedbandits.crypto.keystream import derive_key
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import OutOfOrderError
from fedbandits.learners.kernels.index_rules import ITERATIONS, explores
from fedbandits.systems.samba.config import Algorithm

if TYPE_CHECKING:  # a plan makes agreements
    from fedbandits.systems.samba.plan import SambaPlan

#: Bytes of a run's name. It must be fresh for every run, or masks, places and keys come twice.
RUN_BYTES = 16
#: What a party accepts: places have four bytes in a position, steps six.
_MOST_ARMS, _LARGEST_BUDGET = 65_535, 1 << 40


class Agreement(NamedTuple):
    """What is public in one run, and spread among the parties by an order, starts and setups."""

    budget: int  # N
    arms: int  # K
    rule: Any
    comparisons: tuple[int, ...]  # how each iteration of a step compares scores
    context: bytes  # names this run and what was agreed on; the key of all packets is made of it
    run: bytes  # names this run

    @property
    def iterations(self) -> int:
        """nb_A of section 4.2."""
        return len(self.comparisons)

    @property
    def can_explore(self) -> bool:
        """Whether some step plays a random arm whatever the scores."""
        return bool(explores(self.rule, self.arms + 1, self.arms, 0.0))

    def next_turn(self, step: int, iteration: int) -> Turn:
        """The turn after one."""
        return (step + 1, 1) if iteration == self.iterations else (step, iteration + 1)

    def check_place(self, name: str, place: int) -> None:
        """Refuse, for the party ``name``, a place that Comp's list does not have."""
        if not 0 <= place < self.arms:
            raise OutOfOrderError(f"{name}: place {place} in a list of {self.arms}")


class Comparing(NamedTuple):
    """How servers compare scores and add up sums: it decides which words are made of a key."""

    comparison: str
    arity: int
    total: str


def agree(
    budget: int, arms: int, algorithm: Algorithm, run: bytes, comparing: Comparing
) -> Agreement:
    """What follows from the terms for the run of that name; the same for 1 as for 1.0.

    Parameters
    ----------
    budget, arms, algorithm
        N, K, and what chooses arms.
    run
        The run's name.
    comparing
        How servers compare scores. Runs of one name that differ in it have no key in common;
        otherwise they would use the same words in two ways.
    """
    algorithm = msgspec.convert(msgspec.to_builtins(algorithm), type(algorithm))
    rule = algorithm.rule()
    agreed = msgspec.msgpack.encode(("samba", 2, run, budget, arms, algorithm, comparing))
    context = hashlib.sha256(agreed).digest()[:16]
    return Agreement(budget, arms, rule, ITERATIONS[type(rule)], context, run)


class ImpossibleOrderError(RemoteProtocolError):
    """A budget that does not suffice, or too few arms."""


class OtherOrderError(RemoteProtocolError):
    """An order of another budget, other arms or another algorithm than the terms have."""


class Ordered(NamedTuple):
    """What a message says that a run is about."""

    budget: int
    arms: int
    algorithm: Algorithm


def accept(name: str, plan: SambaPlan, ordered: Ordered, run: bytes) -> Agreement:
    """The agreement on the run that the party ``name`` is told of.

    Parameters
    ----------
    name
        The party's, for errors.
    plan
        What all have agreed on.
    ordered, run
        What the run is said to be about, and its name.

    Raises
    ------
    ImpossibleOrderError
        If there are fewer than two arms, fewer pulls than arms, or more of either than a position
        or a list can count; or if the run has no proper name.
    OtherOrderError
        If the terms say otherwise.
    """
    budget, arms, _ = ordered
    if len(run) != RUN_BYTES:
        raise ImpossibleOrderError(f"{name}: a run is named by {RUN_BYTES} random bytes")
    if arms > _MOST_ARMS or budget > _LARGEST_BUDGET:
        raise ImpossibleOrderError(
            f"{name}: at most {_MOST_ARMS:,} arms and {_LARGEST_BUDGET:,} pulls are possible"
        )
    if arms < 2 or budget < arms:
        raise ImpossibleOrderError(
            f"{name}: {budget} pulls of {arms} arms; each is pulled once first, and one arm alone "
            "leaves nothing to learn"
        )
    terms = Ordered(plan.rounds, plan.arms, plan.config.algorithm)
    for key, agreed, said in zip(Ordered._fields, terms, ordered, strict=True):
        if agreed != said:
            raise OtherOrderError(f"{name}: {key} is {said!r} there and {agreed!r} in the terms")
    return plan.agreement(run)


def channel_cipher(name: CipherName, key: bytes, agreed: Agreement) -> PacketCipher:
    """The cipher of one run: its key is made for that run, steps begin anew in the next."""
    return make_cipher(name, derive_key(key, f"samba {agreed.context.hex()}"))
