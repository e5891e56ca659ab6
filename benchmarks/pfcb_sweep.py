"""Which values of what the paper leaves open come closest to its percentages in EXP1.

Solanki et al. (2022), section 6.2: against FCB, P-FCB (ε = 1) and learning alone have 136% and
233% more regret in the uniform case, 235% and 394% in the normal one. Swept: ρ, ζ, the pair
(ω₁, ω₂), two readings of FCB without Procedure 1 (true values in P-FCB's rounds, or in every
round), and regret in all or after the exploration. Arguments: instances (default 3), cases
(uniform normal).
"""

from __future__ import annotations

import itertools
import math
import sys
from typing import NamedTuple

import fedbandits as fb
from fedbandits.environments import Procurement
from fedbandits.reproduce.pfcb import STATED
from fedbandits.settings.experiment import system

WINDOW = (200, 40_000)
ZETAS, REVENUES = (0.1, 0.3, 0.6, 1.0), (0.5, 1.0, 2.0)
OMEGAS = ((0.1, 10.0), (10.0, 0.1), (0.1, 1.0), (1.0, 1.0), (1.0, 0.1), (1.0, 10.0))
ALL_TAKEN = {"acceptance": "always", "weighting": "constant(1)"}
CLEAR = ("fcb", "fcb-every-round")
SHOWN = 8


class Point(NamedTuple):
    """One setting, and by how many percent regret lies above FCB's."""

    zeta: float
    revenue: float
    omega: tuple[float, float]
    clear: str
    measure: str
    published: float
    alone: float

    def distance(self, case: str) -> float:
        """Sum of both ratios' distances from the paper's, as logarithms."""
        found = (self.published, self.alone)
        return sum(
            abs(math.log((100.0 + max(a, -99.0)) / (100.0 + b)))
            for a, b in zip(found, STATED[case], strict=True)
        )


def measure(case: str, zeta: float, revenue: float, instances: int) -> list[Point]:
    """All readings at one ζ and ρ."""
    systems = [
        system("cucb-alone", zeta=zeta),
        *(system(name, zeta=zeta, window=WINDOW, **ALL_TAKEN) for name in CLEAR),
        *(
            system("pfcb-published", label=f"{omega}", zeta=zeta, window=WINDOW,
                   acceptance=f"within-radius({omega[0]})", weighting=f"constant({omega[1]})")
            for omega in OMEGAS
        ),
    ]  # fmt: skip
    points, found = [], []
    for i in range(instances):
        world = Procurement(case=case, revenue=revenue, instance=i)
        experiment = fb.Experiment(
            rounds=100_000, environment=world, systems=tuple(systems), checkpoints=2
        )
        found.append(fb.run(experiment).isel(round=-1))
    for name in ("regret", "regret_after_exploration"):
        mean = {
            entry.label: sum(float(r[name].sel(system=entry.label).mean()) for r in found)
            for entry in systems
        }
        for omega, clear in itertools.product(OMEGAS, CLEAR):
            more = [100.0 * (mean[x] / mean[clear] - 1.0) for x in (f"{omega}", "cucb-alone")]
            points.append(Point(zeta, revenue, omega, clear, name, *more))
    return points


def main() -> None:
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for case in sys.argv[2:] or STATED:
        points = [
            point
            for zeta, revenue in itertools.product(ZETAS, REVENUES)
            for point in measure(case, zeta, revenue, instances)
        ]
        points.sort(key=lambda point: point.distance(case))
        published, alone = STATED[case]
        print(f"{case}: the paper has P-FCB {published}%, alone {alone}% above FCB")
        print("  ζ     ρ   ω₁, ω₂     P-FCB   alone  against          regret")
        for point in (*points[:SHOWN], *points[-2:]):
            print(
                f"{point.zeta:4g}  {point.revenue:4g}  {point.omega[0]:4g}, {point.omega[1]:<4g}"
                f"  {point.published:5,.0f}%  {point.alone:5,.0f}%  {point.clear:15s}  "
                f"{'in all' if point.measure == 'regret' else 'after exploration'}"
            )
        print("  (the last two are the farthest)", flush=True)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
