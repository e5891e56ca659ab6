"""The algorithms that SAMBA can run, as they stand in a configuration."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fedbandits.learners import index_rules

Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    def rule(self) -> Any:
        """The index rule with its parameters, for compiled code."""
        raise NotImplementedError


class UCB(_Part, frozen=True, tag="ucb"):
    """μ̂ + √(scale · ln t / n); the paper's scale is 2."""

    scale: Annotated[float, Meta(ge=0.0, le=1e6)] = 2.0

    def rule(self) -> index_rules.UCB:
        return index_rules.UCB(self.scale)


class Thompson(_Part, frozen=True, tag="thompson"):
    """A draw from each arm's Beta posterior."""

    def rule(self) -> index_rules.Thompson:
        return index_rules.Thompson()


class EpsilonGreedy(_Part, frozen=True, tag="epsilon-greedy"):
    """The best mean so far, or with probability ε a random arm."""

    epsilon: Share = 0.1

    def rule(self) -> index_rules.EpsilonGreedy:
        return index_rules.EpsilonGreedy(self.epsilon)


class DecreasingEpsilonGreedy(_Part, frozen=True, tag="decreasing-epsilon-greedy"):
    """The best mean so far, or with probability min(1, (scale · K / t)^power) a random arm."""

    scale: Annotated[float, Meta(gt=0.0, le=1e9)] = 1.0
    power: Annotated[float, Meta(gt=0.0, le=10.0)] = 1.0

    def rule(self) -> index_rules.DecreasingEpsilonGreedy:
        return index_rules.DecreasingEpsilonGreedy(self.scale, self.power)


class Softmax(_Part, frozen=True, tag="softmax"):
    """In proportion to e^(μ̂ / τ)."""

    temperature: Annotated[float, Meta(ge=0.002, le=1e6)] = 0.06

    def rule(self) -> index_rules.Softmax:
        return index_rules.Softmax(self.temperature)


class Pursuit(_Part, frozen=True, tag="pursuit"):
    """In proportion to probabilities that move towards the best mean so far at rate β."""

    rate: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.1

    def rule(self) -> index_rules.Pursuit:
        return index_rules.Pursuit(self.rate)


Algorithm = UCB | Thompson | EpsilonGreedy | DecreasingEpsilonGreedy | Softmax | Pursuit
