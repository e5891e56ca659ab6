"""Labels of a result: names and units of its numbers, and facts for tables and plots."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import msgspec
import xarray as xr

from fedbandits._version import __version__
from fedbandits.environments.base import Decisions, Words, decisions_in
from fedbandits.errors import DataError
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.settings.experiment import Experiment
from fedbandits.settings.reference.glossary import VARIABLES
from fedbandits.systems import find_system

#: Number of the format of results. A new meaning of a variable raises the number.
FORMAT = 2
_PACKAGES = ("numpy", "numba", "scipy", "xarray", "networkx")
#: Long names and units; :func:`label` adds names with the words of an environment.
_NAMES = {
    "messages": ("messages sent by all parties so far", "1"),
    "bytes": ("bytes of those messages", "byte"),
    "syncs": ("syncs so far", "1"),
    "epsilon": ("ε accounted so far for everything that leaves one party", "1"),
    "epsilon_contents": ("ε of the contents of one party's messages so far", "1"),
    "value": ("mean reward of a decision so far, estimated", "1"),
    "value_low": ("lower end of the 95% interval of the value", "1"),
    "value_high": ("upper end of the 95% interval of the value", "1"),
    "matched": ("events so far that tell something of the value", "1"),
    "effective": ("effective number of these events", "1"),
    "events": ("events of the log met so far", "1"),
    "observed": ("events so far whose reward was observed", "1"),
    "estimator": ("method by which the value is estimated", ""),
    "seconds": ("wall-clock time in which replicates were played", "s"),
    "system": ("system", ""),
    "replicate": ("replicate", "1"),
    "party": ("number of the party", "1"),
    "round": ("round", "1"),
}


class Labels(NamedTuple):
    """The attributes of a result, as tables and plots use them."""

    name: str  # name of the experiment
    words: Words  # words for parties, losses and turns
    #: Number of parties, and of parties that act in a round.
    parties: int
    acting: int
    rounds: int  # rounds of every replicate
    #: The first round of each party; empty if all parties begin in round 1.
    first_rounds: tuple[int, ...]
    real_data: bool  # whether rewards come from real data
    stands_for: dict[str, str]  # kind of baseline by label: ``alone``, ``pooled``, or empty
    #: Privacy claims as tables, by label. Infinity is the word ``inf``.
    claims: dict[str, dict[str, Any]]

    @property
    def per_party(self) -> str:
        """The words for one party behind a quantity; empty if one party acts in a round."""
        return f" per {self.words.party}" if self.acting > 1 else ""

    @property
    def decisions(self) -> Decisions:
        """The number of decisions in the run."""
        return self.decisions_in(self.rounds)

    def decisions_in(self, rounds: int) -> Decisions:
        """Count the decisions in the first ``rounds`` rounds."""
        return decisions_in(rounds, self.acting, self.first_rounds)

    @property
    def loss(self) -> str:
        """The one unit of regret in tables and plots, for example ``mistakes per hospital``."""
        return self.words.loss_of_one(self.acting)

    @property
    def gain(self) -> str:
        """The unit of rewards if regret is not known: reward of one decision."""
        return f"reward per {self.words.turn}"

    def is_encrypted(self, system: str) -> bool:
        """Return whether encryption protects a system, without an ε."""
        return bool(self.claims[system].get("encrypted"))


def labels_of(result: xr.Dataset) -> Labels:
    """Read the labels of a run's result.

    Raises DataError for a result without labels, or of another version.
    """
    stored = result.attrs
    if stored.get("format") != FORMAT:
        raise DataError(
            f"result.attrs['format']: given {stored.get('format')}, allowed: {FORMAT}; the result "
            "is of another version of fedbandits, or not of fedbandits.run. Run it again"
        )
    return Labels(
        name=stored["name"],
        words=Words(**json.loads(stored["words"])),
        parties=int(stored["parties"]),
        acting=int(stored["acting"]),
        rounds=int(stored["rounds"]),
        first_rounds=tuple(json.loads(stored.get("first_rounds", "[]"))),
        real_data=bool(stored["real_data"]),
        stands_for=json.loads(stored["stands_for"]),
        claims=json.loads(stored["claims"]),
    )


def attributes(
    experiment: Experiment, claims: Mapping[str, PrivacyClaim], interrupted: bool
) -> dict[str, Any]:
    """Return the attributes of a result; tables are JSON, because netCDF takes no tables."""
    environment = experiment.environment
    versions = {"python": platform.python_version(), "fedbandits": __version__}
    versions |= {name: version(name) for name in _PACKAGES}
    return {
        "format": FORMAT,
        "name": experiment.name,
        "seed": experiment.seed,
        "rounds": experiment.rounds,
        "parties": environment.parties,
        "acting": environment.acting,
        "first_rounds": json.dumps(environment.first_rounds),
        "words": json.dumps(environment.words._asdict()),
        "real_data": int(environment.REAL_DATA),
        "stands_for": json.dumps(_stands_for(experiment)),
        "claims": json.dumps({k: _finite(msgspec.to_builtins(c)) for k, c in claims.items()}),
        "config": experiment.to_toml(),
        "versions": json.dumps(versions),
        "interrupted": int(interrupted),
    }


def label(result: xr.Dataset, words: Words) -> None:
    """Give every variable and coordinate its ``long_name``, ``units`` and ``description``."""
    lost = "1" if words.loss == "regret" else words.loss
    in_words = {
        "regret": (f"{words.loss} of one {words.party} so far", lost),
        "reward": (f"reward of one {words.party} so far", "1"),
    }
    for name, array in result.variables.items():
        known = str(name)
        long_name, units = (_NAMES | in_words).get(known, (known.replace("_", " "), "1"))
        array.attrs["long_name"] = long_name
        array.attrs["units"] = units
        if known in VARIABLES:
            array.attrs["description"] = VARIABLES[known]


def _stands_for(experiment: Experiment) -> dict[str, str]:
    return {
        entry.label: find_system(entry.system).presets[entry.preset].stands_for
        for entry in experiment.systems
    }


def _finite(value: Any) -> Any:
    """Write infinity as a word; JSON has none."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return "inf" if isinstance(value, float) and math.isinf(value) else value
