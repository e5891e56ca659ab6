"""How far float64 sums of two neighbouring worlds drift apart, with and without the grid.

    python benchmarks/rounding.py [RECORDS …]      1,200,000 and 20,000,000 if none are given

The worlds differ in their first record alone. Large records then bring one sum just to a power of
two and leave the other just below; small ones, which round to another step on either side, do the
rest. The figure is the drift of all numbers of the statistic over what one record may move.
Calibrated noise has room for 1.5e-5.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import add_record, packed_size
from fedbandits.privacy import gaussian
from fedbandits.privacy.rounding import most_records, rounding_constant


@compiled
def add_again(sums: Floats, context: Floats, count: int, rounding: float) -> None:
    """Add the same record many times."""
    for _ in range(count):
        add_record(sums, 0, context, 0.0, rounding)


def drift(records: int, rounding: float) -> float:
    """What rounding has added to the distance of two worlds, over a record's reach."""
    large = 1 << int(math.log2(records / 2))
    step = large * 2.0**-52  # of float64 from ``large`` up; half of it below
    small = np.array([math.sqrt(0.625 * step), 0.0])
    first = np.eye(2)
    worlds = np.zeros((2, 1, packed_size(2)))
    for sums, context in zip(worlds, first, strict=True):
        add_record(sums, 0, context, 0.0, rounding)
    before = worlds[0] - worlds[1]
    for sums in worlds:
        add_again(sums, first[0], large - 1, rounding)
        add_again(sums, small, records - large, rounding)
    moved = worlds[0] - worlds[1] - before
    return float(np.linalg.norm(moved)) / gaussian.record_sensitivity(1.0, 1.0)


def main() -> None:
    counts = [int(given) for given in sys.argv[1:]] or [1_200_000, 20_000_000]
    print(f"{'records':>12}  {'without grid':>12}  {'with grid':>12}")
    for count in counts:
        without, within = (drift(count, r) for r in (0.0, rounding_constant(count, 1.0)))
        print(f"{count:12,}  {without:12.2e}  {within:12.2e}", flush=True)
    print(f"proved for up to {most_records(10, 40):,} records (d = 10, 40 releases)")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
