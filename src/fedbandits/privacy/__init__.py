"""Tools for private release: calibration, running sums, accounting and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily

__all__ = [
    "Limit",
    "PrivacyClaim",
    "SecureNoise",
    "accounting",
    "auditing",
    "claims",
    "continual",
    "gaussian",
    "running_sum",
    "secure_noise",
]

if TYPE_CHECKING:
    from fedbandits.privacy import (
        accounting,
        auditing,
        claims,
        continual,
        gaussian,
        running_sum,
        secure_noise,
    )
    from fedbandits.privacy.claims import Limit, PrivacyClaim
    from fedbandits.privacy.secure_noise import SecureNoise
else:
    __getattr__, __dir__ = lazily(__name__, __all__)
