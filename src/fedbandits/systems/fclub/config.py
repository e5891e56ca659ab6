"""The configuration of an FCLUB variant as it should be: every part can be set by itself."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.systems.servers.config import NotNegative, OpenUnit, Part, Positive


class Growing(Part, frozen=True, tag="growing"):
    """Phases that end in rounds first, first·factor, first·factor², …: fixed in advance.

    Parameters
    ----------
    factor
        Ratio of the round in which a phase ends to that of the phase before.
    first
        Round in which the first phase ends. ``auto``: after five rounds a user.
    """

    factor: Annotated[float, Meta(ge=1.01, le=1e6)] = 1.4
    first: Annotated[int, Meta(ge=1, le=4_000_000_000)] | Literal["auto"] = "auto"


class FCLUB(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """FCLUB with private releases in rounds fixed in advance, and clusters as a mixture.

    Parameters
    ----------
    schedule
        When phases end: ``growing(1.4)``; the first one by default after five rounds a user.
    releases
        What a server releases at a phase's end. ``users``: the running sum of each of its users.
        ``clusters``: for each cluster of its users the sum of the phase's records; far less noise,
        but who is in which cluster, and how many there are, is found in raw data. ``never``:
        servers learn by themselves.
    noise
        ``calibrated`` to (ε, δ), or ``none``.
    local_view
        ``raw``: a server uses its own users' records at once. ``released``: it acts on releases
        alone, its own included, and learns nothing within a phase.
    clustering
        ``mixture``, or ``population``: one cluster, whose spread says how much users differ.
    center_rewards
        Learn y - ½ where one coordinate of all items is constant: a record then moves the sums
        by 1.25 instead of 2, for the same recommendations.
    strictness
        What one more cluster must gain, as a multiple of the Bayesian information criterion.
    trust
        How far other servers' users may move the centre of a cluster, see
        :func:`~fedbandits.learners.attachment.attach`.
    most_clusters
        How many clusters one server can have.
    exploration_scale
        Items are scored by their mean reward plus so many of its standard deviations, a single
        reward's deviation being taken for ½.
    epsilon
        ε of the budget of all releases of a server's users together.
    delta
        δ of that budget: the probability with which the promise of ε may fail.
    """

    schedule: Growing = msgspec.field(default_factory=Growing)
    releases: Literal["users", "clusters", "never"] = "users"
    noise: Literal["calibrated", "none"] = "calibrated"
    local_view: Literal["raw", "released"] = "raw"
    clustering: Literal["mixture", "population"] = "mixture"
    center_rewards: bool = True
    strictness: NotNegative = 0.75
    trust: NotNegative = 1.0
    most_clusters: Annotated[int, Meta(ge=1, le=1000)] = 32
    exploration_scale: NotNegative = 1.0
    epsilon: Positive = 1.0
    delta: OpenUnit = 1e-5

    def validate(self) -> None:
        if self.local_view == "released" and self.releases != "users":
            raise ValueError(
                "with a released local_view a server acts on released sums of its users; set "
                'releases = "users", or local_view = "raw"'
            )
