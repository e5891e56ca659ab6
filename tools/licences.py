"""The licence of everything that fedbandits needs, and none of the GPL at run time.

``make licences`` lists the dependencies in pyproject.toml, and theirs, as they are installed here.
It fails if one that is needed at run time is under the GPL or the AGPL, states no licence that is
known here, or is not installed. Licences that ask for something back when the library itself is
changed, such as the LGPL, are allowed, and named.

A package says in its metadata which licence it is under; that is taken at its word.
"""

from __future__ import annotations

import enum
import pathlib
import re
import sys
import tomllib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from email.message import Message
from importlib import metadata
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).resolve().parents[1]
OWN = "fedbandits"
#: Extras that nobody needs who runs fedbandits; all others count as run time.
DEVELOPMENT = ("test", "docs", "package", "bench")


class Kind(enum.IntEnum):
    """What a licence asks of those who distribute a program with the library; the least first."""

    PERMISSIVE = 0
    LIBRARY = 1
    UNKNOWN = 2
    PROGRAM = 3


#: The first that is found in a licence's name decides: "LGPL" and "AGPL" have "GPL" in them.
_NAMES = (
    (r"AGPL|Affero|SSPL|Server Side Public", Kind.PROGRAM),
    (r"LGPL|Lesser General|Library General", Kind.LIBRARY),
    (r"GPL|General Public|EUPL", Kind.PROGRAM),
    (r"MPL|Mozilla|EPL|Eclipse", Kind.LIBRARY),
    (
        r"Apache|BSD|\bMIT|\bISC\b|PSF|Python Software|Python-2|HPND|zlib|Unlicense|CC0|"
        r"Public Domain|PostgreSQL|BSL-1|Boost|Historical Permission|OpenSSL|NCSA",
        Kind.PERMISSIVE,
    ),
)
#: With one of these a program may use the library under any licence.
_EXCEPTION = re.compile(r"\s+WITH\s+(GCC-exception|Classpath-exception|LLVM-exception)\S*")
#: A licence's name fits into a line; some packages put the whole text into that field.
_LONGEST_NAME = 200


class Licensed(NamedTuple):
    """One package that is needed.

    Parameters
    ----------
    name, version
        The package; no version if it is not installed here.
    licence
        What it says of its licence.
    kind
        What that asks for.
    wanted_by
        The extras that need it; an empty name is fedbandits itself.
    """

    name: str
    version: str
    licence: str
    kind: Kind
    wanted_by: tuple[str, ...]

    @property
    def at_run_time(self) -> bool:
        """Whether a user needs it, not only who works on fedbandits."""
        return any(extra not in DEVELOPMENT for extra in self.wanted_by)

    @property
    def refused(self) -> bool:
        """Whether fedbandits must not need it at run time."""
        return self.at_run_time and self.kind >= Kind.UNKNOWN


def kind_of(licence: str) -> Kind:
    """What a licence asks for, from its name or from an SPDX expression of names.

    Of several that all hold (``AND``) the one counts that asks for most; of several to choose from
    (``OR``) the one that asks for least.
    """
    text = licence.strip()
    while text.startswith("(") and _closes(text) == len(text) - 1:
        text = text[1:-1].strip()
    for word, choose in ((" OR ", min), (" AND ", max)):
        parts = _split(text, word)
        if len(parts) > 1:
            return choose(kind_of(part) for part in parts)
    exempt, found = _EXCEPTION.subn("", text)
    named = next((kind for name, kind in _NAMES if re.search(name, exempt, re.I)), Kind.UNKNOWN)
    return min(named, Kind.LIBRARY) if found and named is not Kind.UNKNOWN else named


def _closes(text: str) -> int:
    """Where the parenthesis is closed that the text begins with."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    return -1


def _split(text: str, word: str) -> list[str]:
    """The parts between a word, where it stands in no parentheses."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and text.startswith(word, place):
            parts.append(text[begin:place])
            begin = place + len(word)
    return [*parts, text[begin:]]


def stated_licence(about: Message | metadata.PackageMetadata) -> str:
    """What a package's metadata say: an expression, else a short name, else its classifiers."""
    expression, plain = (
        str(about[name]).strip() if name in about else ""
        for name in ("License-Expression", "License")
    )
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or []
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if expression:
        return expression
    if plain and "\n" not in plain and len(plain) < _LONGEST_NAME:
        known = kind_of(plain) is not Kind.UNKNOWN
        return plain if known or not classifiers else " AND ".join(classifiers)
    return " AND ".join(classifiers) or plain.partition("\n")[0][:_LONGEST_NAME]


def wanted(project: Mapping[str, Any]) -> Iterator[tuple[str, Requirement]]:
    """All direct requirements of the project, with the extra that asks for each."""
    for extra, lines in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        for line in lines:
            requirement = Requirement(line)
            if canonicalize_name(requirement.name) != OWN:  # an extra that has others in it
                yield extra, requirement


def needed(wanted: Iterable[tuple[str, Requirement]]) -> dict[str, set[str]]:
    """Names of all packages that are needed here, with the extras that need them."""
    found: dict[str, set[str]] = {}
    seen: set[tuple[str, str, str]] = set()
    waiting = deque((extra, requirement, "") for extra, requirement in wanted)
    while waiting:
        extra, requirement, inner = waiting.popleft()
        if requirement.marker and not requirement.marker.evaluate({"extra": inner}):
            continue
        name = canonicalize_name(requirement.name)
        found.setdefault(name, set()).add(extra)
        for further in ("", *sorted(requirement.extras)):
            if (extra, name, further) not in seen:
                seen.add((extra, name, further))
                lines = _requirements_of(name)
                waiting.extend((extra, Requirement(line), further) for line in lines)
    return found


def _requirements_of(name: str) -> list[str]:
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


def look_up(name: str, wanted_by: Iterable[str]) -> Licensed:
    """A package as it is installed here."""
    extras = tuple(sorted(wanted_by))
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return Licensed(name, "", "not installed here", Kind.UNKNOWN, extras)
    licence = stated_licence(about)
    return Licensed(name, about["Version"], licence or "none stated", kind_of(licence), extras)


def main() -> int:
    """Print the list; 1 if something on it is refused."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = [look_up(name, extras) for name, extras in sorted(needed(wanted(project)).items())]
    for title, chosen in (
        ("Needed at run time", [each for each in packages if each.at_run_time]),
        ("Needed for development alone", [each for each in packages if not each.at_run_time]),
    ):
        print(f"\n{title}\n")
        for each in chosen:
            extras = ", ".join(extra or OWN for extra in each.wanted_by)
            print(f"{each.name:26} {each.version:14} {each.licence[:70]:70}  {extras}")
    libraries = [each.name for each in packages if each.at_run_time and each.kind is Kind.LIBRARY]
    print(f"\nUnder the LGPL, MPL or with an exception, at run time: {', '.join(libraries)}")
    refused = [each for each in packages if each.refused]
    for each in refused:
        print(f"refused at run time: {each.name}: {each.licence}", file=sys.stderr)
    if not refused:
        print("No GPL at run time.")
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
