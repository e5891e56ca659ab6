"""What SAMBA's participants find out, from transcripts and with every key that they hold.

:mod:`.table` is the paper's Figure 7, who sees what; :mod:`.sight` makes one participant's column,
comparing what comes out with :mod:`.truth`. :mod:`.attack` is what Comp can work out from what the
figure allows it to see, :mod:`.guesses` what others guess about pulls. :mod:`.examination` plays
all of them for ``fedbandits audit``.

Of runs in which no server learns anything, :mod:`.silent_sight` makes a column of the table, and
:mod:`.silent_examination` the audit. :mod:`.transcripts` opens what servers saw, :mod:`.channels`
sorts it, and :mod:`.likeness` tries to tell two worlds apart by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedbandits.privacy.auditing import Game
from fedbandits.systems.base import System
from fedbandits.systems.samba.plan import SambaPlan


def games(system: System[Any], plan: SambaPlan) -> Sequence[Game]:
    """None: no ε is claimed that two worlds could break. See :mod:`.examination`."""
    del system, plan
    return ()
