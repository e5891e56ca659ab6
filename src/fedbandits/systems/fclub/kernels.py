"""What a server computes in a round, as a compiled function on arrays."""

from __future__ import annotations

from fedbandits._compile import borrowing
from fedbandits._typing import Floats
from fedbandits.learners.models import Models, update
from fedbandits.learners.ridge import add_record
from fedbandits.systems.fclub.persons import share
from fedbandits.systems.fclub.plan import Constants


@borrowing
def learn(
    constants: Constants, models: Models, sums: Floats, shared: Floats, user: int, context: Floats,
    reward: float, counts: bool, gain: Floats,
) -> None:  # fmt: skip
    """Enter one record; a server that acts on raw data learns from it at once.

    Parameters
    ----------
    constants : Constants
    models : Models
        The models of the server's users, a row each.
    sums : (users, p + 2) float64
        Packed statistics, numbers of records, and sums of squared rewards.
    shared : (users, p + 2) float64
        Packed statistics of the records that count for releases; no rows where all do.
    user : int
        Row of the user who gave the reward.
    context : (d,) float64
    reward : float
    counts : bool
        Whether the record counts for releases.
    gain : (d,) float64
        Buffer that is overwritten.
    """
    centred = reward - constants.offset
    add_record(sums, user, context, centred, constants.rounding)
    share(constants, shared, user, context, centred, counts)
    size = sums.shape[1]
    sums[user, size - 2] += 1.0
    sums[user, size - 1] += centred * centred
    if constants.raw_view:
        update(models, user, context, centred, gain)
