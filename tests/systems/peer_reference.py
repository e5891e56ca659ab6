"""Peer-to-peer FedUCB again, in plain numpy: every message is sent, hop by hop.

A second derivation to hold the compiled loop against, from Algorithm 3, docs/peer-to-peer.md and
docs/confidence.md. It shares the environment, the named draws and the noise's calibrated scale.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from fedbandits.environments import Environment
from fedbandits.learners.confidence import bias_norm_factor, least_eigenvalue_factor
from fedbandits.privacy.continual import toeplitz_coefficients
from fedbandits.random import Purpose, integer, normals, replicate_key, uniform
from fedbandits.systems.agents.config import Determinant
from fedbandits.systems.feducb_p2p import PeerFedUCB
from fedbandits.systems.feducb_p2p.plan import make_plan
from tests.systems.reference import gram_noise, narrowest, optimal_weights
from tests.worlds import decision_set


class Sent(NamedTuple):
    sender: int
    receiver: int
    hops: int  # when it arrives
    kind: str
    origin: int
    round: int  # in which it was made
    estimator: int = 0
    number: int = 0
    value: Any = None

    @property
    def name(self) -> tuple:
        return self.kind, self.origin, self.estimator, self.round


class Estimator:
    """One agent's statistics of one set of rounds, and what it has made of others' releases."""

    def __init__(self, models: int, d: int, base: float, bias: float):
        self.Q = np.zeros((models, d + 1, d + 1))  # all own records
        self.U = np.zeros((models, d + 1, d + 1))  # those since the last own release
        self.waited, self.made, self.released_in = 0, 0, 0
        self.heard: dict[int, tuple[int, np.ndarray]] = {}
        self.news = False
        self.V = np.tile(base * np.eye(d), (models, 1, 1))  # when last pooled
        self.S = self.V.copy()  # without own records that are not released
        self.now = self.V.copy()
        self.u = np.zeros((models, d))
        self.terms = [(1.0, 0.0, bias)] * models  # inflation, correction, bias


class PeerReference:
    def __init__(
        self, config: PeerFedUCB, environment: Environment, rounds: int, seed: int, rep: int
    ):
        self.config, self.environment, self.rounds = config, environment, rounds
        self.key = replicate_key(seed, rep)
        self.world = environment.world(self.key)
        self.plan = make_plan(config, environment.facts, rounds)
        self.M, self.J, self.d = environment.agents, environment.models, environment.dimension
        self.graph = nx.empty_graph(self.M)
        self.graph.add_edges_from(
            (i, j) for i in range(self.M) for j in self.plan.topology.neighbours(i)
        )
        self.hops = dict(nx.all_pairs_shortest_path_length(self.graph))
        self.triggered = isinstance(config.schedule, Determinant)
        self.G = config.gamma if self.triggered else 1
        self.members = [self.pooled_by(i) for i in range(self.M)]
        self.b, self.w = self.noise_factors()
        self.base = [self.base_of(i) for i in range(self.M)]
        self.log_term = [self.log_term_of(i) for i in range(self.M)]
        self.estimators = [[self.fresh_estimator(i) for _ in range(self.G)] for i in range(self.M)]
        self.known: list[dict[tuple, set[int]]] = [{} for _ in range(self.M)]
        self.under_way: list[Sent] = []
        self.calls: list[list[Sent]] = [[] for _ in range(self.M)]  # to be answered
        self.passing: list[list[Sent]] = [[] for _ in range(self.M)]
        self.messages = self.bytes = 0

    # Who pools whose releases, and what follows for the radius.

    def pooled_by(self, i: int) -> list[int]:
        near = [j for j in range(self.M) if self.hops[i][j] <= self.config.gamma]
        if not self.triggered:
            return near
        apart = nx.Graph()
        apart.add_nodes_from(range(self.M))
        apart.add_edges_from(
            (a, b) for a in range(self.M) for b in range(a) if self.hops[a][b] > self.config.gamma
        )
        colour = nx.greedy_color(apart, strategy="largest_first")
        return [j for j in near if colour[j] == colour[i]]

    def late(self, i: int, j: int) -> int:
        return max(self.hops[i][j] - 1, 0)

    def noise_factors(self) -> tuple[float, float]:
        """α/4 is split over releases, models and different pooled sums, counted one by one."""
        if self.triggered:
            sums = sum(len(members) for members in self.members) * self.G
        else:
            sums = 0
            for row in {
                tuple((j, self.late(i, j)) for j in self.members[i]) for i in range(self.M)
            }:
                sums += len({late for _, late in row})
        share = self.config.alpha / (4 * max(self.plan.release.releases, 1) * sums * self.J)
        ratio = gram_noise(self.config)
        return (
            ratio * least_eigenvalue_factor(self.d, share),
            bias_norm_factor(self.d, self.config.parameter_bound, share, ratio),
        )

    @property
    def published(self) -> bool:
        return self.config.confidence == "published"

    def base_of(self, i: int) -> float:
        if self.published:
            return self.M * self.plan.bounds.rho_min
        if self.config.regularization != "auto":
            return self.config.regularization
        deviation = self.plan.release.largest_deviation() * math.sqrt(len(self.members[i]))
        return max(1.0, self.b / gram_noise(self.config) * deviation)

    def log_term_of(self, i: int) -> float:
        fixed = self.d * math.log(self.base[i])
        if self.published:
            return 2 * math.log(2 / self.config.alpha) - fixed
        if self.triggered:
            events = self.M * self.G
        elif self.config.local_view == "raw":
            events = self.M
        else:
            rows = {tuple((j, self.late(k, j)) for j in self.members[k]) for k in range(self.M)}
            events = len(rows)
        return 2 * math.log(2 * events * self.J / self.config.alpha) - fixed

    def published_bias(self) -> float:
        bounds = self.plan.bounds
        return self.config.parameter_bound * math.sqrt(self.M * bounds.rho_max) + (
            bounds.kappa * math.sqrt(self.M)
        )

    def fresh_estimator(self, i: int) -> Estimator:
        bias = self.config.parameter_bound * math.sqrt(self.base[i])
        return Estimator(
            self.J, self.d, self.base[i], self.published_bias() if self.published else bias
        )

    # Acting.

    def pool(self, i: int, own: Estimator) -> None:
        """V = what was heard + own records that no release holds yet (raw view) + λI."""
        own.news = False
        total = sum(value for _, value in own.heard.values())
        variance = sum(self.plan.release.deviation(k) ** 2 for k, _ in own.heard.values())
        fresh = own.U if self.config.local_view == "raw" else np.zeros_like(own.U)
        for m in range(self.J):
            gram = total[m, :-1, :-1] + fresh[m, :-1, :-1]
            if self.published:
                shift = self.published_shift(len(own.heard))
                own.terms[m] = (1.0, 0.0, self.published_bias())
            else:
                deviation = math.sqrt(variance)
                shift, own.terms[m] = narrowest(
                    np.linalg.eigvalsh(gram),
                    self.base[i],
                    self.b * deviation,
                    self.w * deviation,
                    self.config,
                    self.log_term[i],
                )
            own.V[m] = gram + shift * np.eye(self.d)
            own.S[m] = own.V[m] - fresh[m, :-1, :-1]
            own.u[m] = total[m, :-1, -1] + fresh[m, :-1, -1]
        own.now = own.V.copy()

    def published_shift(self, heard: int) -> float:
        """2Λ for everyone heard, and the ρ_min of the start for everyone else."""
        if not self.config.is_private:
            return self.M * self.plan.bounds.rho_min
        return (2 * heard + self.M - heard) * self.plan.bounds.rho_min

    def act(self, i: int, t: int) -> tuple[int, float, float]:
        own = self.estimators[i][t % self.G]
        if own.news:
            self.pool(i, own)
        features, expected, best = decision_set(self.environment, self.world, self.key, i, t)
        scores = []
        for arm in range(self.environment.arm_count):
            m, column = (0, arm) if self.J == 1 else (arm, 0)
            x = features[:, column].astype(float)
            inflation, c, bias = own.terms[m]
            log_det = np.linalg.slogdet(own.V[m] + c * np.eye(self.d))[1]
            log_det += np.linalg.slogdet(own.now[m])[1] - np.linalg.slogdet(own.V[m])[1]
            root = math.sqrt(max(self.log_term[i] + log_det, 0.0))
            beta = inflation * self.config.noise_scale * root + bias
            width = math.sqrt(x @ np.linalg.solve(own.now[m], x))
            estimate = x @ np.linalg.solve(own.now[m], own.u[m])
            scores.append(estimate + self.config.exploration_scale * beta * width)
        scores = np.array(scores, np.float32)
        first = integer(len(scores), self.key, i, t, int(Purpose.TIE), 0)
        top = [a for a in range(len(scores)) if scores[a] >= scores.max() - 1e-6]
        arm = min(top, key=lambda a: (a - first) % len(scores))
        reward = float(uniform(self.key, i, t, int(Purpose.REWARD), 0) < expected[arm])
        z = np.append(features[:, arm if self.J == 1 else 0].astype(float), reward)
        m = 0 if self.J == 1 else arm
        own.Q[m] += np.outer(z, z)
        own.U[m] += np.outer(z, z)
        if self.config.local_view == "raw":
            own.now[m] += np.outer(z[:-1], z[:-1])
            own.u[m] += z[:-1] * reward
        own.waited += 1
        return arm, float(expected[best] - expected[arm]), reward

    # Releasing.

    def noise(self, i: int, g: int, k: int) -> np.ndarray:
        """Symmetrised noise of one step of one estimator's sum."""
        size = self.d * (self.d + 3) // 2
        name = (k - 1) * self.G + g + 1
        flat = normals(self.J * size, self.key, i, name, Purpose.PRIVACY_NOISE)
        blocks = np.zeros((self.J, self.d + 1, self.d + 1))
        rows, columns = np.triu_indices(self.d)
        for m, packed in enumerate(flat.reshape(self.J, size)):
            entries = packed[: len(rows)] * np.where(rows == columns, math.sqrt(2), 1.0)
            entries *= gram_noise(self.config)
            blocks[m, rows, columns] = blocks[m, columns, rows] = entries
            blocks[m, :-1, -1] = blocks[m, -1, :-1] = packed[len(rows) :]
        return self.plan.release.scale * blocks

    def release(self, i: int, g: int, t: int) -> list[Sent]:
        own = self.estimators[i][g]
        own.made += 1
        k, value = own.made, own.Q.copy()
        mechanism = self.plan.release.mechanism
        if mechanism == "toeplitz":
            for j, c in enumerate(toeplitz_coefficients(k)[::-1], 1):
                value += c * self.noise(i, g, j)
        if mechanism == "optimal":
            for j, weight in enumerate(optimal_weights(self.plan.release, k), 1):
                value += weight * self.noise(i, g, j)
        end = k if mechanism == "tree" else 0
        while end:
            value += self.noise(i, g, end)
            end &= end - 1
        own.released_in, own.waited = t, 0
        own.U[:] = 0.0
        own.heard[i], own.news = (k, value), True
        return self.broadcast(Sent(i, i, 0, "release", i, t, g, k, value), set())

    def broadcast(self, message: Sent, have: set[int]) -> list[Sent]:
        i = message.receiver
        self.known[i].setdefault(message.name, set())
        return [
            message._replace(sender=i, receiver=j, hops=message.hops + 1)
            for j in sorted(self.graph[i])
            if j not in have
        ]

    def fires(self, own: Estimator) -> bool:
        extra = self.plan.constants.trigger_shift * np.eye(self.d)
        growth = sum(
            np.linalg.slogdet(own.now[m] + extra)[1] - np.linalg.slogdet(own.S[m])[1]
            for m in range(self.J)
        )
        return growth >= self.plan.constants.threshold / own.waited

    def end_round(self, t: int, planned: list[int]) -> None:
        """Everybody sends, then everything that was sent arrives."""
        outgoing: list[Sent] = []
        for i in range(self.M):
            if self.triggered:
                g = t % self.G
                if self.fires(self.estimators[i][g]):
                    call = Sent(i, i, 0, "call", i, t, g)
                    outgoing += self.broadcast(call, set())
                    self.calls[i].append(call)
                for call in self.calls[i]:
                    if self.estimators[i][call.estimator].released_in < call.round:
                        outgoing += self.release(i, call.estimator, t)
                self.calls[i] = []
            elif t in planned:
                outgoing += self.release(i, 0, t)
            for message in self.passing[i]:
                outgoing += self.broadcast(message, self.known[i][message.name])
            self.passing[i] = []
        for message in outgoing:
            self.messages += 1
            if message.kind == "release":
                self.bytes += self.J * self.d * (self.d + 3) // 2 * 8
            self.arrive(message)

    def arrive(self, message: Sent) -> None:
        i = message.receiver
        if message.name in self.known[i]:
            self.known[i][message.name].add(message.sender)
            return
        self.known[i][message.name] = {message.sender}
        if message.hops < self.config.gamma:
            self.passing[i].append(message)
        if message.origin not in self.members[i]:
            return
        if message.kind == "call":
            self.calls[i].append(message)
        else:
            own = self.estimators[i][message.estimator]
            own.heard[message.origin], own.news = (message.number, message.value), True

    def play(self, t: int, planned: list[int]) -> list[tuple[int, float, float]]:
        """One round; (action, regret, reward) of every agent."""
        outcomes = [self.act(i, t) for i in range(self.M)]
        self.end_round(t, planned)
        return outcomes
