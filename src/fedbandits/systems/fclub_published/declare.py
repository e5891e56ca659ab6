"""The parts of a published FCLUB variant, its configuration, and the named variants."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.systems.base import Preset
from fedbandits.systems.servers.system import NotNegative, OpenUnit, Part, Positive
from fedbandits.systems.variants import BUDGET

Ratio = Annotated[float, Meta(ge=1.0, le=1e9)]


class Alone(Part, frozen=True, tag="alone"):
    """Every user learns alone; there are no clusters."""


class Together(Part, frozen=True, tag="together"):
    """All users are one cluster, from the first round to the last."""


class Phased(Part, frozen=True, tag="phased"):
    """Liu et al. 2022, Algorithm 2: clusters are found at the start of every phase.

    Servers delete edges between their users, and a global server merges their clusters.
    """


class Edges(Part, frozen=True, tag="edges"):
    """CLUB (Gentile et al. 2014) on every server: each round tests the edges of one user."""


class Sets(Part, frozen=True, tag="sets"):
    """SCLUB (Li et al. 2019) on every server: users leave clusters, and clusters merge."""


Clustering = Alone | Together | Phased | Edges | Sets


class Never(Part, frozen=True, tag="never"):
    """Servers do not communicate."""


class Always(Part, frozen=True, tag="always"):
    """Every observation is sent at once to all servers with users of the same cluster."""


class Delayed(Part, frozen=True, tag="delayed"):
    """Liu et al. 2022, Algorithms 3 and 4: exchange when a determinant has grown enough.

    Parameters
    ----------
    upload
        U: a local cluster uploads when det(S + ΔS) ≥ U det S.
    download
        D: the global server sends it the missing statistics when det Sᵍ ≥ D det S.
    """

    upload: Ratio = 1.01
    download: Ratio = 1.01


Sharing = Never | Always | Delayed


class NoNoise(Part, frozen=True, tag="none"):
    """Statistics are sent in clear, without noise."""


class Published(Part, frozen=True, tag="published"):
    """Algorithm 5: a binary tree for every local cluster, with the noise of the paper.

    A tree is used as long as its cluster has the same users. A cluster that loses a user gets a new
    tree. Every upload uses the next perturbation of the tree. Every phase uses two more: one for
    the report (Algorithm 2, line 4) and one for a renewal (line 14).

    Parameters
    ----------
    uploads
        Number of uploads that a local cluster may make with one tree. ``"auto"`` is the bound of
        section 4, d log T / log min(U, D). After that the cluster makes no more uploads, but it
        still reports. t_c of the tree is this number plus two for every phase of the run.
    """

    uploads: Annotated[int, Meta(ge=1, le=1_000_000)] | Literal["auto"] = "auto"


Privatizer = NoNoise | Published


class Practical(Part, frozen=True, tag="practical"):
    """The radius of the authors' code, β = ½ √(2 ln(2/α) + d ln(3 + T/d)).

    T is the number of observations of the model.

    Parameters
    ----------
    alpha
        α in the formula. A smaller α means more exploration.
    """

    alpha: Positive = 1.5


class Lemma(Part, frozen=True, tag="lemma"):
    """The radius β of Lemma 1, with σ₀ = ½.

    Its failure probability is a setting. m is the true number of clusters, which the paper assumes
    to be known. With noise, ρ_min = ρ, ρ_max = 3ρ + 3ρ d log T / log min(U, D), and κ = ‖h‖/√ρ. For
    ‖h‖ its bound with high probability is used. Without noise, ρ_min = ρ_max = λ and κ = 0.
    """


class Authors(Part, frozen=True, tag="authors"):
    """The radius of the authors' code for FCLUB-CDP, for T records of the model and α = 1.

    β = √(2 ln 2 + d ln(1 + T/(dρ))) + √(Lρ) + √L υ with m = 1 + ln T,
    ρ = √32 · 2m ln(4/δ) (4√d + 2 ln 2T)/ε and υ² = √2 m (√d + 2 ln 2T)/√ε. The authors multiply it
    by 0.005. It makes room for noise, but their code adds no noise.
    """


Confidence = Practical | Lemma | Authors

#: How clusters of different servers become one.
Merging = Literal["printed", "authors"]


def phase_ends(rounds: int) -> list[int]:
    """Return the last rounds of the phases before the one of the horizon: 2, 6, 14, ….

    Phase s is 2^s rounds long (Algorithm 1, line 7).
    """
    ends, phase = [], 1
    while (end := 2 ** (phase + 1) - 2) < rounds:
        ends.append(end)
        phase += 1
    return ends


class PublishedFCLUB(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the published FCLUB (Liu et al. 2022, Algorithms 1 to 5).

    Parameters
    ----------
    clustering
        Which users learn together: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        When servers exchange statistics: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        The statistics with which a server recommends. ``buffered``: S + ΔS, which includes records
        that are not uploaded yet, as in the authors' code. ``synchronized``: only S (Algorithm 1,
        line 12).
    alpha1
        α₁. Two users are different if the distance of their estimates is larger than α₁ (F + F).
        Used in equation 3, for the edges of CLUB and the splits of SCLUB.
    alpha2
        α₂. Two clusters are the same if the distance of their estimates is smaller than α₂ (F + F).
        Used in equation 4, and for the merges of SCLUB.
    merging
        How clusters of different servers are merged. ``printed``: Algorithm 2. Clusters that pass
        equation 4, directly or through others, become one. If this changes the clusters, all start
        again from the reports. ``authors``: what the authors' code does. Clusters of one server may
        also become one again. Nothing is merged while every pair passes the test. Nothing is merged
        either while every cluster stands alone and none has split. If nothing changed, each server
        starts again with the records of its own users, and drops what came from others. If
        something changed, the clusters of a group share one array. Then an upload counts twice, and
        all of them have it at once.
    alpha_p
        α_p. SCLUB also compares shares of arrivals. Users are split if their shares differ by more
        than 2 α_p F(t). Clusters are merged if their shares differ by less than α_p F(t).
    confidence
        How the confidence radius is computed. ``practical(alpha)``: as in the authors' code.
        ``lemma``: Lemma 1. ``authors``: as in the authors' code for FCLUB-CDP.
    bonus
        The exploration bonus. ``square``: β xᵀM⁻¹x, as in the authors' code. ``root``: β √(xᵀM⁻¹x),
        as in the paper.
    exploration_scale
        Factor of the bonus. With ``root`` and ``lemma``, 1 is the value of the theorem.
    regularization
        Ridge parameter λ for recommendations. With ``published`` noise, the shift of the noise is
        used in its place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB compares clusters with
        ``regularization`` instead.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper claims for the ``published`` noise.
    delta
        δ that the paper claims for the ``published`` noise.
    """

    clustering: Clustering = msgspec.field(default_factory=Phased)
    sharing: Sharing = msgspec.field(default_factory=Delayed)
    privatizer: Privatizer = msgspec.field(default_factory=NoNoise)
    acts_on: Literal["buffered", "synchronized"] = "buffered"
    alpha1: NotNegative = 1.5
    alpha2: NotNegative = 2.0
    merging: Merging = "printed"
    alpha_p: NotNegative = 1.0
    confidence: Confidence = msgspec.field(default_factory=Practical)
    bonus: Literal["square", "root"] = "square"
    exploration_scale: NotNegative = 1.0
    regularization: Positive = 2.0
    edge_regularization: Positive = 2.0
    merge_regularization: Positive = 1.0
    failure_probability: OpenUnit = 0.01
    epsilon: Positive = 1.0
    delta: OpenUnit = 0.1

    def validate(self) -> None:
        delayed = isinstance(self.sharing, Delayed)
        as_published = delayed and isinstance(self.clustering, Phased)
        local = isinstance(self.clustering, Alone | Edges | Sets)
        if local and not isinstance(self.sharing, Never):
            raise ValueError(
                "this clustering works on each server alone, so servers cannot share; set "
                'sharing = "never", or clustering = "phased" or "together"'
            )
        if self.is_private and not as_published:
            raise ValueError(
                "the published privatizer needs phased clusters that upload; set "
                'clustering = "phased" and sharing = "delayed"'
            )
        if self.is_private and not isinstance(self.confidence, Lemma):
            raise ValueError(
                'with published noise the radius must include the noise; set confidence = "lemma"'
            )
        if self.is_private and min(self.sharing.upload, self.sharing.download) <= 1.0:  # type: ignore[union-attr]
            raise ValueError("with published noise, thresholds of sharing must be larger than 1")
        if self.merging == "authors" and (self.is_private or not as_published):
            raise ValueError(
                'merging = "authors" needs phased clusters, delayed sharing and no noise; set '
                'clustering = "phased", sharing = "delayed" and privatizer = "none"'
            )
        if self.acts_on == "synchronized" and not delayed:
            raise ValueError(
                'acts_on has an effect only if sharing is "delayed"; leave it at "buffered"'
            )

    @property
    def is_private(self) -> bool:
        """True if any noise is added."""
        return isinstance(self.privatizer, Published)

    @property
    def idle(self) -> tuple[str, ...]:
        """Settings that change nothing in this configuration: a budget that no noise is for.

        Two confidence bounds take the budget into account even where there is no noise.
        """
        counted = self.is_private or isinstance(self.confidence, Lemma | Authors)
        return () if counted else BUDGET


PRESETS: dict[str, Preset] = {
    "fclub-published": Preset(
        "Liu et al. 2022: FCLUB-CDP as published, and its noise is added",
        {
            "privatizer": "published",
            "acts_on": "synchronized",
            "confidence": "lemma",
            "bonus": "root",
            "alpha1": 1.0,
        },
    ),
    "fclub-authors": Preset(
        "the authors' code for FCLUB-CDP: it adds no noise, and merges clusters in another way",
        {
            "merging": "authors",
            "confidence": "authors",
            "exploration_scale": 0.005,
            "regularization": 1.0,
        },
    ),
    "fclub-dc": Preset(
        "Liu et al. 2022 without noise: clusters in phases, delayed communication", {}
    ),
    "fclub-sync": Preset(
        "Liu et al. 2022 without noise; every observation is shared at once", {"sharing": "always"}
    ),
    "club": Preset(
        "Gentile et al. 2014 on every server alone: edges are deleted round by round",
        {
            "clustering": "edges",
            "sharing": "never",
            "alpha1": 0.25,
            "confidence": "practical(0.25)",
            "regularization": 1.0,
            "edge_regularization": 1.0,
        },
    ),
    "sclub": Preset(
        "Li et al. 2019 on every server alone: users leave clusters, and clusters merge",
        {
            "clustering": "sets",
            "sharing": "never",
            "alpha1": 1.5,
            "alpha2": 0.75,
            "regularization": 1.0,
            "edge_regularization": 1.0,
        },
    ),
    "linucb-per-user": Preset(
        "LinUCB for every user alone; the baseline that collaboration must beat",
        {"clustering": "alone", "sharing": "never", "confidence": "practical(15)"},
    ),
    "homo": Preset(
        "one cluster of all users; every observation is shared at once",
        {"clustering": "together", "sharing": "always"},
    ),
    "homo-dc": Preset(
        "one cluster of all users, delayed communication", {"clustering": "together"}
    ),
}
