"""Two ways to add up releases: a controller sees each of them, or nobody sees more than the sum."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.errors import ConfigError

#: A number of parties.
Count = Annotated[int, Meta(ge=1, le=4_000_000_000)]
#: Shares of all parties that ``"auto"`` stands for.
LEAST_SHARE, COLLUDING_SHARE = 0.8, 0.1
_FEWEST = 2


class _Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    pass


class Clear(_Part, frozen=True, tag="clear"):
    """Releases are seen one by one, so each has the noise of the whole guarantee."""


class SecureSum(_Part, frozen=True, tag="secure-sum"):
    """Releases are masked: only their sum is seen, so noise is needed once (docs/secure-sums.md).

    Parameters
    ----------
    helpers
        Number of helpers. Only the controller and all helpers together see single releases.
    least_parties
        Number of parties that a sum has at least. With fewer a sum waits for the next release.
        ``"auto"`` is 80% of all parties.
    colluding
        Number of parties that may be faulty, or tell others their noise, during the whole life of
        the federation. Each party knows its own noise, so it is at least 1. ``"auto"`` is 10% of
        all parties. Noise is as if ``least_parties - colluding`` parties made it.
    """

    helpers: Annotated[int, Meta(ge=1, le=3)] = 2
    least_parties: Count | Literal["auto"] = "auto"
    colluding: Count | Literal["auto"] = "auto"


Aggregation = Clear | SecureSum


class SecureTotals(msgspec.Struct, frozen=True):
    """The numbers that secure sums go by, the same for all parties.

    Parameters
    ----------
    helpers, least_parties, colluding
        See :class:`SecureSum`.
    """

    helpers: int
    least_parties: int
    colluding: int

    @property
    def honest(self) -> int:
        """h, the number of shares in a sum whose noise an attacker does not know."""
        return self.least_parties - self.colluding


def secure_totals(aggregation: Aggregation, parties: int) -> SecureTotals | None:
    """Work out the numbers of secure sums of so many ``parties``; None where sums are in clear.

    Raises
    ------
    ConfigError
        If more parties are asked for than there are, or none would be honest.
    """
    if isinstance(aggregation, Clear):
        return None
    if parties < _FEWEST:
        raise ConfigError(
            "aggregation: secure sums need two parties at least, or a sum shows what one releases; "
            "leave out aggregation, or take a preset without secure sums"
        )
    least = _number(aggregation.least_parties, LEAST_SHARE, parties)
    colluding = _number(aggregation.colluding, COLLUDING_SHARE, parties)
    if not colluding < least <= parties:
        raise ConfigError(
            f"aggregation: given least_parties = {least} and colluding = {colluding}, allowed: "
            f"colluding < least_parties ≤ {parties}, the number of parties"
        )
    return SecureTotals(aggregation.helpers, least, colluding)


def of_few(aggregation: Aggregation, parties: int, few: int) -> Aggregation:
    """Return how ``few`` parties add up in the place of so many ``parties``.

    ``least_parties`` and ``colluding`` are the same shares of all, rounded up. At least one party
    colludes, and one more is in each sum.
    """
    totals = secure_totals(aggregation, parties)
    if totals is None or isinstance(aggregation, Clear):
        return aggregation
    colluding = min(few - 1, _number("auto", totals.colluding / parties, few))
    least = max(colluding + 1, _number("auto", totals.least_parties / parties, few))
    return SecureSum(aggregation.helpers, least, colluding)


def _number(given: int | Literal["auto"], share: float, parties: int) -> int:
    """Return a number of parties, or the share of all that ``"auto"`` stands for."""
    return math.ceil(share * parties - 1e-9) if given == "auto" else given
