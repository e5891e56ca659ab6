"""What the configurations of both forms of FCLUB are made of."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fedbandits._checked import Checked

NotNegative = Annotated[float, Meta(ge=0.0, le=1e9)]
Positive = Annotated[float, Meta(gt=0.0, le=1e9)]
OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]


class Part(Checked, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """One of several kinds of something that a variant is composed of."""
