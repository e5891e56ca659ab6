"""The best purchase by integer programming, to check the faster oracles against."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.purchasing import total


def optimum_by_integer_programming(revenue: Floats, surplus: Floats, capacity: Ints) -> float:
    """Return the largest revenue, by scipy's integer programming; slow.

    All are (producers,): revenue and surplus of one unit, and how many units each producer has.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    answer = milp(
        -revenue,
        constraints=LinearConstraint(surplus[None, :], lb=0.0),
        integrality=np.ones(revenue.size),
        bounds=Bounds(0, capacity),
        options={"mip_rel_gap": 0.0},
    )
    return total(revenue, np.rint(answer.x).astype(np.int64))
