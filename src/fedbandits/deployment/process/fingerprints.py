"""Fingerprints of sealing keys, for people to compare: the authority could have put others there.

Secrets are handed over sealed, under the sealing keys in the list of members. The authority signs
that list. If it named keys of its own for all helpers of secure sums, it would be all of them, and
nobody could tell. So each member asks those who hand secrets to it whether their keys are theirs.
"""

from __future__ import annotations

import pathlib
from typing import NamedTuple

from fedbandits.deployment.identity.identity import load_identity
from fedbandits.deployment.identity.members import spoken_fingerprint
from fedbandits.deployment.identity.names import FEDERATION, Path
from fedbandits.federation.seats import CONTROLLER, HELPER
from fedbandits.settings.federation_file import FederationFile, load_file


class Fingerprints(NamedTuple):
    """Fingerprints of sealing keys that one member says, or asks for.

    Parameters
    ----------
    own
        Its own: it tells whoever asks.
    makers
        Those of the members that hand secrets to it, by name; None for one that was not admitted
        yet.
    """

    own: str
    makers: dict[str, str | None]

    def lines(self, folder: Path) -> list[str]:
        """Write what is to be compared; ``folder`` is the party's."""
        said = [f"The fingerprint of its sealing key is {self.own}: say it to whoever asks."]
        if not self.makers:
            return said
        said.append(
            "These members hand it secrets. Call each, not through the authority, and ask whether "
            "its own party says the same:"
        )
        width = max(map(len, self.makers))
        said += [f"  {n:{width}}  {f or 'not admitted yet'}" for n, f in self.makers.items()]
        if None in self.makers.values():
            said.append(f"Later: fedbandits party fingerprints {folder}")
        return said


def fingerprints_in(party: Path) -> Fingerprints:
    """Read the fingerprints that the member of a folder says, or asks for.

    Raises IdentityError if it was not admitted yet, or its folder is damaged.
    """
    identity = load_identity(party)
    known = identity.members.current
    present = known.present
    return Fingerprints(
        spoken_fingerprint(known.members[identity.name].sealing),
        {
            maker: spoken_fingerprint(present[maker].sealing) if maker in present else None
            for maker in _makers(load_file(pathlib.Path(party) / FEDERATION), identity.name)
        },
    )


def _makers(federation: FederationFile, member: str) -> tuple[str, ...]:
    """List the members that hand one its keys of secure sums, in order; helpers get none."""
    helpers = federation.members.get(HELPER, ())
    takes = not any(member in federation.members.get(role, ()) for role in (HELPER, CONTROLLER))
    return tuple(helpers) if takes else ()
