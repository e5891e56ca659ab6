"""The report: what stands first, what a privacy officer reads, and that it is a sound page."""

from __future__ import annotations

import html.parser
import itertools
import math
import re

import msgspec
import pytest

import fedbandits as fb
from fedbandits.environments import Bernoulli, Classification, Clustered, Linear
from fedbandits.errors import OutputExistsError
from fedbandits.experiments.audits.verdict import Audit, Verdict
from fedbandits.experiments.folder import read_result
from fedbandits.experiments.output import rewrite_report, write_audit
from fedbandits.experiments.plots import Look, Picture
from fedbandits.experiments.report import officer
from fedbandits.experiments.report.officer import officer_cards
from fedbandits.experiments.report.pages import render_audit, render_report, section
from fedbandits.experiments.result import summarise
from fedbandits.privacy import gaussian
from fedbandits.privacy.error_rates import gaussian_power
from fedbandits.privacy.person import PersonCost, person_cost

#: Elements that have no end.
_VOID = {"meta", "img", "br"}


class Parsed(html.parser.HTMLParser):
    """A page as elements with their text; refuses tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append((tag, len(self.text)))

    def handle_endtag(self, tag):
        name, since = self.open.pop()
        assert name == tag
        if tag in ("h1", "h2", "h3", "caption"):
            self.found.append((f"/{tag}", self.text[since:]))

    def handle_data(self, data):
        if not any(tag == "style" for tag, _ in self.open):
            self.text += data

    def of(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


def officer_section(claims, audit):
    return section("officer", cards=officer_cards(claims, audit))


def experiment(world=None, *systems):
    return fb.Experiment(
        name="night-shift",
        rounds=20,
        environment=world or Linear(agents=2, dim=2, arms=2),
        systems=systems or (fb.system("feducb"), fb.system("feducb-published")),
    )


@pytest.fixture(scope="module")
def played():
    small = experiment()
    return small, fb.run(small)


def report(played, **more):
    small, result = played
    pictures = {name: Picture(b"", b"<svg/>") for name in ("regret", "epsilon", "syncs")}
    return render_report(small, result, summarise(small, result), pictures, **more)


def test_it_is_a_page_that_loads_nothing_and_that_anyone_can_hear(played):
    text = report(played)
    page = Parsed(text)
    assert text.startswith("<!doctype html>")
    assert page.of("html") == [{"lang": "en"}]
    assert not page.of("script")
    assert not page.of("link")
    assert not re.search(r"https?:|url\(|@import", text)
    (policy,) = [m["content"] for m in page.of("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'")
    assert len(page.of("main")) == len(page.of("h1")) == 1
    assert all(image["alt"] and image["src"].startswith("data:") for image in page.of("img"))
    assert all(head.get("scope") in ("col", "row") for head in page.of("th"))
    levels = [int(tag[1]) for tag, _ in page.found if re.fullmatch(r"h\d", tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_privacy_officer_comes_before_results_and_terms_come_last(played):
    titles = [text for tag, text in Parsed(report(played)).found if tag == "/h2"]
    assert titles == [
        "For the privacy officer", "Results", "What each system claims about privacy",
        "Configuration", "Glossary",
    ]  # fmt: skip


def test_a_plot_is_told_in_words(played):
    (regret, epsilon, _) = Parsed(report(played)).of("img")
    assert re.search(r"At the end, feducb: [\d.]+, feducb-published: [\d.]+", regret["alt"])
    assert epsilon["alt"].endswith("feducb: 1, feducb-published: ∞.")


def test_real_data_say_so_at_the_top_and_on_every_printed_page(played):
    invented = report(played)
    assert "made from real data" not in invented
    small = experiment(Classification(agents=2, dataset="wine", components=3))
    text = report((small, fb.run(small)))
    page = Parsed(text)
    titles = [text for tag, text in page.found if tag == "/h2"]
    assert titles[0] == "This report is made from real data"
    assert "Take out the digest" in page.text
    assert "is itself not private" in page.text
    assert "may it be passed on?" in page.text
    assert 'content: "made from real data: not private"' in text


def test_it_prints_on_a4_with_its_name(played):
    text = report(played)
    assert "size: A4" in text
    (name,) = re.findall(r'@top-left \{ content: "([^"]*)"', text)
    assert name == "night-shift"
    hostile = '"; } </style><script> \\ *'
    (name,) = re.findall(
        r'@top-left \{ content: "([^"]*)"',
        section("page", title=hostile, is_real=False, toml="", versions={}),
    )
    plain = re.sub(r"\\([0-9a-f]+) ", lambda found: chr(int(found[1], 16)), name)
    assert plain == hostile
    assert not set(name) & set('<>"}')


def test_text_on_a_page_is_no_markup():
    hostile = "</pre></title><script>alert(\"1\")</script><b onclick='x'>&amp;"
    page = section("page", title=hostile, is_real=True, toml=hostile, versions={"a<b": hostile})
    parsed = Parsed(page)
    assert parsed.text.count(hostile) == 3
    assert not {tag for tag, _ in parsed.found} & {"script", "b"}


def cards(claims, audit=None):
    """The text of each card, by label."""
    text = officer_section(claims, audit)
    return {
        re.findall("<h3>(.*?):", card)[0]: re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", card))
        for card in re.findall("<article.*?</article>", text, re.DOTALL)
    }


def test_a_person_is_priced_beside_the_record():
    world = Classification(agents=5, dataset="wine", components=3)
    claims = experiment(world, fb.system("feducb"), fb.system("linucb-alone")).claims()
    card = cards(claims)["feducb"]
    person = claims["feducb"].person
    assert person.counted == "at most"
    assert f"ε = {person.shown} at δ = 1e-05 for a person with {person.visits} visits" in card
    assert "nothing is sent" in cards(claims)["linucb-alone"]
    assert "how much, one person" not in cards(claims)["linucb-alone"]


def test_what_persons_cost_is_said_where_they_are_protected():
    world = Classification(agents=5, dataset="wine", components=3)
    protected = fb.system("feducb", unit="person", records_per_person=2, label="persons")
    found = cards(experiment(world, protected, fb.system("feducb")).claims())
    assert "--sweep systems.N.records_per_person=1,4,16" in found["persons"]
    assert "what that costs" not in found["feducb"]


@pytest.mark.parametrize(
    ("visits", "said"),
    [(1, "A test with 5%"), (7, "weak protection"), (20, "practically no protection")],
)
def test_what_the_price_of_a_person_is_worth(visits, said):
    person = person_cost(visits, gaussian.mu_of(1.0, 1e-5), 1e-5)
    text = officer._worth(person)
    assert said in text
    assert f"{gaussian_power(0.05, person.mu):.1%}" in text
    assert ("practically" in text) == (person.epsilon >= 10.0)


def test_where_nobody_knows_how_often_people_come_an_example_is_priced():
    card = cards(experiment().claims())["feducb"]
    assert "It is not known how many records a person has" in card
    assert "10 records at one party cost ε = 14.4" in card
    assert "one at each of 10 parties ε = 3.619" in card


def test_who_looks_is_told_with_an_epsilon_each():
    world = Linear(agents=200, dim=2, arms=2)
    claims = experiment(world, fb.system("feducb-secure"), fb.system("feducb")).claims()
    told = cards(claims)
    (looks,) = re.findall(r"by who looks (.*?) how much", told["feducb-secure"])
    sums, together, others, outside = claims["feducb-secure"].views
    assert "the controller and any one helper, also together" in looks
    assert "tell others their noise: ε = 1." in looks
    assert "All other agents together, if each of them tells its noise: ε = " in looks
    assert others.epsilon == together.epsilon
    assert 10.0 < together.epsilon < 100.0
    assert (
        "The controller and both helpers together, who see single releases: "
        f"ε = {together.epsilon:.4g}. This is practically no protection."
    ) in looks
    assert looks.strip().endswith("depend on no record: ε = 0.")
    assert (sums.epsilon, outside.epsilon) == (pytest.approx(1.0, rel=1e-4), 0.0)
    cells = re.findall(r"<td>([^<]*)</td>", officer_section(claims, None).split("<article")[0])
    assert f"1 (at worst {together.epsilon:.4g})" in cells
    assert "sees all messages" not in told["feducb-secure"]
    assert "by who looks" not in told["feducb"]
    assert "Whoever sees all messages" in told["feducb"]


def test_a_broken_claim_promises_nothing_and_encryption_has_no_epsilon():
    card = cards(experiment().claims())["feducb-published"]
    assert "Nothing is promised" in card
    assert "The paper states ε = 1; that does not hold." in card
    sealed = experiment(Bernoulli(arms=3), fb.system("samba-ucb"), fb.system("plain-ucb")).claims()
    assert "There is no ε" in cards(sealed)["samba-ucb"]
    assert "statistics leave in clear" in cards(sealed)["plain-ucb"]
    assert "nan" not in officer_section(sealed, None)


def verdict(**changes):
    found = {
        "system": "feducb", "outcome": "holds", "claimed_by": "accounting", "epsilon": 1.0,
        "delta": 1e-5, "epsilon_low": 0.75, "tightness": 0.75, "noise_factor": 1.0,
        "noise_measured": 1.0, "confidence": 0.99, "findings": (),
    }  # fmt: skip
    return Verdict(**found | changes)


def test_an_officer_reads_whether_it_was_attacked():
    claims = experiment().claims()
    broken = {"system": "feducb-published", "outcome": "broken", "claimed_by": "the paper"}
    audit = Audit((verdict(), verdict(**broken, epsilon_low=1.75)))
    told = cards(claims, audit)
    assert "No attack showed more than ε = 1" in told["feducb"]
    assert "evidence, not proof" in told["feducb"]
    assert "at least 1.75, where the paper claims 1" in told["feducb-published"]
    assert "Not attacked yet" in cards(claims)["feducb"]
    page = Parsed(render_audit(experiment(), audit))
    assert "tightness" in page.text


def test_a_user_of_a_shop_is_a_person():
    world = Clustered(users=4, clusters=2, servers=2, dim=3, items=3)
    long = msgspec.structs.replace(experiment(world, fb.system("fclub")), rounds=2000)
    claim = long.claims()["fclub"]
    assert claim.person.visits == 500
    assert claim.person.mu == pytest.approx(500 * claim.mu)
    assert claim.headline.endswith(f"; a person with 500 visits: ε = {claim.person.shown}")
    assert [title for title, _ in claim.rows()][:2] == ["privacy unit", "per person"]
    assert claim.promises_as(msgspec.structs.replace(claim, person=None))  # it explains, no more


def test_the_price_of_a_person_grows_with_visits():
    one, many = (person_cost(visits, 0.268, 1e-5) for visits in (1, 87.2))
    assert one.epsilon == pytest.approx(1.0, abs=1e-3)
    assert (many.visits, many.mu) == (88, pytest.approx(88 * 0.268))
    assert many.epsilon == pytest.approx(377.9, abs=0.3)
    assert "88 visits (the mean: some have more)" in str(many)
    assert "1 visit (" in str(one)
    with pytest.raises(fb.errors.ClaimError, match=r"PersonCost\.visits: given 0"):
        PersonCost(visits=0, mu=0.0, epsilon=0.0, delta=0.1)


@pytest.mark.pictures
def test_a_report_is_written_again_in_another_size(tmp_path):
    out = tmp_path / "r"
    small = experiment()
    result = fb.run(small, out=out)
    before = (out / "plots" / "regret.png").read_bytes()
    rewrite_report(out, Look((5.0, 3.0), 8.0))
    assert (out / "plots" / "regret.png").read_bytes()[16:20] == (5 * 130).to_bytes(4, "big")
    assert (out / "plots" / "regret.png").read_bytes() != before
    assert read_result(out).identical(result) or (read_result(out) == result).all()
    write_audit(out, small, Audit((verdict(),)))
    assert "No attack showed more" in (out / "report.html").read_text(encoding="utf-8")
    with pytest.raises(OutputExistsError, match="holds no whole run"):
        rewrite_report(tmp_path, Look())


def test_odds_are_told_in_readable_numbers():
    assert officer._factor(1.0) == "2.72"
    assert officer._factor(10.0) == "22,026"
    assert officer._factor(377.9) == "10^164"
    assert math.log10(math.e) * 377.9 == pytest.approx(164, abs=0.5)
