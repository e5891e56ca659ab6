"""A total does not tell agents whose releases are in it."""

from __future__ import annotations

from fedbandits.federation.messages import Message
from fedbandits.federation.totals.messages import Total
from fedbandits.systems.secure_claim import _PART


def test_agents_are_told_how_many_releases_are_in_a_sum_and_not_whose():
    """A field that names others would have to be in the claim, too."""
    told = {
        "release", "statistic", "own", "releases", "counts", "digest", "agreed", "disputed",
        "publics", "confirmations",
    }  # fmt: skip
    assert set(Total.__struct_fields__) - set(Message.__struct_fields__) == told
    assert "all members" not in _PART.why
    assert "Members know how many" in _PART.why
