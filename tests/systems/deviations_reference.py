"""Exploration by standard deviations again, in plain numpy and float64; all is solved anew."""

from __future__ import annotations

import math

import numpy as np

from fedbandits.random import Purpose, normals
from fedbandits.systems.agents.kernels.pools import noise_variance
from tests.systems.reference import Reference, gram_noise


def told_by(gram, moment, gram_variance, moment_variance, reward_variance, parameter_bound):
    """What a noisy sum tells, as the Gram matrix and the moment of records in clear."""
    if moment_variance == 0.0:
        return gram, moment
    d = len(moment)
    centre = np.trace(gram) / d * np.eye(d)
    if centre[0, 0] <= 0.0:
        return np.zeros((d, d)), np.zeros(d)
    share, varied = 1.0, 0.0
    if d > 1:
        # N less its own trace has d² + d - 2 times its variance in all.
        spread = np.linalg.norm(gram - centre) ** 2 / (d * d + d - 2)
        varied = max(spread - gram_variance, 0.0)
        share = varied / (varied + gram_variance)
    guess = centre + share * (gram - centre)
    while np.linalg.eigvalsh(guess)[0] < 0.0:
        share = 0.8 * share if share > 1e-3 else 0.0
        guess = centre + share * (gram - centre)
    missed = share**2 * gram_variance + (1 - share) ** 2 * varied
    missed *= parameter_bound**2 * (1 + 1 / d)
    kappa = (moment_variance + missed) / reward_variance
    weight = guess @ np.linalg.inv(guess + kappa * np.eye(d))
    return weight @ guess, weight @ moment


class DeviationsReference(Reference):
    """Agents that explore standard deviations of what they know, or draw from them."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.told = np.zeros((self.M, self.J, self.d, self.d))
        self.scores = np.zeros((self.M, self.J, self.d))
        self.squares = np.zeros((self.M, self.J, 2))
        self.ridge = np.full((self.M, self.J), self.plan.constants.base)
        self.own = self.config.local_view != "released"

    def deviation(self, agent, model):
        bound = self.config.noise_scale**2
        if not self.own:
            return math.sqrt(bound)
        count, squares = self.squares[agent, model]
        return math.sqrt(np.clip((squares + 10 * bound) / (count + 10), 0.01 * bound, bound))

    def ridge_due(self, agent, model):
        """Little noise in rewards says nothing of what is unknown: there, widths stay."""
        share = (self.deviation(agent, model) / self.config.noise_scale) ** 2
        return self.plan.constants.base * share

    def estimate(self, agent, model):
        precision = self.ridge[agent, model] * np.eye(self.d) + self.told[agent, model]
        moment = self.scores[agent, model].copy()
        if self.own:
            precision = precision + self.Q[agent, model, :-1, :-1]
            moment = moment + self.Q[agent, model, :-1, -1]
        return precision, np.linalg.solve(precision, moment)

    def score(self, agent, model, x):
        precision, theta = self.estimate(agent, model)
        if self.config.exploration == "draws":
            covariance = np.linalg.inv(precision) * self.deviation(agent, model) ** 2
            covariance *= self.config.exploration_scale**2
            if self.J == 1:
                return x @ (theta + np.linalg.cholesky(covariance) @ self.normals)
            return x @ theta + math.sqrt(x @ covariance @ x) * self.normals[model]
        width = 2 * self.deviation(agent, model) * math.sqrt(x @ np.linalg.solve(precision, x))
        return x @ theta + self.config.exploration_scale * width

    def act(self, agent, round_):
        size = self.d if self.J == 1 else self.J
        self.normals = normals(size, self.key, agent, round_, Purpose.POSTERIOR)
        before = [self.estimate(agent, model)[1] for model in range(self.J)]
        known = self.Q[agent].copy()
        arm, gap, reward = super().act(agent, round_)
        model = 0 if self.J == 1 else arm
        added = self.Q[agent, model] - known[model]
        x = added[:-1, -1] / reward if reward else _context(added[:-1, :-1])
        after = self.estimate(agent, model)[1]
        self.squares[agent, model] += 1, (reward - x @ before[model]) * (reward - x @ after)
        due = self.ridge_due(agent, model)
        if self.own and not 0.5 <= due / self.ridge[agent, model] <= 2.0:
            self.ridge[agent, model] = due
        return arm, gap, reward

    def noise_of_others(self, agent, k):
        constants = self.plan.constants
        every = [noise_variance(constants, i, k) for i in range(self.M)]
        return math.sqrt(max(sum(every) - (every[agent] if self.own else 0.0), 0.0))

    def sync(self, k):
        each = [self.Q[i] + self.released_noise(i, k) for i in range(self.M)]
        released = sum(each)
        for agent in range(self.M):
            sums = released - each[agent] if self.own else released
            deviation = self.noise_of_others(agent, k)
            for model in range(self.J):
                if self.own:
                    self.ridge[agent, model] = self.ridge_due(agent, model)
                self.told[agent, model], self.scores[agent, model] = told_by(
                    sums[model, :-1, :-1], sums[model, :-1, -1],
                    (gram_noise(self.config) * deviation) ** 2, deviation**2,
                    self.deviation(agent, model) ** 2, self.config.parameter_bound,
                )  # fmt: skip
        return released


def _context(square):
    """x of x xᵀ, up to its sign, which does not matter where the reward is 0."""
    values, vectors = np.linalg.eigh(square)
    return vectors[:, -1] * math.sqrt(max(values[-1], 0.0))
