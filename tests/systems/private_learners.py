"""Private learners that somebody outside the package could have written, for tests."""

from __future__ import annotations

import numpy as np

import fedbandits as fb


class PrivateLinUCB(fb.PrivateLearner):
    """LinUCB on noisy sums of all agents' records."""

    width: float = 0.3
    record_bound = 1.5**0.5  # ‖x xᵀ‖²/2 + ‖r x‖², where ‖x‖ and |r| are at most 1

    def begin(self):
        d = self.facts.dimension
        self.rows, self.columns = np.triu_indices(d)
        self.weights = np.where(self.rows == self.columns, 0.5**0.5, 1.0)
        self.receive(np.zeros(len(self.rows) + d))

    def record(self, context, arm, reward):
        square = self.weights * context[self.rows] * context[self.columns]
        return np.concatenate([square, reward * context])

    def receive(self, total):
        d, size = self.facts.dimension, len(self.rows)
        gram = np.zeros((d, d))
        gram[self.rows, self.columns] = gram[self.columns, self.rows] = total[:size] / self.weights
        ridge = 1.0 + 2.0 * self.noise_deviation * d**0.5
        values, vectors = np.linalg.eigh(gram)
        self.inverse = (vectors / np.maximum(values + ridge, 0.5 * ridge)) @ vectors.T
        self.theta = self.inverse @ total[size:]

    def decide(self, contexts, draws):
        widths = np.sqrt(np.einsum("ki,ij,kj->k", contexts, self.inverse, contexts))
        return np.argmax(contexts @ self.theta + self.width * widths)


class PrivateMeans(fb.PrivateLearner):
    """Plays the arm with the largest noisy mean; own rewards count at once."""

    explore: float = 0.1
    record_bound = 2**0.5  # one 1, and a reward of at most 1

    def begin(self):
        self.sums, self.own = np.zeros((2, self.facts.arms)), np.zeros((2, self.facts.arms))

    def record(self, context, arm, reward):
        added = np.zeros((2, self.facts.arms))
        added[:, arm] = 1.0, reward
        return added.ravel()

    def observe(self, context, arm, reward):
        self.own[:, arm] += 1.0, reward

    def receive(self, total):
        self.sums = total.reshape(2, -1)
        self.own[:] = 0.0

    def decide(self, contexts, draws):
        if draws.bernoulli(self.explore):
            return draws.integer(len(contexts))
        counts, rewards = self.sums + self.own
        return np.argmax(rewards / np.maximum(counts, self.noise_deviation + 1.0))
