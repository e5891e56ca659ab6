"""Numbers of the pages: the table has every command that made one, and quick ones hold."""

from __future__ import annotations

import ast
import csv
import importlib.util
import pathlib
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import fedbandits as fb
from fedbandits import system
from fedbandits.environments import Bernoulli, Linear
from fedbandits.privacy import gaussian
from fedbandits.systems import registry
from fedbandits.systems.aggregation import SecureSum, secure_totals
from fedbandits.systems.feducb.plan import make_plan
from fedbandits.systems.samba.theory import Counts
from fedbandits.testing.replicates import plan_of

ROOT = pathlib.Path(__file__).parents[1]
#: Need two checkouts, a clone, or an environment with all peers.
_PLAYED_ELSEWHERE = {"paired_shapes.py", "hospital.py", "peers.py"}


def _benchmark(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


figures = _benchmark("figures")
TABLE = figures.figures_of()
SCRIPTS = sorted(
    path
    for folder in ("benchmarks", "examples", "tools")
    for path in ROOT.glob(f"{folder}/**/*.py")
)
BENCHMARKS = [
    path for path in sorted(ROOT.glob("benchmarks/*.py")) if "__main__" in path.read_text("utf-8")
]
PAGES = sorted(["README.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md"))])
#: The quickstart's first line, as a page quotes it.
ANSWERS = (
    r"Learning together privately saves [^|*\n]*? in 100 visits \(\d+%\): [\d.]+ with "
    r"[\w-]+ \(ε = 1\), [\d.]+ alone (?:at its best \([αλ=\d., ]+\)|with [\w -]+)\."
)
#: A line on one private system, and on what privacy costs, as they stand below the first line.
LINES = (
    r"^(?:> )?("
    r"[\w-]+ \(ε = 1\)(?: pays)?: [^\n]* in 100 visits(?: saved\)\.| \(\d+%\)\.)"
    r"|Privacy with [^\n]* exchanges less often\.)$"
)


def _page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_is_played_for_it(page):
    named = set(re.findall(r"benchmarks/(\w+\.py)", _page(page))) - _PLAYED_ELSEWHERE
    played = " ".join(figure.command for figure in TABLE if figure.page == page)
    assert [script for script in sorted(named) if script not in played] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_a_script_imports_is_there(script, monkeypatch):
    """A script that is played by hand must not break when a module moves."""
    monkeypatch.syspath_prepend(str(ROOT))
    lines = ast.walk(ast.parse(script.read_text(encoding="utf-8")))
    for line in (each for each in lines if isinstance(each, ast.ImportFrom)):
        if (line.module or "").split(".")[0] in ("fedbandits", "tests", "tools"):
            module = importlib.import_module(line.module)
            for name in (each.name for each in line.names):
                whole = f"{line.module}.{name}"
                assert hasattr(module, name) or importlib.util.find_spec(whole), whole


@pytest.mark.slow
@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda script: script.stem)
def test_help_says_what_a_benchmark_measures(script):
    command = [sys.executable, str(script), "--help"]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    assert " ".join(text.split()[:8]) in " ".join(asked.stdout.split())


@pytest.mark.parametrize("figure", TABLE, ids=lambda figure: figure.name)
def test_every_command_of_the_table_is_on_its_page(figure):
    text = _page(figure.page)
    words = [w for w in figure.command.split() if re.fullmatch(r"\w+/\w+\.\w+|\w+-\w+", w)]
    for word in words:
        assert word.removeprefix("benchmarks/") in text
    for picture in figure.pictures.values():
        assert f"images/{pathlib.Path(picture).name}" in text
        assert (ROOT / picture).is_file()


def test_what_was_played_with_the_same_sources_is_not_played_again(tmp_path):
    figure = figures.Figure("docs/x.md", "python -c 'print(6 * 7)'", minutes=0)
    assert not figures.is_done(figure, tmp_path, "abc")
    assert figures.play(figure, tmp_path, "abc", {}, tmp_path) == 0
    assert figures.is_done(figure, tmp_path, "abc")
    assert not figures.is_done(figure, tmp_path, "abd")
    printed = (tmp_path / f"{figure.name}.txt").read_text(encoding="utf-8")
    assert printed.splitlines()[3] == "42"


def test_numbers_that_a_page_lacks_are_named_with_their_line(tmp_path):
    (tmp_path / "page.md").write_text("| 1,234 | 56.7 ± 8 |\n", encoding="utf-8")
    figure = figures.Figure("page.md", "python benchmarks/any.py", 1.0)
    printed = "# sources abc\n# 999 minutes\n\n1234 and 56.7\n12 of 987,654, 1.25\n"
    (tmp_path / f"{figure.name}.txt").write_text(printed, encoding="utf-8")
    (line,) = figures.not_on_its_page(figure, tmp_path, tmp_path)
    assert line == "987654, 1.25  in  12 of 987,654, 1.25"


def test_what_failed_is_played_again_and_no_picture_of_it_is_taken(tmp_path):
    figure = figures.Figure(
        "docs/x.md",
        "python -c 'import pathlib; pathlib.Path(r\"{out}/a\").touch(); raise SystemExit(3)'",
        minutes=0,
        pictures={"a": "b"},
    )
    assert figures.play(figure, tmp_path, "abc", {}, tmp_path) == 3
    assert not figures.is_done(figure, tmp_path, "abc")
    assert not (tmp_path / "b").exists()


def test_a_page_that_there_is_not_is_named(monkeypatch):
    monkeypatch.setattr(figures, "revision", lambda: "abc")
    with pytest.raises(SystemExit, match=r"no such page: docs/feducp\.md; there are README\.md"):
        figures.main(["feducp"])


def _numbers(row: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", row)]


@pytest.mark.parametrize("arms", [10, 100, 1000])
def test_rounds_and_bytes_of_silent_samba_are_those_of_its_page(arms):
    spoken = _page("docs/samba.md").partition("**Rounds and bytes**")[2]
    (row,) = re.findall(rf"^\| {arms:,} \|(.*)\|$", spoken, re.MULTILINE)
    for arity, cell in zip((2, 4, 8, 16), row.split("|"), strict=True):
        config = system("samba-silent-ucb", arity=arity, cipher="stream").config
        counts = Counts(plan_of(config, Bernoulli(arms=arms), 4 * arms))
        assert _numbers(cell.replace(", ", " ")) == [
            counts.rounds,
            counts.server_bytes,
            counts.dealt_bytes,
        ]


def test_noise_of_feducb_is_that_of_its_page():
    spoken = _page("docs/feducb.md").partition("**Noise** of the released sum")[2]
    pairs = re.findall(r"([\d.]+) against ([\d,]+)", spoken)[:2]
    for delta, said in zip((0.1, 1e-5), pairs, strict=True):
        for preset, deviation in zip(("feducb", "feducb-published"), said, strict=True):
            plan = make_plan(system(preset, delta=delta).config, Linear().facts, 60_000)
            assert f"{plan.release.largest_deviation():,.{_decimals(deviation)}f}" == deviation


def test_noise_in_every_round_costs_what_the_page_says():
    """Section 5.1 of Solanki et al. (2022): ε = 0.01 in each of 10⁶ rounds, on the same records."""
    told = re.findall(r"it would cost μ = ([\d.]+), and ε = ([\d.]+) at δ", _page("docs/theory.md"))
    mu = gaussian.compose([gaussian.mu_of(0.01, 1e-5)] * 1_000_000)
    assert told == [(f"{mu:.1f}", f"{gaussian.epsilon_of(mu, 1e-5):.1f}")]


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])


def test_the_answer_of_the_quickstart_is_that_of_the_readme():
    spoken = _page("README.md")
    experiment = fb.with_alone("quickstart")
    result = fb.with_opponents(experiment, fb.run(experiment))
    final = result.regret.isel(round=-1).mean("party")
    half = stats.t.ppf(0.975, 7) * final.std("replicate", ddof=1) / 8**0.5
    names = (
        "linucb-alone", "alone at its best", "feducb-secure", "feducb-secure-hybrid",
        "feducb-hybrid", "feducb-published",
    )  # fmt: skip
    for name in names:
        (mean, reach) = re.findall(
            rf"^\| `{name}`[^|]* \| ([\d.]+) ± ([\d.]+) \|", spoken, re.MULTILINE
        )[0]
        assert f"{float(final.sel(system=name).mean()):.{_decimals(mean)}f}" == mean
        assert f"{float(half.sel(system=name)):.{_decimals(reach)}f}" == reach
    answer = fb.answer(result)
    assert answer.headline in spoken.replace("**", "")
    quoted = [said for page in PAGES for said in re.findall(ANSWERS, _page(page))]
    assert set(quoted) == {answer.headline}
    assert len(quoted) == 4
    (share,) = re.findall(r"saves (\d+)% of the mistakes at ε = 1,", _page("docs/index.md"))
    assert f"({share}%)" in answer.headline
    said = str(answer).splitlines()
    for page, count in (("README.md", 4), ("docs/does-it-pay.md", 6)):
        lines = re.findall(LINES, _page(page), re.MULTILINE)
        assert len(lines) == count
        assert set(lines) <= set(said)


def test_what_one_member_that_lies_can_do_is_the_same_on_all_pages():
    table = _page("docs/secure-sums.md").partition("In the quickstart's, M = 500")[2]
    readme = " ".join(_page("README.md").partition("**One member can spoil it")[2].split()[:90])
    for preset in ("feducb-secure", "feducb-secure-hybrid"):
        (row,) = re.findall(rf"^\| `{preset}` \| the same, and rev[^|]* \|(.*)\|$", table, re.M)
        worst = row.split("|")[-1].strip()
        assert worst in readme
        assert worst.split()[0] in _page("docs/threat-model.md")


@pytest.mark.slow
def test_what_one_member_that_lies_can_do_is_as_the_page_says():
    member = _benchmark("lying_member")
    world, lie = member.WORLDS["quickstart"], member.other_units(-500)
    for preset in ("feducb-secure", "feducb-secure-hybrid"):
        found, refused, _ = member.lied(system(preset).config, world, lie, 8, 0)
        assert refused == 0
        assert found in _page("README.md")


@pytest.mark.parametrize(
    "epsilon", ["0.1", "0.3", *(pytest.param(each, marks=pytest.mark.slow) for each in ("3", "10"))]
)
def test_the_sweep_over_epsilon_is_that_of_its_page(epsilon):
    """And the README's ε from which on it pays."""
    rows = dict(re.findall(r"^\| ε = (\S+) \| (.*) \|$", _page("docs/sweeps.md"), re.MULTILINE))
    assert list(rows) == ["0.1", "0.3", "1", "3", "10"]
    none = [each for each, said in rows.items() if said.startswith("No difference")]
    assert none == []
    assert "pays [from ε = 0.1 on]" in _page("README.md")
    given = fb.with_alone(fb.load("quickstart", [f"systems.*.epsilon={epsilon}"]))
    headline = fb.answer(fb.run(given)).headline
    assert headline.startswith("No difference") == (epsilon in none)
    said = rows[epsilon]
    (preset,) = re.findall(r"`([\w-]+)`", said)
    (saved,) = re.findall(r"saves \S+ ± \S+ mistakes", said)
    assert re.search(rf"{preset}(?: \(|, )ε = {re.escape(epsilon)}\)", headline)
    assert saved in headline
    assert all(f"({share})" in headline for share in re.findall(r"\((\d+%)\)", said))


@pytest.mark.slow
def test_from_where_on_it_pays_is_as_the_page_says():
    advice = fb.advise(fb.with_alone("quickstart"), "feducb-secure-hybrid")  # the best one
    told = str(advice).splitlines()
    page = _page("docs/does-it-pay.md")
    assert len(told) == 2
    assert all(f"\n{line}\n" in page for line in told)
    (least,) = re.findall(r"pays with every number of hospitals that was tried, from (\d+)", page)
    assert f"at ε = 1 from {least} hospitals on" in _page("README.md")


@pytest.mark.slow
def test_an_algorithm_of_ones_own_does_what_its_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "own_algorithm.py"))
    told = (tmp_path / "runs" / "own_algorithm" / "summary.csv").read_text("utf-8")
    for row in csv.DictReader(told.splitlines()):
        regret = f"{float(row['regret_mean']):.0f} ± {float(row['regret_ci95']):.0f}"
        line = rf"^\| `{row['system']}`[^|]*\| {regret} \|"
        assert re.search(line, _page("docs/your-algorithm.md"), re.M), (row["system"], regret)


def test_what_secure_sums_are_worth_is_the_same_on_all_pages():
    rows = re.findall(r"^\| ([\w ]+[^|]*M = [^|]*) \|(.*)\|$", _page("docs/secure-sums.md"), re.M)
    regrets = {
        world: [float(cell.replace(",", "").split()[0]) for cell in cells.split("|")]
        for world, cells in rows
    }
    # So says docs/feducb.md of the worlds that choices were made in, and the README of the others.
    chosen_in, held_out = list(regrets.values())[:8], list(regrets.values())[8:]
    assert all(secure_hybrid < hybrid for _, hybrid, _, secure_hybrid, _ in chosen_in)
    assert len(held_out) == 9
    assert sum(secure_hybrid < hybrid for _, hybrid, _, secure_hybrid, _ in held_out) == 7
    assert sum(secure_hybrid < alone for alone, _, _, secure_hybrid, _ in held_out) == 7
    assert "Nine of them served no choice of ours; in seven of these" in _page("README.md")
    alone, _, _, secure_hybrid, _ = regrets["linear d = 5, K = 10, M = 200, T = 500"]
    said = f"regret of {secure_hybrid:.2f} at ε = 1, and learning alone one of {alone}."
    assert said in _page("README.md")


def test_where_the_readme_says_that_it_does_not_pay_it_does_not():
    spoken = _page("README.md").partition("**Collaboration is not always better.**")[2]
    settings = re.findall(r"--set ([\w.=]+)", spoken.partition("),")[0])
    experiment = fb.with_alone(fb.load("quickstart", settings))
    found = fb.answer(fb.with_opponents(experiment, fb.run(experiment)))
    losses = {one.system: one for one in found.comparisons if one.kind == "alone"}
    for name, mean, reach, share in re.findall(
        r"`([\w-]+)` makes ([\d.]+) ± ([\d.]+) more [^()]*\(([\d.]+)%\)", spoken
    ):
        one = losses.pop(name)
        assert f"{-one.saves:.{_decimals(mean)}f}" == mean
        assert f"{one.half_width:.{_decimals(reach)}f}" == reach
        assert f"{-100 * one.share:.{_decimals(share)}f}" == share
        assert f"`{name}` makes {mean} ± {reach} more mistakes there" in _page(
            "docs/does-it-pay.md"
        )
    (unsure,) = re.findall(r"With `([\w-]+)` no difference is found", spoken)
    assert losses.pop(unsure).pays is None
    assert losses == {}


def test_noise_of_a_secure_sum_is_as_stated():
    """Its deviation, beside that of one guarantee: all add a share, fewer are relied on."""
    (factor,) = re.findall(r"they have ([\d.]+) times as much", _page("docs/exploration.md"))
    totals = secure_totals(SecureSum(), 500)
    assert f"{(500 / totals.honest) ** 0.5:.1f}" == factor


@pytest.mark.slow
def test_a_private_learner_with_secure_sums_does_as_its_page_says(monkeypatch, capsys):
    monkeypatch.setattr(registry, "_registered", {})
    page = _page("docs/your-algorithm.md")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (learner,) = [block for block in blocks if "class NoisyRidge" in block]
    (secure,) = [block for block in blocks if "secure-sum" in block]
    names = {"np": np, "fb": fb, "world": Linear(agents=2, dim=5, arms=20)}
    exec(learner, names)  # noqa: S102
    exec(secure, names)  # noqa: S102
    printed = capsys.readouterr().out
    rows = re.findall(r"^\| `([\w-]+)`[^|]* \| ([\d.]+) \|$", page, re.MULTILINE)
    assert len(rows) == 3
    for name, regret in rows:
        assert re.search(rf"^{name} +{regret}$", printed, re.MULTILINE)
