"""The documentation's code runs."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.systems.feducb import Simulation
from fedbandits.systems.feducb.federate import FederatedRun

ROOT = pathlib.Path(__file__).parents[1]


def code_blocks(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_example_of_an_environment_works(tmp_path):
    path = tmp_path / "coins.py"
    path.write_text(code_blocks("docs/extending.md")[0], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("coins", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["coins"] = module
    try:
        spec.loader.exec_module(module)
        environment = module.Coins(agents=3, arms=4)
        config = fb.system("feducb-nonprivate").config
        compiled = Simulation(config, environment, 400, 0, 0)
        parties = FederatedRun(config, environment, 400, 0, 0)
        compiled.advance(400)
        parties.advance(400)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        means = compiled.world.means
        random_play = 400 * float(means.max() - means.mean())
        assert compiled.regret.mean() < random_play / 2  # it learns
    finally:
        del sys.modules["coins"]


def test_the_example_of_parties_works():
    names: dict[str, object] = {}
    exec(code_blocks("docs/parties.md")[0].replace("1000", "50"), names)  # noqa: S102
    assert names["run"].done == 50


@pytest.mark.parametrize("name", ["quickstart", "linear", "movielens"])
def test_examples_are_valid_configurations(name):
    experiment = fb.load(ROOT / "examples" / f"{name}.toml")
    assert experiment.name == name


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
