"""A privacy ledger: the privacy budget of each party, and every release that has used it.

``fb.ledger.open("ledger.db", federation="hospitals")`` opens a ledger. docs/ledger.md explains how
to use it. A ledger needs SQLAlchemy: ``pip install fedbandits[federation]``.
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
    _LEDGER = "fedbandits.privacy.ledger"
    _EVENTS = "fedbandits.privacy.accounting"
    __getattr__, __dir__ = lazily(
        __name__,
        __all__,
        {
            "ContinualSum": f"{_EVENTS}:ContinualSum",
            "GaussianRelease": f"{_EVENTS}:GaussianRelease",
            "LaplaceRelease": f"{_EVENTS}:LaplaceRelease",
            "Ledger": f"{_LEDGER}:Ledger",
            "LedgeredNoise": f"{_LEDGER}:LedgeredNoise",
            "Parallel": f"{_EVENTS}:Parallel",
            "PrivacyClaim": "fedbandits.privacy.claims:PrivacyClaim",
            "SecureNoise": "fedbandits.privacy.secure_noise:SecureNoise",
            "Statement": f"{_LEDGER}:Statement",
            "StreamStatement": f"{_LEDGER}:StreamStatement",
            "Total": f"{_LEDGER}:Total",
            "add_up": f"{_LEDGER}:add_up",
            "open": f"{_LEDGER}:Ledger.open",
            "whole_budget": f"{_LEDGER}:whole_budget",
        },
    )
