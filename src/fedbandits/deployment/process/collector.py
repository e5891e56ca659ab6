"""The garbage collector of a process that answers requests for months."""

from __future__ import annotations

import gc

#: New objects after which the newest are looked at, and how many such looks the older ones wait
#: for. A request makes some fifty objects, none of which is garbage that only the collector finds.
_NEW, _LOOKS = 20_000, 20


def look_at_what_is_new() -> None:
    """Let the collector pass over what was made so far, which stays, and look rarely.

    Compiled code has a million objects: one look at all of them takes longer than a request may.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW, _LOOKS, _LOOKS)
