"""A small federation on this machine: an authority, parties that it has admitted, a broker."""

from __future__ import annotations

import pathlib
import shutil
import socket

from fedbandits.deployment.delivery.broker import Broker, make_broker, update_broker
from fedbandits.deployment.identity.authority import Admitted, admit, init_authority
from fedbandits.deployment.identity.enrolment import create_party, install_admission
from fedbandits.deployment.identity.identity import Identity, load_identity
from fedbandits.settings.federation import Federation, load_federation

TEXT = """
name = "clinics"
rounds = 100
[system]
preset = "feducb"
epsilon = {epsilon}
delta = 1e-5
[facts]
parties = 2
dimension = 4
arms = 5
[members]
agent = ["north", "south"]
controller = ["hub"]
[clock]
kind = "rounds"
[transport]
servers = ["tls://127.0.0.1:{port}"]
"""
EVERYBODY = "north", "south", "hub"


def free_port() -> int:
    """A port of the loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class OneMachine:
    """Folders of an authority, of parties, and of a broker.

    Parameters
    ----------
    folder
        Where they are.
    epsilon
        A key of the terms.
    """

    def __init__(self, folder: pathlib.Path, epsilon: float = 1.0) -> None:
        self.folder, self.port = folder, free_port()
        folder.mkdir(exist_ok=True)
        self.file = folder / "clinics.toml"
        self.file.write_text(TEXT.format(epsilon=epsilon, port=self.port))
        self.authority = init_authority(self.file, folder / "authority")

    def copy(self, folder: pathlib.Path) -> OneMachine:
        """The same folders elsewhere, to change and to damage."""
        other = object.__new__(OneMachine)
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        other.folder, other.port = folder, self.port
        other.file, other.authority = folder / "clinics.toml", folder / "authority"
        return other

    @property
    def federation(self) -> Federation:
        return load_federation(self.file)

    def party(self, name: str) -> pathlib.Path:
        """A party's folder."""
        return self.folder / "parties" / name

    def create(self, name: str) -> pathlib.Path:
        """Make a party; its request."""
        return create_party(self.file, name, self.folder / "parties")

    def admit(self, name: str, days: float = 100.0, replace: bool = False) -> Admitted:
        """Admit a party by its request, and install that."""
        admitted = admit(self.authority, self.party(name) / "request.json", days, replace)
        install_admission(self.party(name), admitted.admission)
        return admitted

    def admit_all(self) -> OneMachine:
        """Make and admit everybody."""
        for name in EVERYBODY:
            self.create(name)
            self.admit(name)
        return self

    def identity(self, name: str) -> Identity:
        """A party's identity, with the newest list of members."""
        found = load_identity(self.party(name))
        found.members.offer((self.authority / "members.json").read_bytes())
        return found

    def broker(self) -> Broker:
        """A broker that was not started yet."""
        return Broker(make_broker(self.authority, self.folder / "broker"))

    def update(self, broker: Broker) -> None:
        """Tell a broker who is admitted now."""
        update_broker(self.authority, self.folder / "broker")
        broker.reload()
