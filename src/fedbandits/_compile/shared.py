"""Knowledge that kernels and the part that needs Numba share.

It is how wide numbers lie side by side, and who is told that a kernel is being compiled: a first
run takes longer for this reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: How many numbers lie side by side: so many float32 fill 512 bits, the widest registers there are.
LANES = 16
_listeners: list[Callable[[str], None]] = []


@contextmanager
def compilations(listener: Callable[[str], None]) -> Iterator[None]:
    """Call ``listener`` with the name of every kernel that is compiled meanwhile, and its module's.

    It is called just before a kernel is compiled for new types, not where it is found in the cache,
    in the thread that compiles; a kernel's name comes before those of the kernels that it calls.
    Other threads wait for Numba meanwhile, so it must be quick and must not call a kernel.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def announce(name: str) -> None:
    """Say that a kernel is about to be compiled."""
    for listener in tuple(_listeners):
        listener(name)
