"""Exploration by standard deviations again, in plain numpy and float64; all is solved anew."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special, stats

from fedbandits.learners.kernels.released_sum import find_directions
from fedbandits.random import Purpose, normals
from fedbandits.systems.agents.kernels.pools import noise_variance
from tests.systems.reference import Reference, gram_noise


def guessed_spectrum(values, noise):
    """A guess of the eigenvalues of V by those of V + N, and the variance that it misses."""
    d, total = len(values), values.sum()
    if total <= 0.0:
        return np.zeros(d), np.zeros(d)
    gaps = values[:, None] - values
    guess = values - 2 * noise * (gaps / (gaps**2 + noise)).sum(axis=1)
    guess = optimize.isotonic_regression(guess).x
    if guess[0] < 0.0:  # the closest point of a simplex
        level = optimize.brentq(
            lambda cut: np.maximum(guess - cut, 0.0).sum() - total,
            guess[0], guess[-1], xtol=1e-15 * abs(guess[-1]), rtol=1e-15,
        )  # fmt: skip
        guess = np.maximum(guess - level, 0.0)
    mean, freedom = total / d, d * (d + 1) - 2
    spread, found = ((values - mean) ** 2).sum(), ((guess - mean) ** 2).sum()
    if d > 1 and found > 0.0:
        allowed = max(spread - freedom * noise, 0.0)
        guess = mean + min(1.0, math.sqrt(allowed / found)) * (guess - mean)
    slopes = np.zeros((d, d))
    apart = abs(gaps) > 1e-9 * (abs(values)[:, None] + abs(values))
    slopes[apart] = np.clip((guess[:, None] - guess)[apart] / gaps[apart], 0.0, 1.0)
    beside = [[k for k in (i - 1, i + 1) if 0 <= k < d] for i in range(d)]
    own = np.array([slopes[i, near].mean() if near else 1.0 for i, near in enumerate(beside)])
    missed = noise * (slopes.sum(axis=1) + 2 * own) / d
    hidden = values <= 2 * math.sqrt(noise * d)
    if hidden.any():
        guess[hidden] = guess[hidden].mean()
        missed[hidden] = noise * (1 + 1 / d) + guess[hidden] ** 2 / d
    return guess, missed


def read_by(gram, moment, gram_variance, moment_variance, reward_variance, parameter_bound):
    """What a noisy sum tells: directions, one a column, and g and z along each.

    The directions are the package's: where eigenvalues are equal, there are many.
    """
    d = len(moment)
    values, rows = np.empty((1, d)), np.empty((1, d, d))
    find_directions(gram[np.triu_indices(d)][None].copy(), values, rows)
    values, directions = values[0], rows[0].T
    if moment_variance == 0.0:
        return directions, np.maximum(values, 0.0), np.where(values > 0.0, moment @ directions, 0.0)
    guess, missed = guessed_spectrum(values, gram_variance)
    kappa = (moment_variance + missed * parameter_bound**2) / reward_variance
    share = guess / (guess + kappa)
    return directions, share * guess, share * (moment @ directions)


def told_by(gram, moment, *reading):
    """What a noisy sum tells, as the Gram matrix and the moment of records in clear."""
    if reading[1] == 0.0:
        return gram, moment
    directions, precisions, moments = read_by(gram, moment, *reading)
    return (directions * precisions) @ directions.T, directions @ moments


def shared_ridge(precisions, moments, alone, variance):
    """λ of a θ that all arms share, along all directions but the last."""
    ridges = alone * np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0])
    g, z = (numbers[:-1][precisions[:-1] > 0.0] for numbers in (precisions, moments))
    # z = gθ + noise of variance v·g, and θ has a variance of v/λ.
    logs = [
        stats.norm.logpdf(z, scale=np.sqrt(variance * (g + g**2 / ridge))).sum()
        for ridge in ridges
    ]  # fmt: skip
    logs[0] += np.log(4.0)  # where others say nothing, λ stays
    return ridges[np.argmax(logs)]


def hypotheses(precisions, moments, common, alone):
    """What each says of an agent's parameter, as precisions and a mean along directions."""
    known = common + precisions
    for spread in (0.0, 0.1, 0.3, 0.7):
        yield np.maximum(1 / (1 / known + spread**2 / alone), alone), moments / known
    yield np.full(len(known), alone), moments / known
    yield np.full(len(known), alone), np.zeros(len(known))


def log_evidence(prior, mean, gram, moment, variance):
    """ln N(y; Xμ, v (I + X P⁻¹ Xᵀ)) of any X and y with these sums, less what is the same for all.

    X = Gram^½ has these sums, and y = X⁺u, as far as u is in its span.
    """
    values, vectors = np.linalg.eigh(gram)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    rewards = np.linalg.pinv(root, rcond=1e-7, hermitian=True) @ moment
    covariance = variance * (np.eye(len(prior)) + root / prior @ root)
    return stats.multivariate_normal.logpdf(rewards, root @ mean, covariance)


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
        learned = reward - self.config.centre
        x = added[:-1, -1] / learned if learned else _context(added[:-1, :-1])
        after = self.estimate(agent, model)[1]
        self.squares[agent, model] += 1, (learned - x @ before[model]) * (learned - x @ after)
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
            readings = [
                (
                    sums[model, :-1, :-1], sums[model, :-1, -1],
                    (gram_noise(self.config) * deviation) ** 2, deviation**2,
                    self.deviation(agent, model) ** 2, self.config.parameter_bound,
                )
                for model in range(self.J)
            ]  # fmt: skip
            if self.own:
                self.pool_partially(agent, readings)
                continue
            for model, reading in enumerate(readings):
                self.told[agent, model], self.scores[agent, model] = told_by(*reading)
        return released

    def pool_partially(self, agent, readings):
        """Average over how far others' records count, by own records."""
        logs = np.log(0.5) * np.arange(6) if self.J == 1 else np.zeros(6)
        known = []
        for model, reading in enumerate(readings):
            self.ridge[agent, model] = alone = self.ridge_due(agent, model)
            directions, precisions, moments = read_by(*reading)
            common, variance = np.full(self.d, alone), reading[4]
            if self.J == 1:
                common[:-1] = shared_ridge(precisions, moments, alone, variance)
            own = self.Q[agent, model]
            gram = directions.T @ own[:-1, :-1] @ directions
            moment = directions.T @ own[:-1, -1]
            each = list(hypotheses(precisions, moments, common, alone))
            logs = logs + [log_evidence(*one, gram, moment, variance) for one in each]
            known.append((directions, gram, moment, each))
        weights = special.softmax(logs)
        for model, (directions, gram, moment, each) in enumerate(known):
            factor, mean = np.zeros_like(gram), np.zeros_like(moment)
            for weight, (prior, centre) in zip(weights, each, strict=True):
                precision = np.diag(prior) + gram
                factor += weight * np.linalg.inv(np.linalg.cholesky(precision)).T
                mean += weight * np.linalg.solve(precision, prior * centre + moment)
            factor, mean = directions @ factor, directions @ mean
            precision, own = np.linalg.inv(factor @ factor.T), self.Q[agent, model]
            others = precision - own[:-1, :-1] - self.ridge[agent, model] * np.eye(self.d)
            self.told[agent, model], self.scores[agent, model] = (
                others, precision @ mean - own[:-1, -1],
            )  # fmt: skip


def _context(square):
    """x of x xᵀ, up to its sign, which does not matter where the reward is 0."""
    values, vectors = np.linalg.eigh(square)
    return vectors[:, -1] * math.sqrt(max(values[-1], 0.0))
