"""Audit of SAMBA: adversaries read transcripts with every key that they have, and guess.

:mod:`.examination` makes the paper's Figure 7, who sees what, for ``fedbandits audit``;
:mod:`.published_adversary` makes one participant's column, :mod:`.adversary` that of a silent run.
:mod:`.attack` has what Comp works out from what the figure allows it to see, and what others guess
about pulls. :mod:`.views` opens what a server of a silent run saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedbandits.privacy.auditing import Game
from fedbandits.systems.base import System
from fedbandits.systems.samba.plan import SambaPlan


def games(system: System[Any], plan: SambaPlan) -> Sequence[Game]:
    """Return no games: no ε is claimed that two worlds could break. See :mod:`.examination`."""
    del system, plan
    return ()
