"""Whether the machine has been restarted since a party's store was written.

Where messages set the pace, commits do not wait for the disk, but for pulls: a process that is
killed loses nothing, a machine that loses power may lose the newest ones. What a party would send
then could have other contents than what it had sent before; so it takes no further part.
"""

from __future__ import annotations

import pathlib
import uuid

from fedbandits.deployment.hosting.writing import Batch
from fedbandits.errors import StaleStoreError

_BOOT = "boot"
_FILE = pathlib.Path("/proc/sys/kernel/random/boot_id")


def machine_boot() -> int:
    """What names the time since the machine was started; 0 where that cannot be told."""
    try:
        return uuid.UUID(_FILE.read_text(encoding="ascii").strip()).int
    except (OSError, ValueError):
        return 0


def require_same_boot(batch: Batch, member: str) -> None:
    """Note under which start of the machine a party runs; refuse another one in mid-run.

    Raises
    ------
    StaleStoreError
        If the machine was restarted while the party took part in a run.
    """
    before, now = batch.store.number(batch.connection, _BOOT), machine_boot()
    hands = batch.hands
    under_way = hands is not None and (
        hands.party.awaited is not None
        or hands.party.next_end is not None
        or hands.party.round_to_act is not None
    )
    if before and now and before != now and under_way:
        raise StaleStoreError(
            f"{member}: the machine was restarted in mid-run, and its newest commits may be lost: "
            "this run ends; order a new one"
        )
    if before != now:
        batch.store.set_number(batch.connection, _BOOT, now)
