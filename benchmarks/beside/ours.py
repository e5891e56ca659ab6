"""Contenders of this package, alone: a party that is stepped, a compiled loop, and numpy.

LinUCB with α = 1 and λ = 1 is ``linucb-alone`` with a raw view, and with so little noise of rewards
that the radius is its other term, S√λ = 1, in every round. As shipped, the radius is a theorem's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fedbandits as fb
from beside.streams import Stream
from beside.worlds import SEED
from fedbandits.draws import Draws
from fedbandits.random import Purpose, replicate_key

#: The settings of LinUCB with α = λ = 1; σ = 10⁻⁶ adds about 10⁻⁵ to the radius 1.
LINUCB = {
    "confidence": "adaptive", "local_view": "raw", "regularization": 1.0, "noise_scale": 1e-6,
}  # fmt: skip


class Stepped:
    """A party in one's own program: ``decide`` and ``observe``, checked and remembered."""

    def __init__(self, stream: Stream, replicate: int, world: Any) -> None:
        config = fb.system("linucb-alone", **LINUCB).config
        run = fb.parties.federate(config, world, len(stream.rewards), SEED, replicate)
        self._party: Any = run.players[0]
        self._features = list(stream.contexts)
        self._decision: Any = None

    def decide(self, t: int) -> int:
        self._decision = self._party.decide(self._features[t])
        return int(self._decision.action)

    def learn(self, t: int, arm: int, reward: float) -> None:
        self._party.observe(self._decision, reward)


class InBatches:
    """LinUCB on many rows at once; the settings are those of the peers."""

    def __init__(self, stream: Stream, seed: int) -> None:
        self._rows = np.asarray(stream.contexts[:, :, 0], np.float64)
        self._learner = fb.learners.BatchLinUCB(stream.arms, self._rows.shape[1])

    def decide_many(self, first: int, end: int) -> Any:
        """The arms for rounds ``first`` … ``end`` - 1."""
        return self._learner.decide(self._rows[first:end])

    def learn_many(self, first: int, end: int, arms: Any, rewards: Any) -> None:
        """Take up the rewards of these rounds."""
        self._learner.learn(self._rows[first:end], arms, rewards)


class Compiled:
    """A whole replicate as a simulation; it draws its world while it plays."""

    def __init__(self, world: Any, preset: str, settings: dict[str, Any]) -> None:
        self._world, self._config = world, fb.system(preset, **settings).config

    def begin(self, rounds: int, replicate: int) -> Any:
        """A replicate before its first round."""
        return fb.parties.simulate(self._config, self._world, rounds, SEED, replicate)


class LinUCB(fb.Learner, name="linucb-in-numpy"):
    """LinUCB as somebody would write it for this package; inverses are updated by rank one."""

    def begin(self) -> None:
        models, d = self.facts.models, self.facts.dimension
        self.inverse, self.sums = np.tile(np.eye(d), (models, 1, 1)), np.zeros((models, d))

    def decide(self, contexts: Any, draws: Any) -> int:
        theta = np.einsum("mij,mj->mi", self.inverse, self.sums)
        square = ((contexts @ self.inverse) * contexts).sum(axis=2)
        return int(np.argmax((theta @ contexts.T + np.sqrt(square)).reshape(-1)))

    def observe(self, context: Any, arm: int, reward: float) -> None:
        m = 0 if self.facts.models == 1 else arm
        gain = self.inverse[m] @ context
        self.inverse[m] -= np.outer(gain, gain) / (1.0 + context @ gain)
        self.sums[m] += reward * context


class LinTS(LinUCB, name="lints-in-numpy"):
    """Linear Thompson sampling: a parameter vector is drawn for each model."""

    def decide(self, contexts: Any, draws: Any) -> int:
        theta = np.einsum("mij,mj->mi", self.inverse, self.sums)
        normal = draws.normal(theta.size).reshape(theta.shape)
        drawn = theta + np.einsum("mij,mj->mi", np.linalg.cholesky(self.inverse), normal)
        return int(np.argmax((drawn @ contexts.T).reshape(-1)))


class InNumpy:
    """A learner in plain Python, stepped by itself."""

    def __init__(self, stream: Stream, replicate: int, world: Any, kind: type[fb.Learner]) -> None:
        self._learner = kind(world.facts, len(stream.rewards))
        self._key = replicate_key(SEED, replicate)
        self._rows = list(stream.contexts.transpose(0, 2, 1).astype(np.float64))
        self._shared = stream.shared_model

    def decide(self, t: int) -> int:
        draws = Draws(self._key, 0, t + 1, Purpose.LEARNER)
        return int(self._learner.decide(self._rows[t], draws))

    def learn(self, t: int, arm: int, reward: float) -> None:
        self._learner.observe(self._rows[t][arm if self._shared else 0], arm, reward)
