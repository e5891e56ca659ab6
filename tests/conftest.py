"""Settings for all tests: fixed seeds, no clocks; and which tests one worker plays.

With ``pytest -n 2`` tests are dealt out group by group. A group is a file, or all tests that need
the same large kernels: two workers that need a kernel at once would both compile it. Groups begin
in the order of ``FIRST``, longest first, so that no worker is left with a long one at the end;
whatever follows finds most of its kernels compiled.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fedbandits",
    derandomize=True,  # the same examples on every machine
    deadline=None,  # the first call of a kernel may compile it
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fedbandits")

#: Files whose tests need the kernels of one system, beside those that are marked so one by one.
KERNELS = {
    "test_peer_drivers": "feducb_p2p",
    "test_feducb_p2p": "feducb_p2p",
    "test_peers": "feducb_p2p",
    "test_async_drivers": "fedlinucb_async",
    "test_fedlinucb_async": "fedlinucb_async",
    "test_async_misbehaviour": "fedlinucb_async",
    "test_drivers": "feducb",
    "test_feducb_simulation": "feducb",
    "test_ratings": "feducb",
    "test_fclub_drivers": "fclub",
    "test_fclub_simulation": "fclub",
    "test_fclub_mixture_drivers": "fclub",
    "test_fclub_mixture": "fclub",
    "test_pfcb_drivers": "pfcb",
    "test_pfcb_simulation": "pfcb",
    "test_samba": "samba",
}
#: The peers' kernels and FedUCB's share much, so these two do not begin side by side.
FIRST = (
    "feducb_p2p", "fclub", "feducb", "fedlinucb_async", "pfcb", "test_docs", "test_resume",
    "test_fclub_figures", "samba", "test_mutants", "test_cli", "test_ledger_kills",
    "test_procurement", "test_audit", "test_clusters", "test_samba_security",
)  # fmt: skip


def group_of(item: pytest.Item) -> str:
    """The group that a test is played in."""
    mark = item.get_closest_marker("xdist_group")
    return mark.args[0] if mark else KERNELS.get(item.path.stem, item.path.stem)


@pytest.hookimpl(tryfirst=True)  # the groups must be there when pytest-xdist looks for them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {group: number for number, group in enumerate(FIRST)}
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
    items.sort(key=lambda item: place.get(group_of(item), len(place)))
