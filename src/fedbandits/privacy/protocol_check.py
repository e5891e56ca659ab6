"""Exact checks of a protocol against its claim: each check is played once, without an attack.

A claim rests on more than noise: on masks that hide single releases, on sums of never too few
parties, on a limit of counted visits, on draws that no other process makes. Each either holds or
does not.

Two checks are in this module. A person's visits must count up to the number that is charged, and no
further. And noise must be unpredictable. Two runs in one process differ even with a generator that
was seeded once. So noise is drawn in new processes that begin alike, and in forked processes that
begin with all memory of their parent. Each process has a second source, as for another party, and a
copy of the first source. No number may come twice: the chance is 2⁻³⁰ for all numbers together.
"""

from __future__ import annotations

import copy
import functools
import itertools
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import BackendError
from fedbandits.privacy.auditing import Tick
from fedbandits.privacy.secure_noise import SecureNoise

#: Visits that are charged for and played, at most, and how many more there are.
MOST_VISITS, MORE_VISITS = 60, 3
#: Records are rounded to a grid.
_ROUNDED = 1e-6


class ProtocolFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check of a protocol.

    Parameters
    ----------
    looks_at
        Description of the compared behaviour and claim.
    found
        The result, in words.
    wrong
        Differences from the claim, a clause each.
    """

    looks_at: str
    found: str
    wrong: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """True if nothing differs from the claim."""
        return not self.wrong


class ProtocolCheck(NamedTuple):
    """A check of a protocol.

    Parameters
    ----------
    looks_at
        Description of the compared behaviour and claim.
    play
        A function that plays the check; returns ``found`` and ``wrong`` of
        :class:`ProtocolFinding`.
    """

    looks_at: str
    play: Callable[[], tuple[str, tuple[str, ...]]]


def check_protocol(check: ProtocolCheck, tick: Tick) -> ProtocolFinding:
    """Play a check once."""
    found, wrong = check.play()
    tick(1.0)
    return ProtocolFinding(looks_at=check.looks_at, found=found, wrong=wrong)


# ---------------------------------------------------------------- noise of processes


#: Numbers of new processes, of forks of each process, and of draws of each kind.
_PROCESSES, _FORKS, _DRAWS = 2, 2, 4
#: Deviation of the drawn whole noise.
_DEVIATION = 2.0**40
_SECONDS = 60.0
_PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def process_check() -> ProtocolCheck:
    """Return a check that processes share no noise, and draw no number twice."""
    return ProtocolCheck("noise of new and of forked processes, against one another", _compared)


@functools.cache  # the noise does not depend on the system
def _compared() -> tuple[str, tuple[str, ...]]:
    drawn = [source for _ in range(_PROCESSES) for source in _of_new_process()]
    wrong = [f"{name} draws a number twice" for name, numbers in drawn if len(numbers) < 2 * _DRAWS]
    wrong += [
        f"{name} and {other_name} draw the same noise"
        for (name, numbers), (other_name, other_numbers) in itertools.combinations(drawn, 2)
        if numbers & other_numbers
    ]
    return f"{len(drawn)} sources of processes draw no number twice", tuple(dict.fromkeys(wrong))


def _of_new_process() -> list[tuple[str, frozenset[str]]]:
    """Return the draws of a new process and of its forks, with the names of their sources."""
    paths = [str(_PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-c", f"from {__name__} import print_draws; print_draws()"]
    try:
        ended = subprocess.run(  # noqa: S603
            command, env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True, text=True, check=True, timeout=_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        why = getattr(error, "stderr", None) or error
        raise BackendError(f"audit: no new process could draw noise: {why}") from None
    lines = [line.split(": ") for line in ended.stdout.splitlines()]
    return [(name, frozenset(numbers.split())) for name, numbers in lines]


def print_draws() -> None:
    """Print the draws of this process, of its forks, of a copy and of a second source."""
    noise = SecureNoise()
    noise.draw_ahead(_DRAWS)
    noise.draw_whole_ahead(np.full(_DRAWS, _DEVIATION))
    for _ in range(_FORKS if hasattr(os, "fork") else 0):
        child = os.fork()
        if child == 0:
            _print_draws("a forked process", noise)
            os._exit(0)
        os.waitpid(child, 0)
    copied = copy.deepcopy(noise)
    _print_draws("a new process", noise)
    _print_draws("a copy of its source", copied)
    _print_draws("another source of it", SecureNoise())


def _print_draws(source: str, noise: SecureNoise) -> None:
    nothing = np.zeros(_DRAWS)
    drawn = *noise.cover(1, nothing), *noise.cover_whole(1, nothing, np.full(_DRAWS, _DEVIATION))
    print(f"{source}: {' '.join(float(number).hex() for number in drawn)}", flush=True)


# ---------------------------------------------------------------- visits of a person


class Visited(NamedTuple):
    """A party to which one person comes again and again.

    Parameters
    ----------
    party
        The party.
    released
        Returns the sum that the party releases, without noise, (size,).
    comes
        Lets the person come, from the number of the visit, from 1, and returns the record of the
        visit, (size,).
    """

    party: Any
    released: Callable[[], Floats]
    comes: Callable[[int], Floats]


def visits_check(who: str, most: int, begin: Callable[[], Visited]) -> ProtocolCheck:
    """Return a check that the first ``most`` visits of a person count, and no more.

    The person comes more often than is charged for, one visit after the other. Each of the first k
    visits must move what is released by its own record, and no later visit by anything: also not
    once the party has gone on from its saved state. ``who`` is the party in words; ``begin`` makes
    the party.
    """
    looks_at = f"a person who comes {most + MORE_VISITS} times to {who}, of which {most} count"
    return ProtocolCheck(looks_at, lambda: _counted(most, begin()))


def _counted(most: int, visited: Visited) -> tuple[str, tuple[str, ...]]:
    moved, wrong = list[bool](), list[str]()
    for visit in range(1, most + MORE_VISITS + 1):
        if visit == most + MORE_VISITS:
            visited.party.load(visited.party.dump())  # visits that counted are kept
        before = visited.released().copy()
        record = visited.comes(visit)
        change = visited.released() - before
        moved.append(bool(change.any()))
        if moved[-1] and np.abs(change - record).max() > _ROUNDED * np.abs(record).max():
            wrong.append(f"visit {visit} moves what is released by more than its record")
    if moved != [visit <= most for visit in range(1, len(moved) + 1)]:
        wrong.append(f"{sum(moved)} of {len(moved)} visits count, {most} are charged for")
    return f"{sum(moved)} of {len(moved)} visits of a person count", tuple(wrong)
