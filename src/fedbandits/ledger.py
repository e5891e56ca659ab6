"""A privacy ledger: the privacy budget of each party, and every release that has used it.

``fb.ledger.open("ledger.db", federation="hospitals")`` opens a ledger. docs/ledger.md explains how
to use it. A ledger needs SQLAlchemy, of the extra ``federation``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily

__all__ = [
    "ContinualSum",
    "GaussianRelease",
    "LaplaceRelease",
    "Ledger",
    "LedgeredNoise",
    "Parallel",
    "PrivacyClaim",
    "SecureNoise",
    "Statement",
    "StreamStatement",
    "Total",
    "add_up",
    "open",
    "whole_budget",
]

if TYPE_CHECKING:
    from fedbandits.privacy.accounting import (
        ContinualSum,
        GaussianRelease,
        LaplaceRelease,
        Parallel,
    )
    from fedbandits.privacy.claims import PrivacyClaim
    from fedbandits.privacy.ledger import (
        Ledger,
        LedgeredNoise,
        Statement,
        StreamStatement,
        Total,
        add_up,
        whole_budget,
    )
    from fedbandits.privacy.secure_noise import SecureNoise

    open = Ledger.open
else:
    __getattr__, __dir__ = lazily(__name__, __all__)
