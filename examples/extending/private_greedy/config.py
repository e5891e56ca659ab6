"""What can be set."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fedbandits.systems import Checked


class PrivateGreedy(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """ε-greedy play on shared sums.

    Parameters
    ----------
    explore
        Probability of playing a random arm.
    releases
        How often each agent releases its sums, evenly over all rounds.
    epsilon, delta
        The privacy budget of one agent for a whole run.
    noise
        ``gaussian``: as much as the budget asks for. ``none``: sums leave in clear.
    """

    explore: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.1
    releases: Annotated[int, Meta(ge=1, le=256)] = 16
    epsilon: Annotated[float, Meta(gt=0.0)] = 1.0
    delta: Annotated[float, Meta(gt=0.0, lt=1.0)] = 1e-5
    noise: Literal["gaussian", "none"] = "gaussian"
