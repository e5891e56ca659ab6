"""FedUCB again, in plain numpy and float64, straight from the paper and docs/confidence.md.

A second derivation to hold the compiled loop against: it shares the environment and the named
draws, and nothing else.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits.environments import Environment
from fedbandits.privacy import gaussian
from fedbandits.privacy.continual import encoder, toeplitz_coefficients
from fedbandits.random import Purpose, integer, normals, replicate_key, uniform
from fedbandits.systems.agents.config import Determinant
from fedbandits.systems.feducb import FedUCB
from fedbandits.systems.feducb.plan import make_plan
from tests.worlds import decision_set


def gram_noise(config) -> float:
    """Deviation of the Gram matrix's noise, relative to that of the moment's."""
    if config.gram_noise != "auto":
        return config.gram_noise
    return 1.0 if config.uses_published_noise else math.sqrt(0.5) / config.reward_bound  # L=1, B=S


def optimal_weights(release, k: int) -> np.ndarray:
    """Row k of A C⁻¹, by a solver."""
    matrix = encoder(release.releases, release.decay)
    return np.linalg.solve(matrix.T, np.tril(np.ones_like(matrix))[k - 1])[:k]


class Trace(NamedTuple):
    actions: np.ndarray  # (rounds, agents)
    regret: np.ndarray  # (rounds, agents), cumulative
    reward: np.ndarray
    syncs: list[int]
    released: list[np.ndarray]  # per sync: (models, d + 1, d + 1) sum of all agents' releases


def narrowest(
    values: np.ndarray, base: float, b: float, w: float, config: FedUCB, log_term: float
) -> tuple[float, tuple[float, float, float]]:
    """The shift of docs/confidence.md, then inflation, correction and bias of the radius."""
    S = config.parameter_bound
    if b == 0.0:
        candidates = [base]
    else:
        low = max(0.0, base - values[0])
        high = 2 * max(base + b, low)
        candidates = [low + (high - low) * (i / 32) ** 2 for i in range(33)]
    best = None
    for shift in candidates:
        c = max(base + b - shift, 0.0)
        smallest = values[0] + shift
        inflation = math.sqrt(1 + c / smallest)
        bias = (S * shift + w) / math.sqrt(smallest)
        inner = log_term + np.log(values + shift + c).sum()
        beta = inflation * config.noise_scale * math.sqrt(max(inner, 0.0)) + bias
        width = beta**2 * np.sum(1 / (values + shift))
        if best is None or width < best[0]:
            best = (width, shift, (inflation, c, bias))
    return best[1], best[2]


class Reference:
    def __init__(self, config: FedUCB, environment: Environment, rounds: int, seed: int, rep: int):
        self.plan = make_plan(config, environment.facts, rounds)
        config = self.plan.config  # it says what is taken from rewards
        self.config, self.environment, self.rounds = config, environment, rounds
        self.key = replicate_key(seed, rep)
        self.world = environment.world(self.key)
        self.M, self.J = environment.agents, environment.models
        self.d = environment.dimension
        self.Q = np.zeros((self.M, self.J, self.d + 1, self.d + 1))  # all records
        self.U = np.zeros_like(self.Q)  # own records since the last sync
        self.draws: list[np.ndarray] = []
        base = self.base()
        self.S = np.tile(base * np.eye(self.d), (self.J, 1, 1))
        self.s = np.zeros((self.J, self.d))
        bias = self.published_bias() if self.published else config.parameter_bound * math.sqrt(base)
        self.inflation, self.correction = np.ones(self.J), np.zeros(self.J)
        self.bias = np.full(self.J, bias)

    @property
    def published(self) -> bool:
        return self.config.confidence == "published"

    def base(self) -> float:
        if self.published:
            return self.M * self.plan.bounds.rho_min
        return self.plan.constants.base

    def published_bias(self) -> float:
        bounds = self.plan.bounds
        return self.config.parameter_bound * math.sqrt(self.M * bounds.rho_max) + (
            bounds.kappa * math.sqrt(self.M)
        )

    def log_term(self) -> float:
        if self.published:
            return 2 * math.log(2 / self.config.alpha) - self.d * math.log(self.base())
        events = self.J * (self.M if self.config.local_view == "raw" else 1)
        return 2 * math.log(2 * events / self.config.alpha) - self.d * math.log(self.base())

    def view(self, agent: int, model: int) -> tuple[np.ndarray, np.ndarray, float]:
        V, u = self.S[model].copy(), self.s[model].copy()
        log_det = np.linalg.slogdet(V + self.correction[model] * np.eye(self.d))[1]
        if self.config.local_view == "raw":
            own = self.U[agent, model]
            log_det += np.linalg.slogdet(V + own[:-1, :-1])[1] - np.linalg.slogdet(V)[1]
            V, u = V + own[:-1, :-1], u + own[:-1, -1]
        root = math.sqrt(max(self.log_term() + log_det, 0.0))
        beta = self.inflation[model] * self.config.noise_scale * root + self.bias[model]
        return V, np.linalg.solve(V, u), beta

    def act(self, agent: int, round_: int) -> tuple[int, float, float]:
        features, expected, best = decision_set(
            self.environment, self.world, self.key, agent, round_
        )
        scores = []
        for arm in range(self.environment.arm_count):
            model, column = (0, arm) if self.J == 1 else (arm, 0)
            scores.append(self.score(agent, model, features[:, column].astype(float)))
        scores = np.array(scores, np.float32)
        count = len(scores)
        first = integer(count, self.key, agent, round_, int(Purpose.TIE), 0)
        # Scores that float32 cannot tell apart count as ties here too.
        top = [a for a in range(count) if scores[a] >= scores.max() - 1e-6]
        arm = min(top, key=lambda a: (a - first) % count)
        reward = float(uniform(self.key, agent, round_, int(Purpose.REWARD), 0) < expected[arm])
        context = features[:, arm if self.J == 1 else 0].astype(float)
        z = np.append(context, reward - self.config.centre)
        model = 0 if self.J == 1 else arm
        self.Q[agent, model] += np.outer(z, z)
        self.U[agent, model] += np.outer(z, z)
        return arm, float(expected[best] - expected[arm]), reward

    def score(self, agent: int, model: int, x: np.ndarray) -> float:
        V, theta, beta = self.view(agent, model)
        width = self.config.exploration_scale * beta * math.sqrt(x @ np.linalg.solve(V, x))
        return x @ theta + width

    def noise(self, agent: int, k: int) -> np.ndarray:
        """Symmetrised noise of one step, unpacked from the packed draw that the run makes."""
        size = self.d * (self.d + 3) // 2
        flat = normals(self.J * size, self.key, agent, k, Purpose.PRIVACY_NOISE)
        blocks = np.zeros((self.J, self.d + 1, self.d + 1))
        for model, packed in enumerate(flat.reshape(self.J, size)):
            position = 0
            for i in range(self.d):
                for j in range(i, self.d):
                    entry = packed[position] * (math.sqrt(2) if i == j else 1.0)
                    entry *= gram_noise(self.config)
                    blocks[model, i, j] = blocks[model, j, i] = entry
                    position += 1
            blocks[model, :-1, -1] = blocks[model, -1, :-1] = packed[position:]
        return self.scale(agent) * blocks

    def epsilon(self, agent: int) -> float:
        given = self.config.epsilon
        return given[agent] if isinstance(given, tuple) else given

    def scale(self, agent: int) -> float:
        """An agent's s, from its own ε."""
        config, release = self.config, self.plan.release
        if not config.is_private:
            return 0.0
        if config.uses_published_noise:
            levels = 1 + math.ceil(math.log2(max(release.releases, 1)))
            size = 4 * math.sqrt(levels) * (config.context_bound**2 + 1)
            return size * math.log(2 / config.delta) / self.epsilon(agent)
        ratio = gram_noise(config)
        norm = config.context_bound**2 / ratio + ratio * config.reward_bound**2
        whole = (
            (1 + 2.0**-16)
            * release.sensitivity()
            * norm
            / gaussian.mu_of(self.epsilon(agent), config.delta)
        )
        secure = self.plan.secure  # its noise is that of all shares together
        return whole if secure is None else whole / math.sqrt(secure.honest)

    def pooled_deviation(self, k: int) -> float:
        scales = np.array([self.scale(agent) for agent in range(self.M)])
        one = self.plan.release.deviation(k) / self.plan.release.scale if scales.any() else 0.0
        return one * math.sqrt(np.sum(scales**2))

    def released_noise(self, agent: int, k: int) -> np.ndarray:
        total = np.zeros((self.J, self.d + 1, self.d + 1))
        mechanism = self.plan.release.mechanism
        if mechanism == "toeplitz":
            c = toeplitz_coefficients(k)
            for j in range(1, k + 1):
                total += c[k - j] * self.noise(agent, j)
        if mechanism == "optimal":
            for j, weight in enumerate(optimal_weights(self.plan.release, k), 1):
                total += weight * self.noise(agent, j)
        if mechanism == "tree":
            end = k
            while end:
                total += self.noise(agent, end)
                end &= end - 1  # the block that ends here is as long as the lowest set bit
        return total

    def sync(self, k: int) -> np.ndarray:
        released = sum(self.Q[i] + self.released_noise(i, k) for i in range(self.M))
        self.U[:] = 0.0
        for model in range(self.J):
            gram, moment = released[model, :-1, :-1], released[model, :-1, -1]
            shift = self.choose_terms(model, gram, k)
            self.S[model], self.s[model] = gram + shift * np.eye(self.d), moment
        return released

    def choose_terms(self, model: int, gram: np.ndarray, k: int) -> float:
        config, constants = self.config, self.plan.constants
        if self.published:
            return 2 * self.plan.bounds.rho_min * self.M if config.is_private else self.base()
        deviation = self.pooled_deviation(k)
        b, w = constants.norm_factor * deviation, constants.bias_factor * deviation
        values = np.linalg.eigvalsh(gram)
        shift, terms = narrowest(values, self.base(), b, w, config, self.log_term())
        self.inflation[model], self.correction[model], self.bias[model] = terms
        return shift

    def triggered(self, waited: int) -> bool:
        extra = self.plan.constants.trigger_shift * np.eye(self.d)
        for agent in range(self.M):
            growth = 0.0
            for model in range(self.J):
                V = self.S[model] + self.U[agent, model][:-1, :-1] + extra
                growth += np.linalg.slogdet(V)[1] - np.linalg.slogdet(self.S[model])[1]
            if growth >= self.plan.constants.threshold / waited:
                return True
        return False

    def run(self, sync_rounds: list[int]) -> Trace:
        actions = np.zeros((self.rounds, self.M), int)
        regret, reward = np.zeros((self.rounds, self.M)), np.zeros((self.rounds, self.M))
        syncs: list[int] = []
        released: list[Any] = []
        waited = 0
        for t in range(1, self.rounds + 1):
            for agent in range(self.M):
                outcome = self.act(agent, t)
                actions[t - 1, agent], regret[t - 1, agent], reward[t - 1, agent] = outcome
            waited += 1
            if isinstance(self.config.schedule, Determinant):
                due = self.triggered(waited)
            else:
                due = t in sync_rounds
            if due:
                syncs.append(t)
                released.append(self.sync(len(syncs)))
                waited = 0
        return Trace(actions, regret.cumsum(axis=0), reward.cumsum(axis=0), syncs, released)
