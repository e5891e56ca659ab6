"""Code that a configuration names: run, recorded, copied, and refused where it has changed."""

from __future__ import annotations

import json
import os
import pathlib
import py_compile
import re
import sys

import numpy as np
import pytest
from sklearn.linear_model import Lasso, Ridge
from typer.testing import CliRunner

import fedbandits as fb
from fedbandits.cli.main import app
from fedbandits.environments import registry as environment_registry
from fedbandits.errors import CheckpointError, ConfigError, OutputExistsError
from fedbandits.experiments import files
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
    asked = ["run", str(config), "--out", str(tmp_path / "cli"), "--allow-modules"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "tosser" in done.output


@pytest.mark.parametrize("command", ["run", "privacy", "audit", "run --sweep rounds=10,20"])
def test_no_command_runs_code_of_a_file_that_it_was_not_allowed_to(
    config, tmp_path, monkeypatch, command
):
    """The file, and a run's folder, may be somebody else's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coins.py").write_text("open('ran', 'w')\n" + COINS, encoding="utf-8")
    name, *more = command.split()
    done = CliRunner().invoke(app, [name, str(config), *more])
    assert isinstance(done.exception, ConfigError)
    assert "names 'coins.py', whose code would run with your rights" in str(done.exception)
    assert "--allow-modules" in str(done.exception)
    with pytest.raises(ConfigError, match="allow-modules"):
        fb.load(config, allow_modules=False)
    assert not (tmp_path / "ran").exists()


@pytest.mark.pictures
def test_a_report_is_written_again_without_the_code(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = fb.run(config, out="out")
    before = pathlib.Path("out/report.html").read_text(encoding="utf-8")
    module = pathlib.Path("out/coins.py")
    module.write_text(module.read_text() + "open('ran', 'w')\n", encoding="utf-8")
    files.replace_durably(pathlib.Path("out/run.json"), files._marker(_contents("out")))
    done = CliRunner().invoke(app, ["report", "out", "--plot-size", "4x3"])
    assert done.exit_code == 0, done.output
    assert not pathlib.Path("ran").exists()
    assert files.is_whole(pathlib.Path("out"))
    after = pathlib.Path("out/report.html").read_text(encoding="utf-8")
    pictures = re.compile(r"data:image/svg[^\"]+")
    assert pictures.sub("", after) == pictures.sub("", before)
    assert len(pictures.findall(after)) > 1
    assert not {*pictures.findall(after)} & {*pictures.findall(before)}
    for name in [each for each in sys.modules if each.startswith("fedbandits_module_")]:
        del sys.modules[name]
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(ConfigError, match="tosser"):  # and nothing runs what lies there
        fb.answer(result)
    assert not pathlib.Path("ran").exists()


def _contents(folder):
    """Files of a run as its marker names them."""
    names = json.loads(pathlib.Path(folder, "run.json").read_text())["files"]
    return {name: pathlib.Path(folder, name).read_bytes() for name in names}


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
    from fedbandits.experiments.trace import ReplicateTrace

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


def test_a_module_that_wants_its_neighbour_is_told_how(config, tmp_path):
    (tmp_path / "helping_hands.py").write_text("", encoding="utf-8")
    (tmp_path / "coins.py").write_text("import helping_hands\n" + COINS, encoding="utf-8")
    with pytest.raises(ConfigError, match="put both into a folder with an __init__"):
        fb.load(config)


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


LOSER = '''
import fedbandits as fb


@fb.register
class Stubborn(fb.Learner):
    """Plays one arm for ever."""

    def decide(self, contexts, draws):
        return 0
'''
STUBBORN = """
module = "stubborn.py"
rounds = 30

[environment]
kind = "linear"
agents = 1
dim = 2
arms = 2

[[systems]]
preset = "stubborn"
"""


def stubborn(folder, arm):
    folder.mkdir(exist_ok=True)
    (folder / "stubborn.toml").write_text(STUBBORN, encoding="utf-8")
    module = folder / "stubborn.py"
    module.write_text(LOSER.replace("return 0", f"return {arm}"), encoding="utf-8")
    os.utime(module, (1e9, 1e9))
    return folder / "stubborn.toml"


def test_code_that_another_module_of_its_name_has_replaced_is_not_run(tmp_path):
    """It would run under the digest of code that was not run."""
    first = fb.load(stubborn(tmp_path / "a", 0))
    before = fb.run(first).regret
    second = fb.load(stubborn(tmp_path / "b", 1))
    assert not fb.run(second).regret.equals(before)
    with pytest.raises(ConfigError, match=r"module stubborn\.py: .* another text of that name"):
        fb.run(first)
    assert fb.run(fb.load(tmp_path / "a" / "stubborn.toml")).regret.equals(before)


def test_what_python_has_compiled_before_is_not_taken_for_the_text(tmp_path, monkeypatch):
    """Both texts are as long, and as old: Python itself takes them for the same."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = fb.run(stubborn(tmp_path, 0)).regret
    py_compile.compile(tmp_path / "stubborn.py")
    assert not fb.run(stubborn(tmp_path, 1)).regret.equals(before)


def test_files_of_a_package_are_run_as_they_were_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    config = stubborn(tmp_path, 0)
    package = tmp_path / "wood"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("from .deep.arm import Stubborn\n", encoding="utf-8")
    (package / "deep" / "__init__.py").write_text("", encoding="utf-8")
    config.write_text(STUBBORN.replace("stubborn.py", "wood"), encoding="utf-8")
    found = []
    for arm in (0, 1):
        (package / "deep" / "arm.py").write_text(
            LOSER.replace("return 0", f"return {arm}"), encoding="utf-8"
        )
        os.utime(package / "deep" / "arm.py", (1e9, 1e9))
        py_compile.compile(package / "deep" / "arm.py") if arm == 0 else None
        found.append(fb.run(config).regret)
    assert not found[0].equals(found[1])


def test_a_link_is_known_by_its_own_name(tmp_path):
    config = stubborn(tmp_path, 0)
    (tmp_path / "stubborn.py").rename(tmp_path / "version-2.py")
    (tmp_path / "stubborn.py").symlink_to("version-2.py")
    result = fb.run(config, out=tmp_path / "out")
    assert fb.run(tmp_path / "out" / "config.toml").regret.equals(result.regret)


class First(fb.Learner):
    """Plays the first arm."""

    def decide(self, contexts, draws):
        return 0


def test_a_learner_of_another_class_does_not_take_a_name_that_is_taken():
    class One(First, name="only"):
        """Holds the name."""

    class Two(First, name="only"):
        """Wants it too."""

    fb.register(One)
    fb.register(type("Two", (Two,), {"__qualname__": One.__qualname__}, name="only"))  # again
    with pytest.raises(ConfigError, match="'only' is registered already"):
        fb.register(Two)
    for ridge in (Ridge(), Lasso()):  # a cell that was edited
        fb.register(fb.learners.from_sklearn(ridge, name="linear-model"))


@pytest.mark.parametrize("name", ["a b", "-x", "x" * 61, "a/b", "a.b", "two\nlines", "[red]"])
def test_a_name_is_one_that_shells_files_and_tables_take(name):
    class Odd(First, name=name):
        """Has an odd name."""

    with pytest.raises(ConfigError, match="allowed as a name"):
        fb.register(Odd)


@pytest.mark.parametrize("tag", ["a b", "", 5])
def test_a_kind_is_such_a_name_too(tag):
    class Odd(fb.environments.PythonEnvironment, tag=tag):
        """Has an odd tag."""

    with pytest.raises(ConfigError, match="allowed as a tag"):
        fb.register(Odd)


def test_a_learner_that_cannot_be_made_is_not_registered():
    """It would spoil what lists all presets."""

    class Wrong(fb.Learner):
        """Has a default that is no number."""

        arm: int = "first"

        def decide(self, contexts, draws):
            return self.arm

    with pytest.raises(ConfigError, match=r"Wrong\.arm: given 'first'"):
        fb.register(Wrong)
    assert "wrong" not in dir(fb.presets)
