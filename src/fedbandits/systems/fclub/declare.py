"""The configuration of an FCLUB variant as it should be, and its named variants."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.systems.base import Preset
from fedbandits.systems.servers.system import NotNegative, OpenUnit, Part, Positive
from fedbandits.systems.variants import BUDGET, UNIT, refuse_unit


class Growing(Part, frozen=True, tag="growing"):
    """Phases that end in rounds first, first·factor, first·factor², …, which are fixed in advance.

    Parameters
    ----------
    factor
        Ratio of the round in which a phase ends to that of the phase before.
    first
        Round in which the first phase ends. ``auto``: five times the number of users.
    """

    factor: Annotated[float, Meta(ge=1.01, le=1e6)] = 1.4
    first: Annotated[int, Meta(ge=1, le=4_000_000_000)] | Literal["auto"] = "auto"


class FCLUB(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the sound FCLUB: releases in fixed rounds, and clusters from a mixture model.

    Parameters
    ----------
    schedule
        When phases end: ``growing(1.4)``. By default the first phase ends after five rounds for
        each user.
    releases
        What a server releases at the end of a phase. ``users``: the running sum of each of its
        users. ``clusters``: for each cluster of its users, the sum of the records of this phase.
        This needs far less noise, but the number of clusters and the users in each are computed
        from raw data. ``never``: nothing, so servers learn alone.
    noise
        ``calibrated``: the noise that (ε, δ) needs. ``none``: no noise.
    local_view
        What a server decides on. ``raw``: also the newest records of its own users. ``released``:
        only releases, its own included. It then learns nothing during a phase.
    clustering
        ``mixture``: several clusters. ``population``: one cluster, whose spread describes how much
        users differ.
    center_rewards
        Whether to learn y - ½ instead of y if one coordinate of all items is constant. A record
        then changes the sums by 1.25 instead of 2, and recommendations stay the same.
    strictness
        Gain that an additional cluster must bring, as a multiple of the Bayesian information
        criterion.
    trust
        Prior odds that users of other servers who seem to fit a cluster belong there, as a multiple
        of exp(-d/2). 0: they are ignored. See :func:`~fedbandits.learners.clustering.attach`.
    most_clusters
        Largest number of clusters of one server.
    exploration_scale
        The score of an item is its mean reward plus this number of standard deviations of the mean.
        The standard deviation of a single reward is taken to be ½.
    epsilon
        ε of the budget for all releases of one server about its users.
    delta
        δ of that budget: the probability with which the guarantee of ε may fail.
    unit
        What the guarantee is for. ``record``: one interaction. ``person``: all records of one user
        together.
    records_per_person
        k, the number of records of one user that count for what its server releases: the first k.
        Noise is calibrated for k records at once, so it is k times as large. The server itself
        learns from all of them, if ``local_view`` is ``raw``. Used with ``unit = "person"`` only.
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
    unit: Literal["record", "person"] = "record"
    records_per_person: Annotated[int, Meta(ge=1, le=4_000_000_000)] = 1

    def validate(self) -> None:
        refuse_unit(self.unit, self.records_per_person)
        if self.local_view == "released" and self.releases != "users":
            raise ValueError(
                "with a released local_view a server needs released sums of its users; set "
                'releases = "users", or local_view = "raw"'
            )

    @property
    def idle(self) -> tuple[str, ...]:
        """Settings that change nothing in this configuration: a budget without noise."""
        return () if self.is_private else (*BUDGET, *UNIT)

    @property
    def is_private(self) -> bool:
        """True if anything is released, and with noise."""
        return self.releases != "never" and self.noise == "calibrated"

    @property
    def protects_persons(self) -> bool:
        """True if the noise is for all records of a user at once."""
        return self.is_private and self.unit == "person"

    @property
    def records_at_once(self) -> int:
        """Number of records that noise is calibrated for: 1, or k for a person."""
        return self.records_per_person if self.protects_persons else 1


#: What is sent, with which noise, and what users of other servers may change.
_SHARING = (
    "releases", "noise", "local_view", "trust", "epsilon", "delta", "unit", "records_per_person",
)  # fmt: skip

PRESETS: dict[str, Preset] = {
    "fclub": Preset(
        "the sound variant: noisy sums of users in fixed rounds, clusters from a mixture model", {}
    ),
    "fclub-released": Preset(
        "servers act only on releases, so the claim also holds for interactive data",
        {"local_view": "released"},
    ),
    "fclub-clusters": Preset(
        "one noisy sum for each cluster: less noise, but the claim treats clusters as public",
        {"releases": "clusters"},
    ),
    "fclub-local": Preset(
        "servers without communication; shows the benefit of clusters alone",
        {"releases": "never"},
        stands_for="alone",
        sharing=_SHARING,
    ),
    "fclub-clear": Preset(
        "sums of users without noise; the difference is the cost of privacy",
        {"noise": "none"},
        stands_for="pooled",
        sharing=_SHARING,
    ),
}
