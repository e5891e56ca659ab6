"""The parts that a published FCLUB variant is composed of, and its configuration."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.systems.servers.config import NotNegative, OpenUnit, Part, Positive

Ratio = Annotated[float, Meta(ge=1.0, le=1e9)]


class Alone(Part, frozen=True, tag="alone"):
    """Every user learns by itself: nobody is clustered."""


class Together(Part, frozen=True, tag="together"):
    """All users are one cluster, from the first round to the last."""


class Phased(Part, frozen=True, tag="phased"):
    """Liu et al. 2022, Algorithm 2: clusters are found at the start of every phase.

    Servers delete edges between their users, and a global server merges their clusters.
    """


class Edges(Part, frozen=True, tag="edges"):
    """CLUB (Gentile et al. 2014) on every server: each round the edges of one user are tested."""


class Sets(Part, frozen=True, tag="sets"):
    """SCLUB (Li et al. 2019) on every server: users split off clusters, and clusters merge."""


Clustering = Alone | Together | Phased | Edges | Sets


class Never(Part, frozen=True, tag="never"):
    """Servers do not communicate."""


class Always(Part, frozen=True, tag="always"):
    """Every observation goes at once to every server that has a part of the cluster."""


class Delayed(Part, frozen=True, tag="delayed"):
    """Liu et al. 2022, Algorithms 3 and 4: exchange once the determinant has grown enough.

    Parameters
    ----------
    upload
        U: a local cluster uploads when det(S + ΔS) ≥ U det S.
    download
        D: it is sent what it lacks when det Sᵍ ≥ D det S.
    """

    upload: Ratio = 1.01
    download: Ratio = 1.01


Sharing = Never | Always | Delayed


class NoNoise(Part, frozen=True, tag="none"):
    """Statistics leave in clear."""


class Published(Part, frozen=True, tag="published"):
    """Algorithm 5: a binary tree for every local cluster, with the paper's noise.

    A tree stands as long as its cluster has the same users; whoever loses one gets a new tree.
    Every upload takes the next perturbation, and so does every phase: one for the report
    (Algorithm 2, line 4), one for a renewal (line 14).

    Parameters
    ----------
    uploads
        How often a local cluster may upload under one tree. ``"auto"`` is the bound of section 4,
        d log T / log min(U, D). Once they are used up it uploads nothing more; it still reports.
        The tree's t_c is this and two for every phase of the run.
    """

    uploads: Annotated[int, Meta(ge=1, le=1_000_000)] | Literal["auto"] = "auto"


Privatizer = NoNoise | Published


class Practical(Part, frozen=True, tag="practical"):
    """β = ½ √(2 ln(2/α) + d ln(3 + T/d)), T the model's observations: the authors' code.

    Parameters
    ----------
    alpha
        α in that formula: the smaller it is, the more is explored.
    """

    alpha: Positive = 1.5


class Lemma(Part, frozen=True, tag="lemma"):
    """β of Lemma 1, at the failure probability of the configuration, and σ₀ = ½.

    m is the true number of clusters, which the paper takes as known. Under noise ρ_min = ρ,
    ρ_max = 3ρ + 3ρ d log T / log min(U, D), and κ = ‖h‖/√ρ with the bound that ‖h‖ keeps with high
    probability; without noise ρ_min = ρ_max = λ and κ = 0.
    """


class Authors(Part, frozen=True, tag="authors"):
    """β of the authors' code for FCLUB-CDP, for T records of the model and α = 1.

    β = √(2 ln 2 + d ln(1 + T/(dρ))) + √(Lρ) + √L υ with m = 1 + ln T,
    ρ = √32 · 2m ln(4/δ) (4√d + 2 ln 2T)/ε and υ² = √2 m (√d + 2 ln 2T)/√ε. They multiply it by
    0.005; the noise that it allows for is never added.
    """


Confidence = Practical | Lemma | Authors

#: How clusters of different servers become one.
Merging = Literal["printed", "authors"]


def phase_ends(rounds: int) -> list[int]:
    """Last rounds of the phases before the one that the horizon falls into: 2, 6, 14, ….

    Phase s is 2^s rounds long (Algorithm 1, line 7).
    """
    ends, phase = [], 1
    while (end := 2 ** (phase + 1) - 2) < rounds:
        ends.append(end)
        phase += 1
    return ends


class PublishedFCLUB(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Federated online clustering of bandits (Liu et al. 2022, Algorithms 1 to 5), in parts.

    Parameters
    ----------
    clustering
        Who learns with whom: ``phased``, ``edges`` (CLUB), ``sets`` (SCLUB), ``together``,
        ``alone``.
    sharing
        What servers tell one another: ``delayed(U, D)``, ``always``, ``never``.
    privatizer
        ``none``, or ``published``: the noise of Algorithm 5.
    acts_on
        ``buffered``: a server recommends by S + ΔS, what it has not uploaded yet included, as the
        authors' code does. ``synchronized``: by S alone (Algorithm 1, line 12).
    alpha1
        Two users are different where estimates lie further apart than α₁ (F + F): equation 3,
        CLUB's edges, SCLUB's splits.
    alpha2
        Two clusters are the same where estimates are closer than α₂ (F + F): equation 4, SCLUB's
        merges.
    merging
        ``printed``: Algorithm 2. Clusters of different servers that pass equation 4, directly or
        through others, are one; where that changes who learns with whom, all begin anew from the
        reports. ``authors``: what the authors' code does. Clusters of one server may become one
        again too. Nothing is merged while every pair passes the test, nor while every cluster
        stands alone and none has split. Where nothing changed each server begins anew with the
        records of its own users, and what came from others is dropped. Where something changed
        the clusters of a group share one array: an upload counts twice, and all have it at once.
    alpha_p
        SCLUB splits and merges by shares of arrivals too: users differ by more than 2 α_p F(t),
        clusters are the same if they differ by less than α_p F(t).
    confidence
        ``practical(alpha)``, as in the authors' code; ``lemma``; or ``authors``, which their code
        for FCLUB-CDP takes.
    bonus
        ``square``: β xᵀM⁻¹x, the authors' code. ``root``: β √(xᵀM⁻¹x), the paper.
    exploration_scale
        Multiplies the bonus; with the root and Lemma 1, 1 is the theorem.
    regularization
        Ridge parameter λ when recommending; with ``published`` noise its own shift takes that
        place.
    edge_regularization
        Ridge parameter λ of users' estimates in equation 3.
    merge_regularization
        Ridge parameter λ of clusters' estimates in equation 4. SCLUB's clusters are compared as
        they recommend.
    failure_probability
        α of Lemma 1 and of the bound on the noise.
    epsilon
        ε that the paper promises for the ``published`` noise.
    delta
        δ that the paper promises for the ``published`` noise.
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
        local = isinstance(self.clustering, Alone | Edges | Sets)
        if local and not isinstance(self.sharing, Never):
            raise ValueError(
                "this clustering is of one server's users, who share nothing with others; set "
                'sharing = "never", or clustering = "phased" or "together"'
            )
        if self.is_private and not (
            isinstance(self.clustering, Phased) and isinstance(self.sharing, Delayed)
        ):
            raise ValueError(
                "the published privatizer makes the uploads of phased clusters noisy; set "
                'clustering = "phased" and sharing = "delayed"'
            )
        if self.is_private and not isinstance(self.confidence, Lemma):
            raise ValueError(
                'the published noise needs a radius that knows of it; set confidence = "lemma"'
            )
        if self.is_private and min(self.sharing.upload, self.sharing.download) <= 1.0:  # type: ignore[union-attr]
            raise ValueError("with published noise, thresholds of sharing must be larger than 1")
        if self.merging == "authors" and (
            self.is_private
            or not (isinstance(self.clustering, Phased) and isinstance(self.sharing, Delayed))
        ):
            raise ValueError(
                'merging = "authors" is of phased clusters that share with delay and without '
                'noise; set clustering = "phased", sharing = "delayed" and privatizer = "none"'
            )
        if self.acts_on == "synchronized" and not isinstance(self.sharing, Delayed):
            raise ValueError(
                'nothing is buffered unless sharing is "delayed"; leave acts_on at "buffered"'
            )

    @property
    def is_private(self) -> bool:
        """Whether noise is added at all."""
        return isinstance(self.privatizer, Published)
