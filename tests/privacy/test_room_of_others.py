"""Mistakes of servers and buyers that a small audit must find: the third one's, and late ones.

An audit plays four servers and four buyers, who make all releases of the plan, with a record beyond
its bounds too. What is measured exactly must find the mistake; attacks are left out.
"""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Clustered, Procurement
from fedbandits.privacy import sensitivity_check
from fedbandits.systems.pfcb.roles import buying
from fedbandits.systems.servers import roles
from tests.privacy.test_room_mutants import MOVES, NOISE, holds, judged
from tests.sized import sized

SERVERS, BUYERS = Clustered(placement="spread"), Procurement()
ROUNDS = 60_000
#: Replaced records: two pairs of worlds, with a purchase or a record of each of the four parties.
FEW_RECORDS = 8
PRESETS = {
    "fclub": SERVERS,
    "fclub-clusters": SERVERS,
    "pfcb": BUYERS,
    "pfcb-published": BUYERS,
    "pfcb-secure": BUYERS,
}
EVERY = pytest.mark.parametrize("preset", PRESETS)
#: What FCLUB as published releases when depends on data: this is measured of what comes first.
AND_PUBLISHED = pytest.mark.parametrize("preset", [*PRESETS, "fclub-published"])


def found(preset, runs=1000, looks_at=MOVES + NOISE):
    return judged(fb.system(preset), ROUNDS, PRESETS.get(preset, SERVERS), runs, looks_at)


class Quiet:
    """A source with a share of the noise, from some release on."""

    def __init__(self, noise, first, share):
        self._noise, self._first, self._share = noise, first, share

    def __call__(self, *named):
        *_, step = named
        return self._noise(*named) * (self._share if step >= self._first else 1.0)

    def __getattr__(self, name):
        real = getattr(self._noise, name)

        def covered(step, values, *rest):
            noisy = real(step, values, *rest)
            if step < self._first:
                return noisy
            less = values + self._share * (noisy - values)
            return np.round(less) if name == "cover_whole" else less

        return covered if name in ("cover", "cover_whole") else real


def quiet(monkeypatch, places, first=1, share=0.1):
    """Leave a share of the noise of parties at some places."""
    for kind in (roles.Server, buying.Buying):
        init = kind.__init__

        def made(self, seat, *rest, init=init):
            init(self, seat, *rest)
            if seat.place in places:
                self._noise = Quiet(self._noise, first, share)

        monkeypatch.setattr(kind, "__init__", made)


@sized("records", FEW_RECORDS, 24)
@AND_PUBLISHED
def test_without_a_mistake_they_hold(monkeypatch, preset, records):
    monkeypatch.setattr(sensitivity_check, "_LEAST", records)
    verdict = found(preset)
    assert holds(verdict)
    assert bool(verdict.moved) == (preset != "fclub-published")


@AND_PUBLISHED
@pytest.mark.parametrize(
    "places",
    [
        pytest.param((2, 3), id="from the third on"),
        pytest.param((3,), id="the fourth", marks=pytest.mark.slow),
    ],
)
def test_noise_by_an_index_that_wraps_is_found(monkeypatch, preset, places):
    quiet(monkeypatch, places)
    assert any(each.bare for each in found(preset, looks_at=NOISE).noise)


@EVERY
def test_noise_that_is_less_late_is_found(monkeypatch, preset):
    quiet(monkeypatch, range(4), first=9)
    assert any(each.bare for each in found(preset, 20_000, NOISE).noise)


@EVERY
def test_parties_that_refuse_nothing_are_found(monkeypatch, preset):
    monkeypatch.setattr(sensitivity_check, "_LEAST", FEW_RECORDS)
    for module in (roles, buying):
        monkeypatch.setattr(module, "require_within", lambda *_: None)
    monkeypatch.setattr(roles, "require_contexts", lambda *_: None)
    verdict = found(preset, looks_at=MOVES)
    assert verdict.outcome == "broken"
    assert any(each.too_far and "beyond" in each.looks_at for each in verdict.moved)
    assert not any(each.too_far for each in verdict.moved if "beyond" not in each.looks_at)
