"""Every block of code in docs/extending.md runs, and so do the examples that it names."""

from __future__ import annotations

import os
import pathlib
import re
import runpy
import subprocess
import sys
import tomllib

import matplotlib.pyplot as plt
import pytest
from typer.testing import CliRunner

import fedbandits as fb
from fedbandits.cli.main import app
from fedbandits.environments import registry as environment_registry
from fedbandits.systems import registry

ROOT = pathlib.Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
OWN = ROOT / "examples" / "own_algorithm.py"
#: Blocks by the name in their first line.
BLOCKS = dict(re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
#: What is run one after the other in one process: blocks that use others come after them.
SCRIPTS = ["coins.py", "greedy.py", "shared_greedy.py", "private_means.py", "forest.py",
           "play_coins.py", "play_greedy.py", "small_world.py"]  # fmt: skip
RUN_ALL = f"""
import importlib, sys
import fedbandits as fb
for name in {SCRIPTS}:
    importlib.import_module(name.removesuffix(".py"))
world = fb.environments.Linear(agents=2, dim=3, arms=3)
names = ["shared-greedy", "private-means", "forest"]
experiment = fb.Experiment(rounds=30, environment=world, systems=[fb.system(n) for n in names])
assert (fb.run(experiment).regret.isel(round=-1).sum("party") > 0).all()
claims = experiment.claims()
assert [round(claims[name].epsilon, 3) for name in names] == [float("inf"), 1.0, 0.0]
from fedbandits.testing import learners
for name in names:
    for check in learners.CHECKS:
        check(name)
from fedbandits.testing.worlds import SMALL_WORLDS
assert [kind.__name__ for kind in SMALL_WORLDS][-1] == "RainyFacts"
"""
PLAY_FAST_COINS = """
import numpy as np
import fast_coins
import fedbandits as fb
from fedbandits.testing.replicates import federate, simulate

environment = fast_coins.FastCoins(agents=3, coins=4)
config = fb.system("feducb-nonprivate").config
compiled, parties = (kind(config, environment, 400, 0, 0) for kind in (simulate, federate))
compiled.advance(400)
parties.advance(400)
np.testing.assert_array_equal(compiled.regret, parties.regret)
means = compiled.world.means
assert compiled.regret.mean() < 400 * float(means.max() - means.mean()) / 2, "it does not learn"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All blocks as files."""
    found = tmp_path_factory.mktemp("extending")
    for name, text in BLOCKS.items():
        (found / name).write_text(text, encoding="utf-8")
    return found


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(environment_registry, "_registered", {})
    yield
    for name in [each for each in sys.modules if each.startswith("fedbandits_module_")]:
        del sys.modules[name]


def python(folder, *arguments):
    """In a process of its own: kernels of other worlds are filed under names of their own."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    own = os.environ | {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], env=own, cwd=folder, check=False, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_block_has_a_name_and_is_played_here():
    assert len(BLOCKS) == len(re.findall(r"```(?:python|toml)\n", PAGE))
    played = {*SCRIPTS, "fast_coins.py", "coins.toml", "test_own.py", "pyproject.toml"}
    assert set(BLOCKS) == played


def test_scripts_run(folder):
    python(folder, "-W", "error::UserWarning", "-c", RUN_ALL)


def test_a_compiled_environment_from_outside_works(folder):
    python(folder, "-c", PLAY_FAST_COINS)


def test_the_configuration_is_valid(folder):
    experiment = fb.load(folder / "coins.toml")
    experiment.check()
    assert type(experiment.environment).__name__ == "Coins"


def test_contracts_are_held_by_pytest(folder):
    """All but those that compile the kernels of a system anew: they are played for other worlds."""
    some = "not seed_and_replicate and not its_stage and not regret"
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    python(folder, "-m", "pytest", *options, "-k", some, "test_own.py")


def test_entry_points_are_those_that_are_looked_for():
    groups = tomllib.loads(BLOCKS["pyproject.toml"])["project"]["entry-points"]
    assert set(groups) == {
        environment_registry.ENTRY_POINTS, registry.ENTRY_POINTS, registry.LEARNER_POINTS,
    }  # fmt: skip


def test_commands_are_there():
    commands = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in "".join(commands).splitlines():
        program, command, file, *options = line.split()
        assert program == "fedbandits"
        told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
        assert told.exit_code == 0
        assert options == ["--allow-modules"]
        assert options[0] in told.output
        assert (ROOT / file).is_file()


def test_an_algorithm_of_ones_own_is_in_one_plot_with_feducb(tmp_path, monkeypatch):
    lines = [line for line in OWN.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 30
    monkeypatch.chdir(tmp_path)
    short = OWN.read_text(encoding="utf-8").replace("rounds=2000", "rounds=100")
    (tmp_path / "own.py").write_text(short, encoding="utf-8")
    runpy.run_path(str(tmp_path / "own.py"))
    plot = tmp_path / "runs" / "own_algorithm" / "plots" / "regret.png"
    assert plt.imread(plot).std() > 0.05
    summary = (tmp_path / "runs" / "own_algorithm" / "summary.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in summary[1:]] == [
        "thompson", "feducb-nonprivate", "feducb"
    ]  # fmt: skip
