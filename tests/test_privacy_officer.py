"""The privacy officer's page: its figures are those of the package, and its terms are explained."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
from scipy.stats import norm

import fedbandits as fb
from fedbandits.experiments.claims_page import reference_claims
from fedbandits.experiments.report.officer import officer_cards
from fedbandits.experiments.report.pages import section
from fedbandits.privacy import gaussian
from fedbandits.privacy.error_rates import direct_bound, gaussian_power, most_power
from fedbandits.settings.reference.glossary import TERMS, glossary_page

DOCS = pathlib.Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "privacy-officer.md").read_text(encoding="utf-8")
DELTA = 1e-5
ALARMS = (0.01, 0.05, 0.1)


def table(begins):
    """The numbers of the table whose head begins so, a list a row."""
    after = PAGE.split(begins, 1)[1].split("\n\n", 1)[0]
    rows = [line for line in after.splitlines()[2:] if line.startswith("|")]
    return [[float(each) for each in re.findall(r"\d+(?:\.\d+)?", row)] for row in rows]


def test_the_most_power_at_each_epsilon_is_as_stated():
    rows = table("| ε | power at 1% false alarms")
    assert len(rows) == 6
    for epsilon, *shown in rows:
        powers = [100.0 * most_power(alarms, epsilon, DELTA) for alarms in ALARMS]
        assert shown == pytest.approx(powers, abs=0.051)


def test_the_power_against_gaussian_noise_is_as_stated():
    rows = table("| | power at 1% false alarms")
    visit = gaussian.mu_of(1.0, DELTA)
    for row, visits in zip(rows, (1, 5, 10, 20), strict=True):
        powers = [100.0 * gaussian_power(alarms, visits * visit) for alarms in ALARMS]
        assert row[-3:] == pytest.approx(powers, abs=0.051)


def test_what_visits_cost_is_as_stated():
    visit = gaussian.mu_of(1.0, DELTA)
    for visits, *shown in table("| visits of one person | all at one hospital: μ | ε"):
        for mu, epsilon, cost in zip(
            shown[::2], shown[1::2], (visits * visit, visits**0.5 * visit), strict=True
        ):
            assert mu == pytest.approx(cost, rel=0.005)
            assert epsilon == pytest.approx(gaussian.epsilon_of(cost, DELTA), abs=0.051)
    for visits, *shown in table("| visits of one person to one hospital | ε of a visit"):
        for person, epsilon in zip((1.0, 3.0, 10.0), shown, strict=True):
            most = gaussian.epsilon_of(gaussian.mu_of(person, DELTA) / visits, DELTA)
            assert epsilon == pytest.approx(most, rel=0.05)


@pytest.fixture(scope="module")
def claims():
    experiment = fb.with_alone(fb.load("quickstart", ["replicates=1"]))
    return experiment.claims()


def test_the_table_of_systems_is_that_of_the_report(claims):
    report = section("officer", cards=officer_cards(claims, None)).split("<article")[0]
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", report)
    shown = [
        [cell.strip(" `") for cell in line.strip(" |").split("|")]
        for line in PAGE.splitlines()
        if line.startswith("   | `")
    ]
    assert [row[0] for row in shown] == list(claims)
    assert [cell for row in shown for cell in row] == cells[5:]


def test_the_claim_that_is_explained_is_the_one_of_the_preset(claims):
    claim = claims["feducb-secure"]
    lines = PAGE.split("| line | what it says here", 1)[1].split("\n\n", 1)[0]
    sums, together, others, outside = claim.views
    assert f"| from whom | {claim.from_whom} |" in lines
    assert f"| by who looks | {sums.who}: ε = {sums.epsilon:.4g} |" in lines
    assert f"| by who looks | {together.who}: ε = {together.epsilon:.4g} |" in lines
    assert f"| by who looks | {others.who}: ε = {others.epsilon:.4g} |" in lines
    assert f"| by who looks | {outside.who}: ε = {outside.epsilon:g} |" in lines
    (charged,) = (texts for title, texts in claim.rows() if title == "charged")
    releases, scale, mu = re.findall(r"(\d+) releases planned, (.*?),.*: (μ = .*)", charged[0])[0]
    assert f"| charged | {releases} releases, {scale}: {mu} |" in lines
    assert f"ε = {claim.person.shown}" in lines
    count = PAGE.split("| conditional on | ", 1)[1].split(" conditions", 1)[0]
    assert ("nine", "ten", "eleven", "twelve").index(count) + 9 == len(claim.conditional_on)
    assert "at least 400 of the 500" in claim.conditional_on[-2]
    assert "at least 400 hospitals" in PAGE
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert f"against all three together it is ε = {together.epsilon:.0f}" in readme
    worst = set(re.findall(r"ε (?:is|=) (\d\d\.\d+)", PAGE + readme))
    assert f"{together.epsilon:.4g}" in worst
    changes = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"it is {together.epsilon:.4g} in the quickstart" in changes


def test_the_example_of_the_page_runs(capsys):
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], {})  # noqa: S102
    assert "1.0 [2.7, 13.6, 27.2]" in capsys.readouterr().out


def test_a_person_of_the_quickstart_costs_what_the_page_says(claims, capsys):
    together, apart = claims["feducb-secure"], claims["feducb-hybrid"]
    assert f"{together.headline.replace('1e-05', '10⁻⁵')} |" in PAGE
    for claim in (together, apart):
        assert f"| {claim.person.shown} ({claim.person.counted_visits}) |" in PAGE
    visits, dear, cheap = together.person.visits, together.person.shown, apart.person.shown
    assert (
        f"For the person with {visits} visits that is ε = {dear} with `feducb-secure`, and {cheap} "
        "with `feducb-hybrid`."
    ) in PAGE
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert f"up to {visits} visits of one person, at several hospitals, cost ε = {dear}" in readme
    assert f"the same visits cost ε = {apart.person.epsilon:.1f}" in readme
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], {})  # noqa: S102
    exact, together = re.findall(r"# ε = ([\d.]+);.* cost ([\d.]+)\n", PAGE)[0]
    assert f"ε = {exact} at" in capsys.readouterr().out
    six = gaussian.epsilon_of(6 * gaussian.mu_of(1.0, DELTA), DELTA)
    assert f"{six:.4g}" == together


def test_no_test_of_a_gaussian_release_exceeds_what_is_stated():
    """The best test of a Gaussian release keeps what its ε and δ allow, and nearly meets it."""
    for mu in (0.1, 0.5, 1.0, 3.0):
        for alarms in (1e-4, 0.01, 0.2, 0.7):
            power = gaussian_power(alarms, mu)
            assert power == pytest.approx(norm.sf(norm.isf(alarms) - mu))
            allowed = [
                most_power(alarms, epsilon, gaussian.delta_of(epsilon, mu))
                for epsilon in np.linspace(0.0, 8.0, 400)
            ]
            assert min(allowed) >= power - 1e-12
            assert min(allowed) == pytest.approx(power, abs=0.02)


def test_an_attack_at_the_bound_shows_the_epsilon_that_it_is_the_bound_of():
    for epsilon in (0.5, 1.0, 3.0):
        for alarms in (1e-3, 0.05, 0.4):
            missed = 1.0 - most_power(alarms, epsilon, DELTA)
            assert direct_bound((alarms, missed), DELTA) == pytest.approx(epsilon)


def test_the_bound_on_power_has_its_limits():
    assert most_power(0.2, 0.0, 0.0) == pytest.approx(0.2)
    assert most_power(0.0, 5.0, 0.01) == pytest.approx(0.01)
    assert most_power(0.1, np.inf, 0.0) == 1.0
    assert most_power(0.1, 1000.0, 0.0) == 1.0
    assert most_power(1.0, 1.0, 0.1) == 1.0


def test_the_glossary_is_the_one_of_the_command():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    assert text == glossary_page(), (
        "run python -m fedbandits.settings.reference.glossary > docs/glossary.md"
    )


def test_the_glossary_has_all_titles_of_claims():
    """Whoever reads a claim can ask what its rows are about."""
    titles = {title for claim in reference_claims().values() for title, _ in claim.rows()}
    assert len(titles) > 9
    assert titles <= set(TERMS)


def test_the_glossary_explains_what_reports_and_pages_say():
    needed = {
        "agent", "arm", "context", "decision set", "regret", "reward", "sync", "release",
        "Gram matrix", "sensitivity", "neighbouring data sets", "unit", "ε", "δ", "μ",
        "composition", "interactive", "fixed log", "message times", "contents", "ledger",
        "charge", "audit", "tightness", "exploration scale", "alone", "pooled in clear",
        "verdict", "replicate", "checkpoint", "sweep", "propensity", "replay", "IPS",
        "doubly robust", "drift", "delay", "secure sum", "share of noise", "helper", "increment",
    }  # fmt: skip
    assert needed <= set(TERMS)
