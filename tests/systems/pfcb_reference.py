"""P-FCB again, in plain Python and numpy, straight from the paper and docs/pfcb.md.

A second derivation to hold the compiled loop against: it shares the environment and the named
draws, and nothing else.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from fedbandits.environments import Procurement
from fedbandits.environments.kernels.procurement import draw_good_units
from fedbandits.privacy.continual import encoder, toeplitz_coefficients
from fedbandits.privacy.gaussian import mu_of
from fedbandits.random import Purpose, normals, replicate_key
from fedbandits.systems.aggregation import SecureSum
from fedbandits.systems.pfcb import PFCB
from fedbandits.systems.pfcb import config as p

#: The sender of a sum of all buyers.
SUM = -1


class Trace(NamedTuple):
    purchases: np.ndarray  # (rounds, agents, producers)
    regret: np.ndarray  # (rounds, agents), cumulative
    missed: np.ndarray  # (rounds, agents)
    exchanges: list[int]
    pool: np.ndarray  # (agents, 2, producers)
    judged: np.ndarray  # (agents, 2)


def greedy(r: np.ndarray, d: np.ndarray, k: np.ndarray, reserve: float) -> np.ndarray:
    """Section 2 of the specification of Greedy SSA, surplus first, then S2 and S3 in pairs."""
    m = len(r)
    bought = np.zeros(m, np.int64)
    s1 = [i for i in range(m) if d[i] >= 0 and r[i] >= 0]
    s2 = sorted((i for i in range(m) if d[i] < 0 < r[i]), key=lambda i: (r[i] / d[i], i))
    s3 = sorted((i for i in range(m) if r[i] < 0 < d[i]), key=lambda i: (-r[i] / d[i], -i))
    amount = dict.fromkeys(range(m), 0.0)
    for i in s1:
        amount[i] = float(k[i])
    left = sum(d[i] * k[i] for i in s1) - reserve
    while left < 0 and s3:  # a reserve that S1 alone does not hold
        i = s3[0]
        units = min(k[i] - amount[i], -left / d[i])
        amount[i] += units
        left += units * d[i]
        if amount[i] >= k[i] - 1e-12:
            s3.pop(0)
    if left < -1e-9:
        return bought
    while s2:
        i = s2[0]
        if left <= 1e-12:
            if not s3 or -r[s3[0]] / d[s3[0]] >= -r[i] / d[i]:
                break
            j = s3[0]
            units = min(k[j] - amount[j], (k[i] - amount[i]) * -d[i] / d[j])
            amount[j] += units
            left += units * d[j]
            if amount[j] >= k[j] - 1e-12:
                s3.pop(0)
        units = min(k[i] - amount[i], left / -d[i])
        amount[i] += units
        left += units * d[i]
        if amount[i] >= k[i] - 1e-12:
            s2.pop(0)
    for i in range(m):
        bought[i] = math.ceil(amount[i] - 1e-9) if d[i] > 0 else math.floor(amount[i] + 1e-9)
    return bought


class Reference:
    def __init__(self, config: PFCB, environment: Procurement, rounds: int, seed: int, rep: int):
        self.c, self.T = config, rounds
        self.key = replicate_key(seed, rep)
        self.world: Any = environment.world(self.key)
        self.n, self.m = self.world.cost.shape
        self.window = config.window
        if self.window == "auto":
            first = max(1, round(rounds / 500))
            first = min(10, first) if config.local_view == "released" else first
            self.window = (first, max(1, round(0.4 * rounds)))
        n = {"all": self.n, "one": 1}[config.explorers]
        y = n if config.y == "agents" else config.y
        t = 1  # as a while loop, as printed
        while t <= rounds / 4:
            inside = {"horizon": rounds, "round": t}[config.exploration_log]
            if not t <= 3 * math.log(y * inside) / (2 * n * config.zeta**2):
                break
            t += 1
        self.explore = max(1, t - 1)
        self.times = self.schedule()
        if config.local_view == "released" and self.times:
            self.explore = max(self.explore, self.times[0])
        mu = mu_of(config.epsilon, config.delta) / (1 + 2.0**-16)  # room for rounding
        self.ellipse = 4 / 3 * np.array([[1, 0.5], [0.5, 1]])  # of the noise of (w, y)
        self.running = isinstance(config.privatizer, p.RunningSums)
        if self.running:
            self.decoder, norm = self.factorised(len(self.times))
            self.s = norm / mu
        elif isinstance(config.privatizer, p.Correlated):
            self.s = 1 / mu
        elif isinstance(config.privatizer, p.Independent):
            self.s, self.ellipse = math.sqrt(2) / mu, np.eye(2)
        else:
            self.s, self.ellipse = 0.0, np.eye(2)
        self.pool = np.zeros((self.n, 2, self.m))
        self.own = np.zeros((self.n, 2, self.m))
        self.sent = np.zeros((self.n, 2, self.m))  # what earlier reports covered
        self.judged = np.zeros((self.n, 2), int)
        self.secure = isinstance(config.aggregation, SecureSum)
        if self.secure:  # of ten: eight in a sum, one of whom may tell its noise
            self.honest = math.ceil(0.8 * self.n - 1e-9) - math.ceil(0.1 * self.n - 1e-9)
            k, self.most = self.world.capacity, self.world.capacity.max(axis=0)
            self.weight = np.floor(1024 * self.most / np.maximum(k, self.most / 2)) / 1024
            self.typical = (self.weight**2 * k).sum(axis=0) / (self.weight * k).sum(axis=0)

    def factorised(self, count: int) -> tuple[np.ndarray, float]:
        """Return B of the running sums' matrix B·C, and the largest norm of a column of C."""
        if isinstance(self.c.privatizer, p.Optimal):
            growth = self.c.schedule.factor if isinstance(self.c.schedule, p.Growing) else 1.0
            inner = encoder(count, growth**-0.5)
            return np.tri(count) @ np.linalg.inv(inner), 1.0
        c = toeplitz_coefficients(count)
        return np.array([[c[z - x] if x <= z else 0 for x in range(count)] for z in range(count)]
                        ), float(np.linalg.norm(c))  # fmt: skip

    def schedule(self) -> list[int]:
        low, high = self.window
        rounds = range(1, self.T)
        if self.n == 1:
            return []
        match self.c.schedule:
            case p.Never():
                return []
            case p.Every():
                return list(rounds)
            case p.Powers():
                return [t for t in rounds if low <= t <= high and t & (t - 1) == 0]
            case p.Growing(factor):
                due = []
                for t in rounds:
                    if low <= t <= high and (not due or t >= factor * due[-1]):
                        due.append(t)
                return due
            case p.ToTheLetter():
                tau, due = 1, []
                for t in rounds:
                    if low <= t <= high and t >= tau:
                        due.append(t)
                        tau *= 2
                return due

    def deviation(self, z: int) -> float:
        """Of all noise in report z, in capacities."""
        if isinstance(self.c.privatizer, p.Published):
            log = {"binary": math.log2, "natural": math.log}[self.c.privatizer.logarithm]
            budget = self.c.epsilon / (2 * log(self.T)) + self.c.epsilon / 2 ** (z + 1)
            return math.sqrt(2 * math.log(1.25 / self.c.delta)) / budget
        if self.running:
            shares = math.sqrt(self.n / self.honest) if self.secure else 1.0
            return float(shares * self.s * np.linalg.norm(self.decoder[z - 1]))
        return self.s

    def noise_of(self, sender: int, z: int, i: int) -> np.ndarray:
        """Covariance of the noise of (w, y) in a report."""
        capacity = self.most / self.typical if sender == SUM else self.world.capacity[sender]
        return self.ellipse * (self.deviation(z) * capacity[i]) ** 2

    def error(self, sender: int, z: int, i: int, q: float) -> float:
        """Variance of the noise in y - q w."""
        direction = np.array([-q, 1.0])
        return float(direction @ self.noise_of(sender, z, i) @ direction)

    def units_in(self, sender: int, z: int, i: int, q: float, w: float, y: float) -> float:
        """What is left of w̃ after a regression on ỹ - q w̃, whose mean is 0 if q is right."""
        direction = np.array([-q, 1.0])
        together = self.noise_of(sender, z, i) @ direction  # covariances with ỹ - q w̃
        variance = direction @ together + max(w, 0.0) / 4
        return w if variance == 0.0 else float(w - together[0] / variance * (direction @ [w, y]))

    def buy(self, j: int, t: int) -> np.ndarray:
        c, w, k = self.c, self.world, self.world.capacity[j]
        if t <= self.explore:
            return k if c.exploration_units == "capacity" else np.minimum(1, k)
        log = math.log(t * (1 if c.radius == "own" else self.n))
        log /= self.n if c.radius == "printed" else 1
        z = len([x for x in self.times if x < t]) + 1
        r, mean, high, spread = (np.zeros(self.m) for _ in range(4))
        for i in range(self.m):
            W, Y = self.pool[j, :, i]
            cautious = c.purchases == "cautious"
            if W <= 0:
                high[i], mean[i], spread[i] = 1.0, 0.0 if cautious else 1.0, 1.0
            else:
                q, seen = Y / W, W
                coming = self.own[j, 0, i] - self.sent[j, 0, i]
                if c.local_view == "released" and coming > 0:
                    v = self.error(j, max(1, min(z, len(self.times))), i, min(1, max(0, q)))
                    seen += coming**2 / (coming + 4 * v)
                high[i] = q + c.exploration_scale * math.sqrt(3 * log / (2 * seen))
                mean[i], spread[i] = q if cautious else high[i], math.sqrt(0.25 / W)
            r[i] = w.revenue * high[i] - w.cost[j, i]
        alpha = w.threshold + c.quality_margin
        if c.purchases == "optimistic":
            return greedy(r, mean - alpha, k, 0.0)
        caution = norm.ppf(c.quality_confidence)
        bought = greedy(r, mean - alpha, k, 0.0)
        if bought.any() and not self.safe(bought, mean - alpha, spread, caution):
            bought = self.buy_safely(r, mean - alpha, spread, k, caution)
        return bought if bought.any() else greedy(r, high - alpha, k, 0.0)

    @staticmethod
    def safe(bought: np.ndarray, d: np.ndarray, spread: np.ndarray, caution: float) -> bool:
        return bool(bought @ d + 1e-9 >= caution * np.linalg.norm(bought * spread))

    def buy_safely(
        self, r: np.ndarray, d: np.ndarray, spread: np.ndarray, k: np.ndarray, caution: float
    ) -> np.ndarray:
        """Unit by unit: the longest safe run of the surest, then what gains most, while safe."""
        sure = [i for i in range(self.m) if d[i] > 0 or (d[i] == 0 and r[i] >= 0)]
        surest = sorted(sure, key=lambda i: (-d[i] / spread[i], i))
        start = np.zeros(self.m, np.int64)
        for last in range(len(surest), 0, -1):
            whole = np.zeros(self.m, np.int64)
            whole[surest[:last]] = k[surest[:last]]
            if self.safe(whole, d, spread, caution):
                start = whole
                break
        gain = [math.inf if r[i] > 0 and d[i] >= 0 else -r[i] / d[i] if d[i] else 0.0
                for i in range(self.m)]  # fmt: skip
        bought = start.copy()
        for i in sorted(range(self.m), key=lambda i: (-gain[i], i)):
            step = 1 if r[i] > 0 else -1 if r[i] < 0 else 0
            while step and 0 <= bought[i] + step <= k[i]:
                tried = bought.copy()
                tried[i] += step
                if not self.safe(tried, d, spread, caution):
                    break
                bought = tried
        return bought

    def report(self, j: int, z: int) -> np.ndarray:
        known = self.own[j] if self.running else self.own[j] - self.sent[j]
        draws = [
            normals(2 * self.m, self.key, j, x, Purpose.PRIVACY_NOISE) for x in range(1, z + 1)
        ]
        if self.running:
            noise = self.s * sum(self.decoder[z - 1, x] * d for x, d in enumerate(draws))
        else:
            noise = self.deviation(z) * draws[-1]
        self.sent[j] = self.own[j]
        root = np.linalg.cholesky(self.ellipse)
        return known + self.world.capacity[j] * (root @ noise.reshape(2, self.m))

    def believe(self, receiver: int, sender: int, z: int, t: int, i: int, w: float, y: float):
        c, mine = self.c, receiver == sender
        W, Y = self.pool[receiver, :, i]
        if (self.most if sender == SUM else self.world.capacity[sender])[i] == 0:
            return
        q = Y / W if W > 0 else 0.5
        inside = min(1.0, max(0.0, q))
        v = self.error(sender, z, i, inside)
        constant = isinstance(c.weighting, p.Constant)
        units = w if constant else self.units_in(sender, z, i, inside, w, y)
        doubt = 0.0 if constant or c.local_view == "released" else 2.0
        sure = units - doubt * math.sqrt(self.noise_of(sender, z, i)[0, 0])
        taken = sure > 0
        own = isinstance(c.acceptance, p.WithinRadius) and c.acceptance.evidence == "own"
        V, Z = self.own[receiver, :, i] if own else (W, Y)
        if taken and V > 0 and not mine:
            away = abs(y - Z / V * w) / units
            if isinstance(c.acceptance, p.WithinRadius):
                x = t * {"shared": self.n, "own": 1}[c.acceptance.logarithm]
                taken = away <= c.acceptance.omega1 * math.sqrt(3 * math.log(x) / (2 * V))
            elif isinstance(c.acceptance, p.WithinDeviations):
                width = math.sqrt(0.25 / W + (0.25 * units + v) / units**2)
                taken = away <= c.acceptance.deviations * width
        if taken:
            weight = c.weighting.omega2 if constant else sure / (sure + 4 * v)
            self.pool[receiver, :, i] += weight * np.array([w, y])
        if not mine:
            self.judged[receiver, 0 if taken else 1] += 1

    def exchange(self, t: int) -> None:
        z = self.times.index(t) + 1
        raw = self.c.local_view == "raw"
        if self.running:
            self.pool = self.own.copy() if raw else np.zeros_like(self.own)
        if self.secure:
            return self.take_sum(z, t, raw)
        reports = [self.report(j, z) for j in range(self.n)]
        for receiver in range(self.n):
            for sender in range(self.n):
                if sender != receiver or not raw:
                    for i in range(self.m):
                        self.believe(receiver, sender, z, t, i, *reports[sender][:, i])

    def weighed(self, j: int) -> np.ndarray:
        """Units bought, and good ones less bad ones, of a buyer as they count in a sum, (2, m)."""
        bought, good = self.own[j]
        return self.weight[j] * np.array([bought, 2 * good - bought])

    def take_sum(self, z: int, t: int, raw: bool) -> None:
        total = np.zeros((2, self.m))
        for j in range(self.n):
            noise = sum(
                self.decoder[z - 1, x - 1]
                * normals(2 * self.m, self.key, j, x, Purpose.PRIVACY_NOISE)
                for x in range(1, z + 1)
            ).reshape(2, self.m)
            axes = np.array([[math.sqrt(4 / 3)], [2.0]]) * self.most
            total += self.weighed(j) + self.s / math.sqrt(self.honest) * axes * noise
            self.sent[j] = self.own[j]
        for j in range(self.n):
            bought, better = (total - (self.weighed(j) if raw else 0.0)) / self.typical
            for i in range(self.m):
                self.believe(j, SUM, z, t, i, bought[i], (bought[i] + better[i]) / 2)

    def run(self) -> Trace:
        w = self.world
        purchases = np.zeros((self.T, self.n, self.m), np.int64)
        regret, missed = np.zeros((self.T, self.n)), np.zeros((self.T, self.n), bool)
        for t in range(1, self.T + 1):
            for j in range(self.n):
                bought = self.buy(j, t)
                good = np.zeros(self.m, np.int64)
                draw_good_units(w, self.key, j, t, bought, good)
                self.own[j] += [bought, good]
                if self.c.local_view == "raw":
                    self.pool[j] += [bought, good]
                purchases[t - 1, j] = bought
                missed[t - 1, j] = bought @ (w.quality - w.threshold) < -1e-9 * bought.sum()
                earned = bought @ (w.revenue * w.quality - w.cost[j])
                regret[t - 1, j] = w.worst[j] if missed[t - 1, j] else w.best[j] - earned
            if t in self.times:
                self.exchange(t)
        return Trace(purchases, regret.cumsum(axis=0), missed, self.times, self.pool, self.judged)
