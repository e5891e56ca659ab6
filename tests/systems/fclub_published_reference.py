"""FCLUB and its baselines again, in plain Python and numpy, straight from the papers.

A second derivation to hold the compiled loop against: it shares the environment and the named
draws, and nothing else. Clusters are sets of users, sums are whole matrices, determinants and
inverses are computed anew every time. Which of several (almost) equally good items is recommended
is a matter of rounding, so the reference is told, and checks that it was one of the best.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from fedbandits.environments import Clustered
from fedbandits.environments.kernels.arrivals import draw_arrival, draw_item_reward, draw_items
from fedbandits.random import Purpose, normals, replicate_key
from fedbandits.systems.fclub_published import declare as p


def bar(x: float) -> float:
    return math.sqrt((1 + math.log(1 + x)) / (1 + x))


def gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b))


class Sum:
    """S, u and T."""

    def __init__(self, d: int):
        self.S, self.u, self.T = np.zeros((d, d)), np.zeros(d), 0

    def add(self, x: np.ndarray, y: float) -> None:
        self.S, self.u, self.T = self.S + np.outer(x, x), self.u + y * x, self.T + 1

    def __add__(self, other: Sum) -> Sum:
        out = Sum(len(self.u))
        out.S, out.u, out.T = self.S + other.S, self.u + other.u, self.T + other.T
        return out

    def theta(self, ridge: float) -> np.ndarray:
        return np.linalg.solve(self.S + ridge * np.eye(len(self.u)), self.u)

    def log_det(self, ridge: float) -> float:
        return np.linalg.slogdet(self.S + ridge * np.eye(len(self.u)))[1]


class Cluster:
    """A local cluster of one server."""

    def __init__(self, users: set[int], server: int, d: int):
        self.users, self.server = frozenset(users), server
        self.S, self.buffer, self.missing = Sum(d), Sum(d), Sum(d)
        self.group: frozenset[Cluster] = frozenset([self])
        self.frozen = (np.zeros(d), 0)
        self.tree: list[np.ndarray] = []  # node draws of releases 1, 2, …
        self.uploads = 0
        self.held = self.coming = (np.zeros((d, d)), np.zeros(d))

    @property
    def name(self) -> int:
        return min(self.users)


class Reference:
    def __init__(
        self, config: p.PublishedFCLUB, environment: Clustered, rounds: int, seed: int, rep: int
    ):
        self.c, self.T = config, rounds
        self.key = replicate_key(seed, rep)
        self.w: Any = environment.world(self.key)
        self.n, self.d = self.w.theta.shape
        self.K, self.L = environment.items, environment.servers
        self.m = environment.cluster_count
        self.private = config.is_private
        self.lam = 0.0 if self.private else config.regularization
        self.rho = self.node = self.rho_max = self.kappa = 0.0
        if self.private:
            self.plan_noise()
        self.user = [Sum(self.d) for _ in range(self.n)]
        self.graph = nx.Graph()
        self.graph.add_nodes_from(range(self.n))
        homes = [set(np.flatnonzero(self.w.server == s).tolist()) for s in range(self.L)]
        for home in homes:
            self.graph.add_edges_from(combinations(home, 2))
        if isinstance(config.clustering, p.Alone):
            homes = [{u} for u in range(self.n)]
        self.clusters = [Cluster(h, int(self.w.server[min(h)]), self.d) for h in homes]
        self.group_sum: dict[frozenset[Cluster], Sum] = {}
        if not isinstance(config.sharing, p.Never):
            self.join([frozenset(self.clusters)])
        self.checked: set[int] = set()
        self.t = self.syncs = self.downloads = 0
        self.twice = False
        self.regret = 0.0
        self.begin_phase()

    def plan_noise(self) -> None:
        c, d = self.c, self.d
        bound = d * math.log(self.T) / math.log(min(c.sharing.upload, c.sharing.download))
        tc = math.ceil(bound) if c.privatizer.uploads == "auto" else c.privatizer.uploads
        phases = 1 + sum(2 ** (s + 1) - 2 < self.T for s in range(1, 60))
        nu = math.ceil(math.log2(tc + 2 * phases + 1)) + 1
        log = math.log(2 * self.m * self.L / c.failure_probability)
        self.rho = 8 * math.sqrt(2) * nu * math.log(4 / c.delta)
        self.rho *= (4 * math.sqrt(d) + 2 * log) / c.epsilon
        self.node = math.sqrt(64 * nu) * math.log(2 / c.delta) / c.epsilon
        self.rho_max = 3 * self.rho + 3 * self.rho * bound
        norm = self.node * math.sqrt(nu) * (math.sqrt(d) + math.sqrt(2 * log))
        self.kappa = norm / math.sqrt(self.rho)
        self.most = tc

    # -- noise ------------------------------------------------------------------------------------

    def draw(self, cluster: Cluster, kind: int) -> np.ndarray:
        size = self.d * (self.d + 3) // 2
        party = cluster.name + self.n * kind
        return normals(size, self.key, party, self.t, Purpose.PRIVACY_NOISE)

    def noise(self, tree: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Of the newest release: the nodes of its binary expansion."""
        total, k, d = np.zeros(self.d * (self.d + 3) // 2), len(tree), self.d
        while k:
            total = total + tree[k - 1]
            k -= k & -k
        upper = np.zeros((d, d))
        upper[np.triu_indices(d)] = total[: d * (d + 1) // 2]
        off = np.triu(upper, 1)
        H = off + off.T + math.sqrt(2) * np.diag(np.diag(upper))
        return self.node * H, self.node * total[d * (d + 1) // 2 :]

    def pop(self, cluster: Cluster, kind: int) -> None:
        cluster.tree.append(self.draw(cluster, kind))
        cluster.held, cluster.coming = cluster.coming, self.noise(cluster.tree)

    def new_buffer(self, cluster: Cluster) -> None:
        cluster.buffer = Sum(self.d)
        if self.private:
            cluster.buffer.S += 3 * self.rho * np.eye(self.d)
            cluster.buffer.S += cluster.coming[0] - cluster.held[0]
            cluster.buffer.u += cluster.coming[1] - cluster.held[1]

    # -- a round ----------------------------------------------------------------------------------

    def model(self, user: int) -> Sum:
        """What a user is recommended by."""
        mine = next(c for c in self.clusters if user in c.users)
        if isinstance(self.c.sharing, p.Always):
            return self.group_sum[mine.group]
        if isinstance(self.c.sharing, p.Delayed):
            return mine.S + mine.buffer if self.c.acts_on == "buffered" else mine.S
        total = Sum(self.d)
        for member in mine.users:
            total = total + self.user[member]
        return total

    def radius(self, model: Sum, partners: int) -> float:
        c, d = self.c, self.d
        if isinstance(c.confidence, p.Authors):
            t, far = max(model.T, 1), 2 * math.log(2 * max(model.T, 1))
            m, log = math.log(t) + 1, math.log(4 / c.delta)
            rho = math.sqrt(32) * m * 2 * log * (4 * math.sqrt(d) + far) / c.epsilon
            ups = math.sqrt(m * 2 * (math.sqrt(d) + far) / math.sqrt(2 * c.epsilon))
            beta = math.sqrt(2 * math.log(2) + d * math.log(1 + t / (d * rho)))
            beta += math.sqrt(self.L * rho) + math.sqrt(self.L) * ups
            return c.exploration_scale * beta
        if isinstance(c.confidence, p.Practical):
            inside = 2 * math.log(2 / c.confidence.alpha) + d * math.log(3 + model.T / d)
            return c.exploration_scale * 0.5 * math.sqrt(max(inside, 0))
        low, high = (self.rho, self.rho_max) if self.private else (self.lam, self.lam)
        inside = 2 * math.log(self.m * self.L / c.failure_probability)
        inside += d * math.log(high / low + model.T / (d * partners * low))
        beta = 0.5 * math.sqrt(inside) + math.sqrt(partners) * (math.sqrt(high) + self.kappa)
        return c.exploration_scale * beta

    def scores(self, user: int, items: np.ndarray) -> np.ndarray:
        model = self.model(user)
        mine = next(c for c in self.clusters if user in c.users)
        M = model.S + self.lam * np.eye(self.d)
        width = np.einsum("ik,ij,jk->k", items, np.linalg.inv(M), items)
        width = width if self.c.bonus == "square" else np.sqrt(width)
        return items.T @ np.linalg.solve(M, model.u) + self.radius(model, len(mine.group)) * width

    def arrive(self) -> tuple[int, np.ndarray]:
        """Who comes next, and the items shown."""
        self.t += 1
        items = np.zeros((self.d, self.K), np.float32)
        draw_items(self.w, self.key, self.t, items)
        return int(draw_arrival(self.w, self.key, self.t)), items.astype(np.float64)

    def play(self, user: int, items: np.ndarray, action: int) -> None:
        means = np.clip(self.w.theta[user] @ items, 0, 1)
        scores = self.scores(user, items)
        assert scores[action] >= scores.max() - 2e-5 * (1 + abs(scores).max()), self.t
        reward = draw_item_reward(means[action], self.key, self.t)
        self.regret += means.max() - means[action]
        self.learn(user, items[:, action], reward)
        if self.phase_ends():
            self.begin_phase()

    def phase_ends(self) -> bool:
        phased = isinstance(self.c.clustering, p.Phased | p.Sets)
        ends = [sum(2**s for s in range(1, last + 1)) for last in range(1, 40)]
        return phased and self.t in ends and self.t < self.T

    def learn(self, user: int, x: np.ndarray, y: float) -> None:
        mine = next(c for c in self.clusters if user in c.users)
        self.user[user].add(x, y)
        match self.c.sharing:
            case p.Always():
                self.group_sum[mine.group].add(x, y)
                self.syncs += 1
                self.downloads += len({c.server for c in mine.group}) - 1
            case p.Delayed(U, D):
                mine.buffer.add(x, y)
                spent = self.private and mine.uploads >= self.most
                grown = (mine.S + mine.buffer).log_det(self.lam) - mine.S.log_det(self.lam)
                if grown >= math.log(U) and not spent:
                    self.upload(mine, D)
        match self.c.clustering:
            case p.Edges():
                self.club(user)
            case p.Sets():
                self.sclub(user, mine)

    def upload(self, mine: Cluster, D: float) -> None:
        """Algorithms 3 and 4."""
        self.syncs += 1
        mine.uploads += 1
        sent = mine.buffer
        if self.twice:
            sent = sent + sent
            sent.T = mine.buffer.T
        self.group_sum[mine.group] = self.group_sum[mine.group] + sent
        mine.S = mine.S + sent
        for other in mine.group - {mine}:
            other.missing = other.missing + sent
        if self.private:
            self.pop(mine, 0)
        self.new_buffer(mine)
        whole = self.group_sum[mine.group].log_det(self.lam)
        for other in mine.group:
            grown = whole - other.S.log_det(self.lam) >= math.log(D)
            if other.missing.T and (grown or self.twice):
                other.S, other.missing = other.S + other.missing, Sum(self.d)
                self.downloads += 1

    # -- clusters ---------------------------------------------------------------------------------

    def join(self, groups: list[frozenset[Cluster]]) -> None:
        for group in groups:
            for cluster in group:
                cluster.group = group
            self.group_sum[group] = Sum(self.d)

    def begin_phase(self) -> None:
        if isinstance(self.c.clustering, p.Sets):
            self.checked = set()
            for cluster in self.clusters:
                total = self.model(next(iter(cluster.users)))
                cluster.frozen = (total.theta(self.lam), total.T)
        if isinstance(self.c.clustering, p.Phased):
            self.fclub()

    def cut(self, user: int, theta: dict[int, np.ndarray]) -> None:
        for other in list(self.graph.neighbors(user)):
            Ti, Tj = self.user[user].T, self.user[other].T
            if Ti and Tj and gap(theta[user], theta[other]) > self.c.alpha1 * (bar(Ti) + bar(Tj)):
                self.graph.remove_edge(user, other)

    def found(self) -> list[set[int]]:
        return sorted(nx.connected_components(self.graph), key=min)

    def fclub(self) -> None:
        """Algorithm 2."""
        theta = {u: self.user[u].theta(self.c.edge_regularization) for u in range(self.n)}
        for user in range(self.n):
            self.cut(user, theta)
        before = {frozenset(c.users for c in cluster.group) for cluster in self.clusters}
        old = {c.users: c for c in self.clusters}
        fresh = [Cluster(users, int(self.w.server[min(users)]), self.d) for users in self.found()]
        if isinstance(self.c.sharing, p.Never):
            self.clusters = fresh
            return
        sums = {}
        for c in fresh:
            sums[c] = Sum(self.d)
            for user in c.users:
                sums[c] = sums[c] + self.user[user]
            if self.private:
                if c.users in old:  # the same users, the same tree
                    c.tree, c.uploads = old[c.users].tree, old[c.users].uploads
                self.pop(c, 1)
                c.held = c.coming
                sums[c].S += 2 * self.rho * np.eye(self.d) + c.coming[0]
                sums[c].u += c.coming[1]
        groups = self.merged(fresh, sums, before)
        self.syncs += self.L
        self.downloads += self.L
        kept = bool(self.t) and {frozenset(c.users for c in g) for g in groups} == before
        if kept and self.c.merging == "printed":
            assert {c.users for c in fresh} == set(old)
            for c in fresh:
                same = old[c.users]
                same.tree, same.held, same.coming = c.tree, c.held, c.coming
            return
        self.twice = self.c.merging == "authors" and not kept
        self.clusters = fresh
        self.join(groups)
        for g in groups:
            for c in g:
                self.group_sum[g] = self.group_sum[g] + sums[c]
        for c in fresh:
            c.S = (sums[c] if kept else self.group_sum[c.group]) + Sum(self.d)
            if self.private:
                self.pop(c, 2)
            self.new_buffer(c)

    def merged(self, fresh, sums, before) -> list[frozenset[Cluster]]:
        ridge = 0.0 if self.private else self.c.merge_regularization
        merged = nx.Graph()
        merged.add_nodes_from(fresh)
        for a, b in combinations(fresh, 2):
            bars = bar(sums[a].T) + bar(sums[b].T)
            near = gap(sums[a].theta(ridge), sums[b].theta(ridge)) < self.c.alpha2 * bars
            if near and (a.server != b.server or self.c.merging == "authors"):
                merged.add_edge(a, b)
        groups = [frozenset(g) for g in nx.connected_components(merged)]
        if self.c.merging == "authors":
            all_pass = merged.number_of_edges() == math.comb(len(fresh), 2)
            if all_pass or before == {frozenset([c.users]) for c in fresh}:
                groups = [frozenset([c]) for c in fresh]
        return groups

    def club(self, user: int) -> None:
        """Gentile et al. 2014, Figure 1."""
        theta = {u: self.user[u].theta(self.c.edge_regularization) for u in range(self.n)}
        self.cut(user, theta)
        self.clusters = [Cluster(u, int(self.w.server[min(u)]), self.d) for u in self.found()]

    def total(self, users: frozenset[int]) -> Sum:
        out = Sum(self.d)
        for user in sorted(users):
            out = out + self.user[user]
        return out

    def born(self, users: set[int] | frozenset[int], server: int) -> Cluster:
        cluster = Cluster(set(users), server, self.d)
        total = self.total(cluster.users)
        cluster.frozen = (total.theta(self.lam), total.T)
        self.clusters.append(cluster)
        return cluster

    def sclub(self, user: int, mine: Cluster) -> None:
        """Li et al. 2019, Algorithms 1 to 3."""
        c, t = self.c, self.t
        self.checked.add(user)
        own, todo = self.user[user], [mine]
        theta, count = own.theta(c.edge_regularization), own.T
        far = gap(theta, mine.frozen[0]) > c.alpha1 * (bar(count) + bar(mine.frozen[1]))
        odd = max(abs(count - self.user[v].T) / t for v in mine.users) > 2 * c.alpha_p * bar(t)
        if len(mine.users) > 1 and (far or odd):
            self.clusters.remove(mine)
            alone = self.born({user}, mine.server)
            rest = self.born(mine.users - {user}, mine.server)
            rest.frozen = mine.frozen
            todo = [alone, rest]
        for start in todo:
            here = next((k for k in self.clusters if k.users >= start.users), None)
            while here is not None:
                here = self.merge_one(here)

    def merge_one(self, here: Cluster) -> Cluster | None:
        c, t = self.c, self.t
        for other in sorted(self.clusters, key=lambda k: k.name):
            if other is here or other.server != here.server:
                continue
            if not (here.users | other.users) <= self.checked:
                continue
            a, b = self.total(here.users), self.total(other.users)
            near = gap(a.theta(self.lam), b.theta(self.lam)) < c.alpha2 * (bar(a.T) + bar(b.T))
            shares = abs(a.T / len(here.users) - b.T / len(other.users)) / t
            if near and shares < c.alpha_p * bar(t):
                self.clusters.remove(here)
                self.clusters.remove(other)
                return self.born(here.users | other.users, here.server)
        return None

    @property
    def partition(self) -> set[frozenset[int]]:
        """Who learns with whom."""
        return {frozenset().union(*(c.users for c in cluster.group)) for cluster in self.clusters}
