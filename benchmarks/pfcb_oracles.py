"""Greedy and exact purchases against scipy's integer programming, on random instances.

Give the number of instances as the first argument.
"""

from __future__ import annotations

import pathlib
import sys
import time

import numpy as np

from fedbandits._compile import compiled
from fedbandits.learners.kernels.purchasing import EXACT, GREEDY, buy, meets_constraint
from usage import explain

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.learners.integer_programming import optimum_by_integer_programming

explain(__doc__)
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
SETTINGS = [
    (producers, capacity, threshold, rho)
    for producers in (5, 30)
    for capacity in (1, 50)
    for threshold, rho in ((0.4, 1.0), (0.6, 1.0), (0.7, 3.0))
]


@compiled
def repeat(oracle, revenue, surplus, capacity, times):
    """Many calls, so that a clock can see them; something changes, so that all are made anew."""
    m = revenue.size
    order, ratio, purchase = np.zeros(m, np.int64), np.zeros(m), np.zeros(m, np.int64)
    for t in range(times):
        surplus[t % m] += 1e-12
        buy(oracle, revenue, surplus, capacity, 0.0, order, ratio, purchase)
    return purchase


def instance(rng, producers, capacity, threshold, rho):
    normal = rng.random() < 0.5
    quality, cost = (
        np.clip(rng.normal(threshold, 0.2, producers), 0.0, 1.0)
        if normal
        else rng.random(producers)
        for _ in range(2)
    )
    return rho * quality - cost, quality - threshold, rng.integers(1, capacity + 1, producers)


def cpu_microseconds(oracle, instances, times):
    repeat(oracle, *instances[0], 1)
    began = time.process_time()
    for given in instances:
        repeat(oracle, *given, times)
    return 1e6 * (time.process_time() - began) / (times * len(instances))


def main() -> None:
    rng, total = np.random.default_rng(0), 0
    print(
        "  m   k     α  ρ   infeasible  greedy/best: mean    worst   exact≠best  µs greedy, exact"
    )
    for setting in SETTINGS:
        ratios, infeasible, wrong = [], 0, 0
        instances = [instance(rng, *setting) for _ in range(COUNT // len(SETTINGS))]
        for revenue, surplus, capacity in instances:
            best = optimum_by_integer_programming(revenue, surplus, capacity)
            greedy, exact = (
                repeat(oracle, revenue, surplus, capacity, 1) for oracle in (GREEDY, EXACT)
            )
            infeasible += not (
                meets_constraint(surplus, greedy) and meets_constraint(surplus, exact)
            )
            wrong += abs(exact @ revenue - best) > 1e-6 * max(1.0, best)
            ratios += [greedy @ revenue / best] if best > 1e-9 else []
        total += len(instances)
        speed = cpu_microseconds(GREEDY, instances, 2000), cpu_microseconds(EXACT, instances, 1)
        m, k, threshold, rho = setting
        print(
            f"{m:3d}  {k:2d}  {threshold:4.2f}  {rho:g}  {infeasible:11d}  "
            f"{np.mean(ratios):18.5f}  {min(ratios):7.5f}  {wrong:11d}  "
            f"{speed[0]:9.2f}, {speed[1]:.0f}",
            flush=True,
        )
    print(f"{total:,} instances")


if __name__ == "__main__":
    main()
