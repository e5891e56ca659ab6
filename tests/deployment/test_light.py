"""Commands that only look or write a file load little: nobody waits a second for a line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fedbandits.deployment.hosting.events import Kind
from fedbandits.deployment.identity.authority import admit, init_authority
from fedbandits.deployment.identity.enrolment import create_party
from fedbandits.deployment.process.examples import example
from fedbandits.deployment.process.folder import write_settings
from fedbandits.deployment.process.store_file import RECEIVE
from fedbandits.deployment.storage.store import Store
from fedbandits.settings.federation import load_federation

#: What takes long to import, by what needs it: runs and reports, stores, brokers, doors, SAMBA.
RUNS = {"sklearn", "pandas", "xarray", "matplotlib", "h5py", "joblib"}
PARTIES = {"sqlalchemy", "nats", "prometheus_client", "uvicorn", "uvloop", "gmpy2", "networkx"}
#: What compiles; a plan is made without.
COMPILERS = {"numba", "llvmlite"}
EVERYTHING = RUNS | PARTIES | COMPILERS | {"scipy", "numpy", "httpx", "cryptography"}

SCRIPT = """
import sys
from fedbandits.cli import main
sys.argv = ["fedbandits", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert end.code in (None, 0, 3), end.code  # 3: that party does not run
print(*sys.modules, file=sys.stderr)
"""


def loaded(*command):
    """Names of all modules that a command has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, command)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A federation's file, and the folder of one of its parties."""
    folder = tmp_path_factory.mktemp("light")
    (folder / "f.toml").write_text(example("feducb", None, 4222))
    create_party(folder / "f.toml", "north", folder)
    write_settings(folder / "north", load_federation(folder / "f.toml"), "north", 8420)
    return folder


@pytest.mark.parametrize("command", ["--version", "--help", "party --help", "federation --help"])
def test_help_loads_nothing(command):
    assert not loaded(*command.split()) & EVERYTHING


def test_a_look_at_a_party_loads_no_party_and_makes_no_plan(folder):
    heavy = EVERYTHING - {"httpx", "cryptography"}
    assert not loaded("party", "status", folder / "north") & heavy
    assert not loaded("federation", "status", folder, "--json") & heavy
    assert not loaded("party", "token", folder / "north") & (heavy | {"httpx"})


def test_an_admission_is_installed_without_a_plan(folder, tmp_path):
    office = init_authority(folder / "f.toml", tmp_path / "authority")
    admission = admit(office, folder / "north" / "request.json").admission
    done = loaded("party", "admit", folder / "north", admission)
    assert not done & (EVERYTHING - {"cryptography"})


def test_a_store_is_read_and_copied_without_a_plan(folder, tmp_path):
    federation = load_federation(folder / "f.toml")
    store = folder / "north" / "store.db"
    with Store.open(store, federation.name, "north", federation.terms.digest):
        pass
    copied = loaded("party", "backup", folder / "north", tmp_path / "copy.db")
    assert (tmp_path / "copy.db").exists()
    assert not copied & (EVERYTHING - {"cryptography"})
    assert not loaded("party", "inspect", folder / "north") & (EVERYTHING - {"cryptography"})
    assert RECEIVE == Kind.RECEIVE


def test_a_plan_is_made_without_a_compiler(folder, tmp_path):
    made = loaded("party", "create", "south", "--federation", folder / "f.toml", "--out", tmp_path)
    assert not made & (RUNS | PARTIES | COMPILERS | {"httpx"})
    assert (tmp_path / "south" / "party.toml").exists()
    loads = loaded("federation", "init", folder / "f.toml", "--out", tmp_path / "made")
    request = tmp_path / "south" / "request.json"
    loads |= loaded("federation", "admit", tmp_path / "made" / "authority", request)
    assert not loads & (RUNS | COMPILERS | {"httpx"})
