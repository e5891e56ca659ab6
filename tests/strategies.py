"""Hypothesis strategies that several tests share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

seeds = st.integers(0, 2**64 - 1)
small_counts = st.integers(1, 40)
parties = st.integers(0, 2**32 - 1)
rounds = st.integers(0, 2**32 - 1)
epsilons = st.floats(0.01, 20.0)
deltas = st.floats(1e-9, 0.5)


@st.composite
def positive_definite(draw: st.DrawFn, dimension: int) -> np.ndarray:
    """A random well-conditioned symmetric positive definite matrix."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    factor = rng.normal(size=(dimension, dimension))
    return factor @ factor.T + np.eye(dimension)
