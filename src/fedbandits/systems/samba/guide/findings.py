"""Findings in a run that is shown: the paper's Figure 7 of this run, and what somebody guessed."""

from __future__ import annotations

from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.guide import Found
from fedbandits.systems.samba.audit.examination import look


def find(run: PartiesReplicate, seed: int) -> Found:
    """Return who sees what in a run that was played to its end, and who guesses what."""
    examined = look(run, seed=seed)
    return Found(
        examined.participants,
        examined.table,
        " ".join(f"{guess.text}." for guess in examined.guesses),
    )
