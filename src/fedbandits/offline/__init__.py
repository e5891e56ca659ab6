"""Estimates of what a policy is worth, from a log of another policy's decisions.

A *log* has, for each event, the context, the action that was taken, its reward, and the probability
with which that action was taken (its propensity). Four methods estimate the mean reward of another
policy from it: :func:`replay`, :func:`ips`, :func:`snips` and :func:`doubly_robust`.
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
