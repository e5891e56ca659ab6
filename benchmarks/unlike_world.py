"""A world in which each agent has a parameter of its own around a common one, in plain Python.

Benchmarks import it: a cap on what others' records count for was found in it. ``linear`` with a
``spread`` is the package's own such world; there arms come in bands, and are made around each
agent's parameter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fedbandits as fb
from fedbandits.draws import Draws


@fb.register
class Unlike(fb.environments.PythonEnvironment, tag="unlike"):
    """Agents with parameters of their own around a common one.

    Contexts are uniform on a sphere of squared radius ½, beside a constant coordinate √½. An arm's
    expected reward is ½ + ⟨x, θ_i⟩, clipped to [0, 1]; the constant coordinate counts for nothing.
    θ_i = θ + δ_i is shortened to a norm of ½ where it is longer. So it is in units of ½: ‖θ‖ is
    0.8, and the typical length of δ_i is ``spread``.

    Parameters
    ----------
    dim
        Length of a context, with the constant coordinate.
    arms
        Number of arms K.
    spread
        Typical length of δ_i, beside 0.8 of θ.
    """

    dim: int = 6
    arms: int = 10
    spread: float = 0.5

    @property
    def has_constant(self) -> bool:
        return True

    @property
    def dimension(self) -> int:
        return self.dim

    @property
    def arm_count(self) -> int:
        return self.arms

    def begin(self, draws: Draws) -> Any:
        g = draws.generator()
        theta = g.normal(size=self.dim)
        theta *= 0.4 / np.linalg.norm(theta)
        own = theta + g.normal(size=(self.agents, self.dim)) / np.sqrt(self.dim) * self.spread / 2
        own /= np.maximum(1, 2 * np.linalg.norm(own, axis=1))[:, None]
        return own

    def decision_set(self, world: Any, agent: int, round_: int, draws: Draws) -> Any:
        c = draws.generator().normal(size=(self.arms, self.dim - 1))
        c /= np.linalg.norm(c, axis=1, keepdims=True)
        c = np.hstack([c * np.sqrt(0.5), np.full((self.arms, 1), np.sqrt(0.5))])
        expected = 0.5 + 0.5 * np.clip(c[:, :-1] @ world[agent][:-1] * 2, -1, 1)
        return c.astype(np.float32), expected
