"""Definitions common to kernels and to the part that needs Numba.

They are the number of lanes, and listeners to compilations, by which programs explain why a first
run takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Number of numbers side by side: so many float32 fill 512 bits, the widest registers.
LANES = 16
_listeners: list[Callable[[str], None]] = []


@contextmanager
def compilations(listener: Callable[[str], None]) -> Iterator[None]:
    """Call ``listener`` with the module and name of every kernel that is compiled meanwhile.

    The call comes just before a kernel is compiled for new types, not for a cached kernel, in the
    thread that compiles; a kernel's name comes before those of the kernels that it calls. Other
    threads wait for Numba meanwhile, so the listener must be quick and must not call a kernel.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def announce(name: str) -> None:
    """Tell all listeners that a kernel is about to be compiled."""
    for listener in tuple(_listeners):
        listener(name)
