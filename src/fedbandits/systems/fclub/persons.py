"""Privacy for users as persons: the first k records of each count for what is released.

A record counts or not from the day that its item is recommended. So who counts follows from who
comes when, which is public, and not from rewards, or from whether they ever come. A server learns
from all records of its users at once, where it acts on raw data.
"""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.systems.fclub.plan import FCLUBPlan


def first_shared(plan: FCLUBPlan, users: int) -> Floats:
    """Sums of the records that count, (users, p + 2); no rows where all records do."""
    return np.zeros((users if plan.constants.records_per_person else 0, plan.size + 2))


def first_visits(plan: FCLUBPlan, users: int) -> Ints:
    """How often each user has come, (users,); nothing where all records count."""
    return np.zeros(users if plan.constants.records_per_person else 0, np.int64)


def released_sums(sums: Floats, shared: Floats) -> Floats:
    """The sums that a release is made of: those of the records that count, or of all."""
    return shared if len(shared) else sums
