"""The best purchase by integer programming: the oracle for the faster ones of the package."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.purchasing import total


def optimum_by_integer_programming(revenue: Floats, surplus: Floats, capacity: Ints) -> float:
    """Return the largest revenue, by scipy's integer programming; slow.

    All arrays are (producers,): revenue and surplus of a unit, and the number of available units.
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
