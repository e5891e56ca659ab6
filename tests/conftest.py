"""Settings for all tests: fixed seeds, no clocks."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fedbandits",
    derandomize=True,  # the same examples on every machine
    deadline=None,  # the first call of a kernel may compile it
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fedbandits")
