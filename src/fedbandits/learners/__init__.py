"""Learners: the algorithms of single agents."""

from __future__ import annotations

from fedbandits.learners.batch_linucb import BatchLinUCB
from fedbandits.learners.learner import Learner
from fedbandits.learners.sklearn_learner import from_sklearn

__all__ = ["BatchLinUCB", "Learner", "from_sklearn"]
