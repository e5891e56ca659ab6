"""How much memory this process may still take."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

_PROC, _CGROUPS = pathlib.Path("/proc"), pathlib.Path("/sys/fs/cgroup")


def available_memory(
    proc: pathlib.Path = _PROC, cgroups: pathlib.Path = _CGROUPS
) -> tuple[int, str] | None:
    """Bytes that can be had, and what bounds them; None where that cannot be told.

    The least of what the machine has left and what the control groups of this process have left;
    a container is one. Pages that hold files can be had: the kernel gives them up.

    Parameters
    ----------
    proc, cgroups
        Where the kernel tells of itself.
    """
    machine = (
        (int(line.split()[1]) * 1024, "available on this machine")
        for line in _lines(proc / "meminfo")
        if line.startswith("MemAvailable:")
    )
    return min([*_control_groups(proc, cgroups), *machine], default=None)


def _control_groups(proc: pathlib.Path, cgroups: pathlib.Path) -> Iterator[tuple[int, str]]:
    """What is left in this process's groups and those around them, of either version."""
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        old = "memory" in controllers.split(",")
        if controllers and not old:
            continue
        root = cgroups / "memory" if old else cgroups
        group = root / path.lstrip("/")
        # Inside a container the path may be the outer one: then its own group lies at the root.
        for folder in (group, *(p for p in group.parents if p.is_relative_to(root))):
            left = _left(folder, *_FILES[old])
            if left is not None:
                yield left, "left to this container or control group"


#: Names of a group's limit, what it uses, and its pages of files that were not used of late.
_FILES = {
    False: ("memory.max", "memory.current", "inactive_file"),
    True: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def _left(folder: pathlib.Path, limit: str, used: str, reclaimable: str) -> int | None:
    values = [next(iter(_lines(folder / name)), "") for name in (limit, used)]
    if not all(value.isdigit() for value in values):  # no such group, or "max"
        return None
    stat = dict(line.partition(" ")[::2] for line in _lines(folder / "memory.stat"))
    return max(0, int(values[0]) - int(values[1]) + int(stat.get(reclaimable, "0")))


def _lines(file: pathlib.Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
