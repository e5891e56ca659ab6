"""The plan of a SAMBA variant, and the agreement of its parties on one run (steps 0 and 1)."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, NamedTuple

import msgspec

from fedbandits.crypto.aead import Turn
from fedbandits.errors import ConfigError, RemoteProtocolError
from fedbandits.facts import ArmFacts
from fedbandits.federation.messages import OutOfOrderError
from fedbandits.federation.terms import Schedule
from fedbandits.learners.kernels.index_rules import RULES
from fedbandits.learners.kernels.largest_scores import as_largest
from fedbandits.learners.open_rules import OneArm, check_arm_score_locality
from fedbandits.systems.base import Plan
from fedbandits.systems.samba.config import Algorithm, Samba

#: Bytes of a run's name. The name must be fresh for every run, or masks and keys come twice.
RUN_BYTES = 16
#: Limits of a party: places have four bytes in a position, steps six.
_MOST_ARMS, _LARGEST_BUDGET = 65_535, 1 << 40


class Agreement(NamedTuple):
    """All that is public in one run, told to the parties by an order, starts and setups."""

    budget: int  # N
    arms: int  # K
    rule: Any
    comparisons: tuple[int, ...]  # how each iteration of a step compares scores
    context: bytes  # digest of the run's name and the agreement, for the keys of packets
    run: bytes  # names this run

    @property
    def iterations(self) -> int:
        """nb_A of section 4.2."""
        return len(self.comparisons)

    @property
    def can_explore(self) -> bool:
        """True if some step plays a random arm whatever the scores."""
        return OneArm(self.rule).explores(self.arms + 1, self.arms, 0.0)

    def next_turn(self, step: int, iteration: int) -> Turn:
        """Return the turn after this turn."""
        return (step + 1, 1) if iteration == self.iterations else (step, iteration + 1)

    def check_place(self, name: str, place: int) -> None:
        """Refuse, for the party ``name``, a place beyond Comp's list."""
        if not 0 <= place < self.arms:
            raise OutOfOrderError(f"{name}: place {place} in a list of {self.arms}")


class Comparing(NamedTuple):
    """Ways in which servers compare scores and add up sums, on which the drawn words depend."""

    comparison: str
    arity: int
    total: str


def agree(
    budget: int, arms: int, algorithm: Algorithm, run: bytes, comparing: Comparing
) -> Agreement:
    """Make the agreement that follows from the terms for a run; the same for 1 as for 1.0.

    Runs of the same name that differ in ``comparing`` have no key in common: otherwise they would
    use the same words in two ways.
    """
    algorithm = msgspec.convert(msgspec.to_builtins(algorithm), type(algorithm))
    rule = algorithm.rule()
    if comparing.comparison == "silent":
        rule = as_largest(rule)
    agreed = msgspec.msgpack.encode(("samba", 2, run, budget, arms, algorithm, comparing))
    context = hashlib.sha256(agreed).digest()[:16]
    return Agreement(budget, arms, rule, RULES[type(rule)].iterations, context, run)


class ImpossibleOrderError(RemoteProtocolError):
    """An insufficient budget, or too few arms."""


class OtherOrderError(RemoteProtocolError):
    """An order of another budget, other arms or another algorithm than the terms have."""


class Ordered(NamedTuple):
    """Budget, arms and algorithm of an order."""

    budget: int
    arms: int
    algorithm: Algorithm


def accept(name: str, plan: SambaPlan, ordered: Ordered, run: bytes) -> Agreement:
    """Return the agreement on a run that begins, for the party ``name``.

    Raises
    ------
    ImpossibleOrderError
        If there are too few or too many arms or pulls, or the run has no proper name.
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
    for key, agreed, said in zip(Ordered._fields, plan.ordered, ordered, strict=True):
        if agreed != said:
            raise OtherOrderError(f"{name}: {key} is {said!r} there and {agreed!r} in the terms")
    return plan.agreement(run)


class SambaPlan(Plan, frozen=True, kw_only=True):
    """The plan of a variant, for all parties; ``rounds`` is N, the budget.

    The plan has no run's name: the name is fresh for every run.
    """

    config: Samba
    facts: ArmFacts

    @property
    def arms(self) -> int:
        """K, the number of arms and of data owners."""
        return self.facts.parties

    @property
    def ordered(self) -> Ordered:
        """The order that the customer gives."""
        return Ordered(self.rounds, self.arms, self.config.algorithm)

    @property
    def drawn_scores(self) -> int:
        """Number of scores that the Controller draws in a step that explores (section 5.4)."""
        if not self.config.controller_draws:
            return 0
        return self.arms if self.config.exploration_shortcut == "published-each" else 1

    @property
    def schedule(self) -> Schedule:
        """An owner's sum of rewards leaves once, after the last pull."""
        return Schedule(
            rounds=self.rounds, releases=1, ends=(self.rounds,), most_records=self.rounds
        )

    @property
    def iterations(self) -> int:
        """nb_A of section 4.2."""
        return len(RULES[type(self.config.algorithm.rule())].iterations)

    def agreement(self, run: bytes) -> Agreement:
        """Return the agreement of the parties on the run of this name."""
        config = self.config
        comparing = Comparing(config.comparison, config.arity, config.total)
        return agree(self.rounds, self.arms, config.algorithm, run, comparing)


def make_plan(config: Samba, facts: ArmFacts, rounds: int) -> SambaPlan:
    """Make the plan of all parties.

    Raises
    ------
    ConfigError
        If the budget does not suffice to pull every arm once.
    """
    if rounds < facts.parties:
        raise ConfigError(
            f"algorithm: {facts.parties} arms need at least as many rounds, because each arm is "
            f"pulled once first; rounds = {rounds}"
        )
    _check_locality(config.algorithm.rule())
    return SambaPlan(config=config, facts=facts, rounds=rounds)


@functools.lru_cache(maxsize=64)
def _check_locality(rule: Any) -> None:
    check_arm_score_locality(rule)
