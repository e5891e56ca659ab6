"""Types that compiled loops of all systems take."""

from __future__ import annotations

from typing import NamedTuple

from fedbandits._typing import Floats


class Tally(NamedTuple):
    """Counters of every party, (parties,) each."""

    regret: Floats
    reward: Floats
