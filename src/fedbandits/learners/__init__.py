"""Learners: the algorithms of single agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily

__all__ = ["BatchLinUCB", "Learner", "from_sklearn"]

if TYPE_CHECKING:
    from fedbandits.learners.batch_linucb import BatchLinUCB
    from fedbandits.learners.learner import Learner
    from fedbandits.learners.sklearn_learner import from_sklearn
else:
    __getattr__, __dir__ = lazily(__name__, __all__)
