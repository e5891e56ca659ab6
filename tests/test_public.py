"""What ``import fedbandits`` offers, to people and to type checkers."""

from __future__ import annotations

import importlib
import os
import pathlib
import re
import subprocess
import sys

import pytest

import fedbandits as fb
from fedbandits import ledger, parties, privacy

ROOT = pathlib.Path(__file__).parents[1]
LAZY = [fb, ledger, parties, privacy]

HEAVY = """
import sys
import fedbandits as fb
dir(fb), dir(fb.presets)
fb.presets.feducb(epsilon=1.0)
fb.environments.Linear(agents=3)
print([name for name in ("numba", "matplotlib", "xarray", "scipy") if name in sys.modules])
"""

PARTY = """
import sys
import fedbandits as fb
world = fb.environments.Linear(agents=2)
run = fb.parties.federate(fb.system("PRESET").config, world, 50, 0, 0)
run.advance(2)
heavy = ("scipy.stats", "scipy.optimize", "scipy.integrate")
print([name for name in heavy if name in sys.modules])
"""

RIGHT = """
from collections.abc import Sequence

import numpy as np

import fedbandits as fb
from fedbandits.systems.agents.config import Every, Growing

sound: fb.Variant = fb.presets.feducb(epsilon=1.0, schedule="growing(1.5)")
equal = fb.presets.feducb(label="equal", schedule=Every(100), epsilon=[1.0, 2.0])
table = fb.presets.feducb(schedule={"kind": "growing", "factor": 2.0}, regularization=3)
peers = fb.presets.feducb_p2p(graph="ring", gamma=2, local_view="raw")
named = fb.system("feducb", epsilon=1.0)
world = fb.environments.Linear(agents=3, theta=(1.0, 0.0), dim=2)
whole = fb.Experiment(rounds=10, environment=world, systems=(sound, equal, table, peers, named))
regret: float = float(fb.run(whole, jobs=1).regret.sum())
verdicts = fb.audit(whole, runs=1000)
broken: bool = verdicts.broken
read: fb.Experiment = fb.load("a.toml")
names: Sequence[str] = [system.name for system in fb.systems.systems()]
kinds = list(fb.environments.environments())
played = fb.parties.federate(sound.config, world, rounds=10, seed=0, replicate=0)
done: int = played.run.done
mu: float = fb.privacy.gaussian.mu_of(1.0, 1e-5)
with fb.ledger.open("ledger.db", federation="hospitals") as book:
    opened: fb.ledger.Ledger = book
refused: type[ValueError] = fb.ConfigError
missing = fb.errors.MissingExtraError("x")
growing = Growing(factor=1.5)
model = fb.load_model("model.bin")
client = fb.Client("http://127.0.0.1:8420", "token")


@fb.register
class Coins(fb.environments.PythonEnvironment, frozen=True, tag="typed-coins"):
    coins: int = 5

    @property
    def dimension(self) -> int:
        return self.coins


@fb.register
class Tosser(fb.Learner):
    explore: float = 0.1

    def begin(self) -> None:
        self.heads = np.zeros(self.facts.arms)


class Own(fb.systems.Checked, frozen=True):
    low: int = 1

    def validate(self) -> None:
        if self.low < 0:
            raise ValueError("low: must not be negative")


mine: Coins = Coins(agents=3, coins=4)
"""

WRONG = """
import fedbandits as fb

fb.presets.feducb(epsilom=1)  # Unexpected keyword argument "epsilom"
fb.presets.feducb(epsilon="a")  # incompatible type "str"
fb.presets.feducb(1.0)  # Too many positional arguments
fb.presets.feducb(local_view="rew")  # incompatible type "Literal['rew']"
fb.presets.feducb(graph="ring")  # Unexpected keyword argument "graph"
fb.presets.feducbb()  # Module has no attribute "feducbb"
fb.environments.Linear(agents="3")  # incompatible type "str"
fb.environments.Linear(agent=3)  # Unexpected keyword argument "agent"
fb.register(3)  # Value of type variable "AnyThing"
fb.enviroments  # Module has no attribute "enviroments"
fb.parties.federat  # Module has no attribute "federat"
fb.privacy.gausian  # Module has no attribute "gausian"
"""


@pytest.mark.parametrize("module", LAZY, ids=lambda module: module.__name__)
def test_all_names_are_there(module):
    assert dir(module) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("module", LAZY, ids=lambda module: module.__name__)
def test_an_unknown_name_is_refused_with_what_may_be_meant(module):
    known = next(name for name in module.__all__ if name[0].isalpha() and len(name) > 5)
    with pytest.raises(AttributeError, match=f"did you mean '{known}'"):
        getattr(module, known + "x")
    with pytest.raises(AttributeError, match="_ipython_display_"):
        module._ipython_display_  # noqa: B018


def test_functions_are_not_hidden_by_modules_of_the_same_name():
    for name in ("fedbandits.experiments.audits.audit", "fedbandits.experiments.run"):
        importlib.import_module(name)
    assert callable(fb.audit)
    assert callable(fb.run)


def test_a_configuration_needs_nothing_heavy():
    found = subprocess.run(
        [sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("preset", ["linucb-alone", "lints-alone", "feducb-hybrid"])
def test_a_party_that_needs_no_bound_imports_nothing_that_integrates(preset):
    """It would take half as much memory again."""
    code = PARTY.replace("PRESET", preset)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_type_checker_takes_what_is_right_and_refuses_what_is_wrong(tmp_path):
    """One run of mypy for all cases: most of its time is the package itself."""
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    found = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--config-file", ROOT / "pyproject.toml",
            "--cache-dir", ROOT / ".mypy_cache", "right.py", "wrong.py",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
    )  # fmt: skip
    told = re.findall(r"^(\w+)\.py:(\d+): error: (.*)$", found.stdout, re.MULTILINE)
    assert [error for error in told if error[0] == "right"] == []
    by_line: dict[int, str] = {}
    for file, line, text in told:
        if file == "wrong":
            by_line[int(line)] = f"{by_line.get(int(line), '')}{text}; "
    for number, line in enumerate(WRONG.splitlines(), start=1):
        code, mark, expected = line.partition("  # ")
        assert (number in by_line) == bool(mark), f"{code}: {by_line.get(number)}"
        assert expected in by_line.get(number, ""), by_line[number]


def test_a_failing_check_says_which_values_it_compared():
    """pytest rewrites assertions of modules that it is told of before they are imported."""
    from _pytest.assertion.rewrite import AssertionRewritingHook

    from fedbandits.testing import applications, environments, learners, systems

    for suite in (applications, environments, learners, systems):
        assert isinstance(suite.__spec__.loader, AssertionRewritingHook), suite.__name__
