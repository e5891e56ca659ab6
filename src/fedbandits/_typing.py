"""Array types, by the type of their entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Words32 = NDArray[np.uint32]
Words64 = NDArray[np.uint64]
Bools = NDArray[np.bool_]
