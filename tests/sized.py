"""Checks of systems that play parties hundreds of times, in two sizes.

In every run of the tests the checks are small: they replace as few records as an audit replaces at
all. In full, ``make test-all`` plays them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from fedbandits.testing.systems import moves_no_further_than_charged

#: Checks that are dear, and of their usual number of replaced records the share that is replaced in
#: the small size.
DEAR = {moves_no_further_than_charged: 0.0}
#: Records that an audit replaces at least, in tests with the fixture ``few_pairs``. Small worlds
#: have four parties and eight releases or fewer: three pairs of runs with a record of each party
#: move releases as far as 24 records do, in every game of every preset.
FEW_PAIRS = 12


def sized(name: str, small: Any, full: Any):
    """Play a test with a small value of its argument ``name``; with the full one if it may be slow.

    What a test asserts must be the same of both.
    """
    in_full = pytest.param(full, id=f"{name} in full", marks=pytest.mark.slow)
    return pytest.mark.parametrize(name, [pytest.param(small, id=f"few {name}"), in_full])


def in_two_sizes(checks):
    """Return each check as a parameter of a test; those that are dear small, and in full."""
    found = []
    for check in checks:
        name = check.__name__
        if check in DEAR:
            found.append(pytest.param(check, id=f"{name}-in full", marks=pytest.mark.slow))
            check = partial(check, scale=DEAR[check])
        found.append(pytest.param(check, id=name))
    return found
