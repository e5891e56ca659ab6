"""What is handed out is complete, and states its version, its authors and its checks once."""

from __future__ import annotations

import ast
import pathlib
import re
import shutil
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

import fedbandits
from fedbandits.settings.toml_files import BUNDLED
from tools.check_package import in_sdist, in_wheel, kept, wrong_in_sdist, wrong_in_wheel
from tools.licences import wanted

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
yaml = pytest.importorskip("yaml")


@pytest.fixture(scope="module")
def tracked():
    """What git keeps, without what was deleted and not committed yet."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout, so nothing says what belongs to an sdist")
    return {name for name in kept(ROOT) if (ROOT / name).exists()}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_stated_once(tracked):
    """Outside of the history of changes, and of the versions of others."""
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "src/fedbandits/_version.py"}
    stated = re.compile(rf"(?<![\d.]){re.escape(fedbandits.__version__)}(?![\d.])")
    found = [
        name
        for name in tracked - {"CHANGELOG.md", "constraints.txt"}
        if pathlib.PurePath(name).suffix in (".py", ".pyi", ".md", ".toml", ".cff", ".yaml", ".txt")
        and stated.search(text_of(name))
    ]
    assert found == ["src/fedbandits/_version.py"]


def test_an_sdist_and_a_wheel_are_complete(tmp_path, tracked, monkeypatch):
    build = pytest.importorskip("hatchling.build")
    monkeypatch.chdir(ROOT)
    sdist, wheel = build.build_sdist(str(tmp_path)), build.build_wheel(str(tmp_path))
    version = fedbandits.__version__
    assert sdist == f"fedbandits-{version}.tar.gz"
    assert wheel == f"fedbandits-{version}-py3-none-any.whl"
    lacking = "the sdist lacks"  # what lies around in a work tree is for `make package` to refuse
    wrong = wrong_in_sdist(in_sdist(tmp_path / sdist), tracked)
    assert [line for line in wrong if line.startswith(lacking)] == []
    there = {*tracked, *(p.relative_to(ROOT).as_posix() for p in (ROOT / "src").rglob("*.py"))}
    assert list(wrong_in_wheel(in_wheel(tmp_path / wheel), there, BUNDLED)) == []


def test_what_is_missing_or_too_much_is_named():
    tracked = {"Makefile", "src/fedbandits/a.py", "src/fedbandits/py.typed", "tests/test_a.py"}
    assert list(wrong_in_sdist({*tracked, "PKG-INFO"}, tracked)) == []
    assert list(wrong_in_sdist({*tracked, "notes.txt"} - {"Makefile"}, tracked)) == [
        "the sdist lacks Makefile",
        "the sdist has notes.txt, which git does not keep",
    ]
    about = "fedbandits-1.0.dist-info/"
    said = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    papers = {about + name for name in said}
    package = {"fedbandits/a.py", "fedbandits/py.typed", "fedbandits/examples/one.toml"}
    assert list(wrong_in_wheel(package | papers, tracked, ["one"])) == []
    missing = {"fedbandits/a.py", "fedbandits/examples/one.toml", f"{about}licenses/LICENSE"}
    found = (package | papers | {"tests/test_a.py"}) - missing
    assert list(wrong_in_wheel(found, tracked, ["one"])) == [
        "the wheel lacks fedbandits/a.py",
        "the wheel lacks fedbandits/examples/one.toml",
        "the wheel has tests/test_a.py, which is no part of it",
        "the wheel's dist-info lacks licenses/LICENSE",
    ]
    untyped = tracked - {"src/fedbandits/py.typed"}
    (line,) = wrong_in_wheel((package | papers) - {"fedbandits/py.typed"}, untyped, ["one"])
    assert "no py.typed" in line


def imported(path):
    """Packages that a module imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).partition(".")[0]


def test_every_package_that_is_imported_is_required():
    """By itself, not because another one happens to need it; here or in an extra."""
    modules = (ROOT / "src").rglob("*.py")
    names = {name for path in modules for name in imported(path)} - {"fedbandits"}
    lines = [line for _, line in wanted(PROJECT["project"])]
    required = {canonicalize_name(line.name) for line in lines}
    required |= {extra for line in lines for extra in line.extras}  # as in dask[distributed]
    distributions = packages_distributions()
    known_as = {
        name: {canonicalize_name(each) for each in distributions.get(name, [name])}
        for name in names - set(sys.stdlib_module_names)
    }
    assert [name for name, distribution in known_as.items() if not distribution & required] == []


def test_how_to_cite_names_the_four_papers():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["authors"] == [{"name": "fedbandits developers"}]
    assert "version" not in citation  # it would be a second place
    pages = {"FedUCB": "feducb", "FCLUB-CDP": "fclub", "P-FCB": "pfcb", "SAMBA": "samba"}
    papers = {paper["notes"]: paper for paper in citation["references"]}
    assert papers.keys() == pages.keys()
    for system, page in pages.items():
        paper, text = papers[system], text_of(f"docs/{page}.md")
        names = [author["family-names"] for author in paper["authors"]]
        (told,) = [line for line in text.splitlines() if f"*{paper['title']}*" in line]
        assert f"The paper is {', '.join(names[:-1])} & {names[-1]}" in told
        assert str(paper["year"]) in told


def test_checks_before_a_commit_are_those_of_this_environment():
    hooks = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    assert [each["repo"] for each in hooks] == ["local"]
    for hook in hooks[0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")


def test_issues_begin_with_a_template_that_has_a_name():
    templates = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    assert [path.stem for path in templates] == ["bug", "new_system", "privacy_question"]
    for path in templates:
        _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
        assert set(yaml.safe_load(head)) == {"name", "about", "title", "labels"}
        assert path.stem == "new_system" or "SECURITY.md" in body


def test_nobody_is_sent_to_a_mailbox():
    for name in ("SECURITY.md", "CITATION.cff", "CONTRIBUTING.md", "pyproject.toml"):
        assert not re.search(r"[\w.]@[\w.]", text_of(name))


def test_the_conda_recipe_asks_for_what_the_package_needs():
    recipe = yaml.safe_load(text_of("tools/conda/recipe.yaml"))
    asked = {
        each.replace("matplotlib-base", "matplotlib") for each in recipe["requirements"]["run"]
    }
    python = f"python {PROJECT['project']['requires-python']}"
    needed = {each.replace(">=", " >=") for each in PROJECT["project"]["dependencies"]}
    assert asked == needed | {python}
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry.split(" = ") == [*next(iter(PROJECT["project"]["scripts"].items()))]
