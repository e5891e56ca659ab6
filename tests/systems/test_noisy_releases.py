"""Whole parties of every kind: what they make of their draws is compared number by number."""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.privacy import noise_check
from fedbandits.privacy.noise_check import check_noise
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.systems import find_preset
from fedbandits.systems.agents import audit as agents_audit
from fedbandits.systems.fclub import audit as fclub_audit
from fedbandits.systems.pfcb import audit as pfcb_audit
from fedbandits.testing.worlds import small_world

PRESETS = {
    "feducb": {"schedule": "every(4)"},
    "feducb-p2p": {"schedule": "every(4)"},
    "ldp-silo": {"schedule": "every(4)", "privatizer": "tree"},
    "pfcb": {"schedule": "growing(1.2)"},
    "pfcb-interactive": {"schedule": "growing(1.2)"},
    "fclub": {"schedule": "growing(1.2, 8)"},
    "fclub-clusters": {"schedule": "growing(1.2, 8)"},
}


@pytest.fixture(params=sorted(PRESETS))
def released(request, monkeypatch):
    """What whole parties of a preset release with the noise of a deployment."""
    for room in (agents_audit, pfcb_audit, fclub_audit):
        monkeypatch.setattr(room, "_MOST_RELEASES", 6)
    found = find_preset(request.param)
    world = small_world(found)
    plan = fb.system(request.param, **PRESETS[request.param]).plan(world, 60)
    (secure,) = (n for n in found.noise_checks(plan, world) if "secure" in n.looks_at)
    return secure


def check(numbers):
    return check_noise(numbers, scale=0.0)


def adding(monkeypatch, change):
    """Let parties add what ``change`` makes of the draws that a source gives them."""
    real = noise_check.KeptSecure.cover

    def cover(self, step, values):
        noise = real(self, step, values) - values
        return values + change(self, step, noise)

    monkeypatch.setattr(noise_check.KeptSecure, "cover", cover)


def test_parties_as_they_are(released):
    assert released.covariance is not None
    found = check(released)
    assert found.right, found.named
    assert found.runs == 1


@pytest.mark.parametrize("factor", [0.9, 0.99, 1.01])
def test_a_little_less_or_more_noise_is_found(released, monkeypatch, factor):
    adding(monkeypatch, lambda source, step, noise: factor * noise)
    found = check(released)
    # A draw may be so small that 1% of it is rounding: one in 10,000.
    assert (found.missing, found.excessive)[factor > 1.0] > 0.9 * found.numbers
    assert found.named[0].endswith(f"{factor:g} × planned")


def test_one_number_without_noise_is_found(released, monkeypatch):
    def change(source, step, noise):
        noise = noise.copy()
        noise.reshape(-1)[-1] *= step != 2
        return noise

    adding(monkeypatch, change)
    found = check(released)
    assert found.bare
    assert 0 < found.missing + found.foreign < found.numbers


def test_noise_that_two_releases_have_in_common_is_found(released, monkeypatch):
    def change(source, step, noise):
        return source.given[(1,)][0].reshape(noise.shape) if step == 2 else noise

    adding(monkeypatch, change)
    assert check(released).bare


def test_a_draw_that_is_asked_for_twice_is_found(released, monkeypatch):
    def change(source, step, noise):
        source._keep((step,), noise)
        return noise

    adding(monkeypatch, change)
    assert check(released).again > 0


def test_a_source_that_gives_draws_once_more_is_found(released, monkeypatch):
    """The second release has the draws of a first one: its own, or another party's."""
    real, first = SecureNoise.cover, []

    def cover(self, step, values):
        first.append(real(self, step, values) - values)
        return values + (first[0] if step == 2 else first[-1])

    monkeypatch.setattr(SecureNoise, "cover", cover)
    assert check(released).again > 0


def test_a_source_that_is_a_tenth_too_quiet_is_found(released, monkeypatch):
    real = SecureNoise.cover

    def cover(self, step, values):
        return values + 0.9 * (real(self, step, values) - values)

    monkeypatch.setattr(SecureNoise, "cover", cover)
    found = check(released)
    assert (found.missing, found.foreign) == (0, 0)
    assert found.uneven
    assert np.isclose(found.shows, 0.94, atol=0.02)
