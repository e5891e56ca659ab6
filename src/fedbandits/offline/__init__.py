"""Estimates of the value of a policy, from a log of another policy's decisions.

A *log* has, for each event, the context, the logged action, its reward, and the probability with
which the logging policy took the action (its propensity). Four methods estimate the mean reward of
another policy from the log: :func:`replay`, :func:`ips`, :func:`snips` and :func:`doubly_robust`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily

__all__ = ["Estimate", "accepted", "doubly_robust", "ips", "replay", "snips"]

if TYPE_CHECKING:
    from fedbandits.offline.estimates import Estimate
    from fedbandits.offline.methods import accepted, doubly_robust, ips, replay, snips
else:
    __getattr__, __dir__ = lazily(__name__, __all__)
