"""Code that a configuration names: run, recorded, copied, and refused where it has changed."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import fedbandits as fb
from fedbandits.cli.main import app
from fedbandits.environments import registry as environment_registry
from fedbandits.errors import CheckpointError, ConfigError, OutputExistsError
from fedbandits.systems import registry
from tests.own_things import COINS, CONFIG


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(environment_registry, "_registered", {})
    yield
    for name in [each for each in sys.modules if each.startswith("fedbandits_module_")]:
        del sys.modules[name]


@pytest.fixture
def config(tmp_path):
    (tmp_path / "coins.py").write_text(COINS, encoding="utf-8")
    (tmp_path / "coins.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path / "coins.toml"


def test_a_module_beside_the_file_is_run_and_its_copy_runs_again(config, tmp_path):
    result = fb.run(config, out=tmp_path / "out")
    assert list(result.system.values) == ["tosser", "feducb"]
    assert (result.regret.isel(round=-1) > 0).all()
    assert (tmp_path / "out" / "coins.py").read_text(encoding="utf-8") == COINS
    again = fb.run(tmp_path / "out" / "config.toml")
    assert again.regret.equals(result.regret)


def test_systems_meet_the_same_coins(config):
    """The best coin is the same for both: rewards of a replicate cannot exceed it for long."""
    first, second = (fb.run(config).reward.isel(round=-1, replicate=0) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_command_runs_it_and_lists_nothing_of_it(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    done = CliRunner().invoke(app, ["run", str(config), "--out", str(tmp_path / "cli")])
    assert done.exit_code == 0, done.output
    assert "tosser" in done.output


def test_a_module_that_has_changed_is_refused(config, tmp_path):
    fb.run(config, out=tmp_path / "out")
    (tmp_path / "out" / "coins.py").write_text(COINS + "\nMORE = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"module_digests.coins.py: the module has changed"):
        fb.load(tmp_path / "out" / "config.toml")
    (tmp_path / "coins.py").write_text(COINS.replace("+ 1)", "+ 2)"), encoding="utf-8")
    with pytest.raises(OutputExistsError, match=r"differs in module_digests\.coins\.py"):
        fb.run(config, out=tmp_path / "out")


def test_resume_refuses_another_module(config, tmp_path):
    from fedbandits.experiments.checkpoint import CheckpointFolder
    from fedbandits.experiments.result import ReplicateTrace

    experiment = fb.load(config)
    folder = CheckpointFolder(tmp_path / "out", experiment)
    folder.begin(resume=False)
    folder.save_finished(ReplicateTrace.empty(0, 0, np.array([300]), 3))
    (tmp_path / "coins.py").write_text(COINS + "\n", encoding="utf-8")
    other = CheckpointFolder(tmp_path / "out", fb.load(config))
    with pytest.raises(CheckpointError, match="of another configuration"):
        other.finished(0, 0, np.array([300]))


def test_resume_knows_the_code_of_a_world_that_was_registered_by_a_call(tmp_path):
    from fedbandits.experiments.checkpoint import CheckpointFolder
    from tests.environments.test_python import Disc

    fb.register(Disc)
    systems = (fb.system("feducb"),)
    experiment = fb.Experiment(rounds=5, environment=Disc(), systems=systems)
    assert len(CheckpointFolder(tmp_path / "out", experiment)._own.environment) == 64
    built_in = fb.Experiment(rounds=5, environment=fb.environments.Linear(), systems=systems)
    assert CheckpointFolder(tmp_path / "out", built_in)._own.environment == ""


def test_an_edited_module_replaces_what_it_registered(config, tmp_path):
    """As in a notebook: the cell that loads the file is run again."""
    before = fb.load(config)
    (tmp_path / "coins.py").write_text(
        COINS.replace("coins: int = 5", "coins: int = 7"), encoding="utf-8"
    )
    assert fb.load(config).environment.arm_count == 7
    assert before.environment.arm_count == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere_to_be_found", "module coins.py, line 1: ModuleNotFoundError"),
        ("x = 1\n1 / 0", "module coins.py, line 2: ZeroDivisionError"),
        ("def f(:", "module coins.py, line 1: SyntaxError"),
        ("", "module coins.py: registers nothing"),
        (COINS.replace('tag="coins"', 'tag="tokens"'), "environment.kind: given 'coins'"),
        (COINS.replace('tag="coins"', 'tag="linear"'), "module coins.py: environment 'linear'"),
        (COINS.replace("class Tosser(fb.Learner)", 'class Tosser(fb.Learner, name="feducb")'),
         "module coins.py: system 'feducb' is registered already"),
    ],
)  # fmt: skip
def test_a_module_that_fails_is_named_with_its_line(config, tmp_path, text, message):
    (tmp_path / "coins.py").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refusal:
        fb.load(config)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"missing.py"', "cannot be read"),
        ('"coins.toml"', "must be a .py file"),
        ('"."', "has an __init__.py"),
        ("3", "allowed: the path of a Python file"),
        ('["coins.py", "coins.py"]', "two modules have the same name"),
        ('"my-coins.py"', "must be a name in Python"),
    ],
)
def test_a_module_that_is_none_is_refused(config, value, message):
    with pytest.raises(ConfigError, match=r"^module") as refusal:
        fb.load(config, [f"module={value}"])
    assert message in str(refusal.value)


def test_a_package_is_a_module_too(config, tmp_path):
    package = tmp_path / "coins"
    package.mkdir()
    (package / "__init__.py").write_text("from . import things\n", encoding="utf-8")
    (package / "things.py").write_text(COINS, encoding="utf-8")
    experiment = fb.load(config, ['module="coins"'])
    assert sorted(experiment.modules[0].files) == ["coins/__init__.py", "coins/things.py"]
    fb.run(experiment, out=tmp_path / "out")
    assert (tmp_path / "out" / "coins" / "things.py").is_file()
    before = experiment.modules[0].digest
    (package / "things.py").write_text(COINS + "# another\n", encoding="utf-8")
    assert fb.load(config, ['module="coins"']).modules[0].digest != before


def test_a_file_called_as_a_library_hides_nothing(config, tmp_path):
    (tmp_path / "json.py").write_text(COINS, encoding="utf-8")
    fb.load(config, ['module="json.py"'])
    assert sys.modules["json"] is json


def test_terms_of_a_federation_name_no_code():
    from fedbandits.settings.federation import read_federation

    with pytest.raises(ConfigError, match="module: the terms of a federation cannot name code"):
        read_federation('name = "a"\nmodule = "coins.py"\n')
