"""Noise that may leave a real party: secure, exact on a grid, drawn once.

A simulated source returns standard normals in floating point, from a seed; whoever knows the seed
takes the noise off again, and the last bits of a floating-point sum tell of what was summed
(Mironov 2012). A source here *covers* values instead: it rounds them to a grid of 2⁻⁴⁰ deviations
and adds whole numbers of grid steps from the discrete Gaussian. All that is released is computed
from covered values alone, so no arithmetic after it can give anything away.

Covered values are charged as if their noise were a continuous Gaussian on the grid's scale. By a
Taylor expansion a discrete Gaussian of σ steps and a rounded continuous one are within a total
variation of ∫|f″|/48 < 1/(49 σ²) of each other, here 2⁻⁸⁵ a number: it would take 10²⁰ numbers to
move a δ of 10⁻⁵ in its sixth digit.

There is no seed, and nothing is kept between two draws: a process that is forked shares no noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import BoundExceededError, MissingExtraError
from fedbandits.privacy.discrete_gaussian import discrete_gaussian

#: A grid step is 2⁻⁴⁰ deviations of the noise.
GRID_BITS = 40
_DEVIATION = 1 << GRID_BITS
#: So many independent samples of the discrete Gaussian with deviation 2⁴⁰.
Sampler = Callable[[int], Sequence[int]]


class SecureNoise:
    """Covers values with secure noise of deviation 1.

    Parameters
    ----------
    sampler
        By default this package's own exact one. :func:`opendp_sampler` is the other.
    """

    def __init__(self, sampler: Sampler | None = None) -> None:
        self._sampler = own_sampler if sampler is None else sampler

    def cover(self, step: int, values: Floats) -> Floats:
        """Values on the grid, plus noise that is drawn for this call alone.

        Parameters
        ----------
        step : int
            Which release this is for; it decides nothing here, and names the draw where one is
            booked (:mod:`fedbandits.privacy.ledger`).
        values : float64, any shape
            In deviations of the noise; of any size, for a release that is refused because of data
            would tell of it.

        Returns
        -------
        float64, of the same shape
            The sums, exact as whole numbers of grid steps before they are rounded to float64.

        Raises
        ------
        BoundExceededError
            If a value is not a finite number. Nothing is drawn then.
        """
        del step
        steps = np.rint(values * _DEVIATION)
        if not np.isfinite(steps).all():
            raise BoundExceededError("a sum to be released is not a finite number")
        drawn = self._sampler(steps.size)
        # Python's whole numbers have no largest one.
        sums = [int(at) + z for at, z in zip(steps.flat, drawn, strict=True)]
        return np.array(sums, dtype=np.float64).reshape(steps.shape) / _DEVIATION


def own_sampler(count: int) -> Sequence[int]:
    """Samples by :func:`.discrete_gaussian`; some 25 µs each."""
    return [discrete_gaussian(_DEVIATION) for _ in range(count)]


def opendp_sampler() -> Sampler:
    """Samples by OpenDP's discrete Gaussian, if the extra ``noise`` is installed.

    Raises
    ------
    MissingExtraError
        If it is not.
    """
    try:
        import opendp.prelude as opendp
    except ImportError as error:
        raise MissingExtraError(
            'OpenDP is not installed; install the extra: pip install "fedbandits[noise]"'
        ) from error
    opendp.enable_features("contrib")
    domain = opendp.vector_domain(opendp.atom_domain(T=opendp.i64))
    gaussian = opendp.m.then_gaussian(scale=float(_DEVIATION))
    measurement = (domain, opendp.l2_distance(T=float)) >> gaussian

    def sample(count: int) -> Sequence[int]:
        samples: Sequence[int] = measurement([0] * count)
        return samples

    return sample
