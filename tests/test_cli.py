from __future__ import annotations

import errno
import math
import re
import shutil
import subprocess
import sys
import warnings

import pytest
from typer.testing import CliRunner

from fedbandits import cli
from fedbandits.errors import LedgerError, ResumeWarning
from fedbandits.experiments.audits import parts as audit_parts
from fedbandits.experiments.audits.verdict import Audit, Verdict
from fedbandits.privacy import gaussian, sensitivity_check
from fedbandits.privacy.accounting import GaussianRelease
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.ledger import Ledger, add_up
from fedbandits.reproduce import FIGURES
from fedbandits.systems.agents import audit as agents_audit
from tests.experiments.test_audit import attack_of_few_runs

TOML = """
name = "tiny"
rounds = 20
[environment]
kind = "linear"
agents = 2
dim = 2
arms = 3
[[systems]]
preset = "feducb"
[[systems]]
preset = "feducb-published"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "tiny.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(monkeypatch, *arguments):
    """Run the command as a user would, and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["fedbandits", *arguments])
    with pytest.raises(SystemExit) as ending:
        cli.main()
    return ending.value.code or 0


def test_run_writes_where_it_says(folder, monkeypatch, capsys):
    assert call(monkeypatch, "run", "tiny.toml") == 0
    assert (folder / "runs" / "tiny" / "report.html").is_file()
    shown = capsys.readouterr()
    assert "runs/tiny/report.html" in shown.out
    assert "feducb" in shown.out
    assert call(monkeypatch, "run", "tiny.toml", "--seed", "3", "--out", "elsewhere") == 0
    assert "seed = 3" in (folder / "elsewhere" / "config.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing.toml"], "fedbandits: nothing.toml: no such file"),
        (["run", "tiny.toml", "--set", "systems.0.epsilon=-1"], "systems[0].epsilon: given -1"),
        (["run", "tiny.toml", "--replicates", "0"], "replicates: given 0"),
        (["privacy", "tiny.toml", "--set", "environment.arms=1"], "environment.arms: given 1"),
    ],
)
def test_what_is_refused_ends_with_one_line_and_code_2(
    folder, monkeypatch, capsys, arguments, message
):
    assert call(monkeypatch, *arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert not (folder / "runs").exists()


def test_another_configuration_is_not_overwritten(folder, monkeypatch, capsys):
    assert call(monkeypatch, "run", "tiny.toml") == 0
    monkeypatch.setattr("fedbandits.experiments.best_alone.with_alone", None)  # nothing is tried
    for key, value in (("rounds", "21"), ("systems.0.epsilon", "3")):
        assert call(monkeypatch, "run", "tiny.toml", "--set", f"{key}={value}") == 2
        assert f"differs in {key.split('.')[0]}" in capsys.readouterr().err


def test_privacy_states_claims_before_anything_runs(folder, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    assert call(monkeypatch, "privacy", "tiny.toml") == 0
    shown = capsys.readouterr().out
    assert "feducb: ε = 1 at δ = 1e-05, interactive" in shown
    assert "no finite ε: which messages there are depends on raw data" in shown
    assert "optimal running sum" in shown
    assert not (folder / "runs").exists()


def test_privacy_of_all_presets_is_shown_without_a_file(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    assert call(monkeypatch, "privacy", "--all") == 0
    shown = capsys.readouterr().out
    assert "feducb: ε = 1 at δ = 1e-05, interactive" in shown
    assert "samba-ucb: encrypted, no ε" in shown
    assert call(monkeypatch, "privacy", "--all", "--markdown") == 0
    assert capsys.readouterr().out.startswith("# What every preset claims\n")


def test_privacy_as_markdown(folder, monkeypatch, capsys):
    assert call(monkeypatch, "privacy", "tiny.toml", "--markdown") == 0
    shown = capsys.readouterr().out
    assert "| feducb-published | ε = 1, δ = 1e-05 | no finite ε |" in shown
    assert "\n## feducb\n\n**ε = 1 at" in shown


@pytest.mark.parametrize(
    "arguments", [[], ["--all", "tiny.toml"], ["--all", "--set", "rounds=3"], ["--markdown"]]
)
def test_privacy_is_of_a_file_or_of_all_presets(folder, monkeypatch, capsys, arguments):
    assert call(monkeypatch, "privacy", *arguments) == 2
    assert "name a CONFIG.toml, or give --all" in capsys.readouterr().err


class TestResume:
    """What there is to resume is said in one line; the exit code is 0 all the same."""

    @pytest.fixture(autouse=True)
    def as_users_see_warnings(self, monkeypatch):
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back afterwards
        with warnings.catch_warnings():
            warnings.simplefilter("default", ResumeWarning)
            yield

    def test_of_nothing_it_starts_from_the_beginning(self, folder, monkeypatch, capsys):
        assert call(monkeypatch, "run", "tiny.toml", "--resume") == 0
        shown = capsys.readouterr().err
        line = next(line for line in shown.splitlines() if line.startswith("fedbandits: warning"))
        assert "there is nothing to resume" in line
        assert "starts from the beginning" in line
        assert (folder / "runs" / "tiny" / "report.html").is_file()

    def test_of_a_complete_run_it_plays_nothing(self, folder, monkeypatch, capsys):
        assert call(monkeypatch, "run", "tiny.toml") == 0
        table = capsys.readouterr().out
        written = (folder / "runs" / "tiny" / "results.nc").stat().st_mtime_ns
        assert call(monkeypatch, "run", "tiny.toml", "--resume") == 0
        shown = capsys.readouterr()
        assert "holds a complete run already; nothing is played" in shown.err
        assert shown.out == table
        assert (folder / "runs" / "tiny" / "results.nc").stat().st_mtime_ns == written

    def test_of_a_figure_that_was_never_begun_it_says_so(self, folder, monkeypatch, capsys):
        def make(context):
            assert context.out.name == "fig"
            raise KeyboardInterrupt

        figure = FIGURES[min(FIGURES)]._replace(make=make)
        monkeypatch.setitem(FIGURES, "made-up", figure)
        arguments = ("reproduce", "made-up", "--resume", "--out", "fig")
        assert call(monkeypatch, *arguments) == 130
        assert "there is nothing to resume in fig" in capsys.readouterr().err
        (folder / "fig").mkdir()
        assert call(monkeypatch, *arguments) == 130
        assert "nothing to resume" not in capsys.readouterr().err


class TestAudit:
    few = ("--set", "rounds=60", "--set", "systems.0.schedule=every(4)")

    def test_verdicts_come_last_and_a_broken_claim_is_no_error(self, folder, monkeypatch, capsys):
        monkeypatch.setattr(agents_audit, "_HORIZONS", (13,))
        monkeypatch.setattr(agents_audit, "_MOST_RELEASES", 4)
        monkeypatch.setattr(audit_parts, "attack", attack_of_few_runs)
        monkeypatch.setattr(sensitivity_check, "_LEAST", 4)
        assert call(monkeypatch, "audit", "tiny.toml", "--runs", "200", *self.few) == 0
        *lines, summary = capsys.readouterr().out.splitlines()

        def line(beginning):
            (found,) = (one for one in lines if one.startswith(beginning))
            return found

        for name in ("feducb", "feducb-published"):
            noise = line(f"{name}: every released number has its planned noise: ")
            assert re.search(r" have their deviation, below 0\.\d\d × it would show$", noise)
        line("feducb: no record moves its releases further than is charged: ")
        sound, published = line("feducb: holds: "), line("feducb-published: broken: ε_low = ")
        assert "ε_low = " in sound
        assert "which messages there are" in published
        assert lines.index(sound) < lines.index(published)
        assert summary.startswith("audit of 2 systems: 1 hold, 1 broken (feducb-published)")
        page = (folder / "runs" / "tiny" / "audit.html").read_text(encoding="utf-8")
        assert "feducb-published" in page
        assert call(monkeypatch, "run", "tiny.toml", *self.few) == 0
        report = (folder / "runs" / "tiny" / "report.html").read_text(encoding="utf-8")
        assert summary.replace("'", "&#x27;") in report

    @pytest.mark.parametrize(
        ("outcome", "code"),
        [("broken", 1), ("not attacked", 1), ("holds", 0), ("nothing claimed", 0)],
    )
    def test_strict_ends_with_1_where_a_claim_is_broken_or_untested(
        self, folder, monkeypatch, capsys, outcome, code
    ):
        verdict = Verdict(
            system="[b]x", outcome=outcome, claimed_by="the paper", epsilon=1.0, delta=0.1,
            epsilon_low=2.0, tightness=0.5, noise_factor=1.0, noise_measured=math.nan,
            confidence=0.99, findings=(),
        )  # fmt: skip
        monkeypatch.setattr(
            "fedbandits.experiments.audits.audit.audit", lambda *_, **__: Audit((verdict,))
        )
        assert call(monkeypatch, "audit", "tiny.toml", "--strict") == code
        assert call(monkeypatch, "audit", "tiny.toml") == 0
        assert f"[b]x: {outcome}" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("nothing.toml",), "no such file"),
            (("tiny.toml", "--set", "systems.0.epsilon=-1"), "systems[0].epsilon: given -1"),
            (("tiny.toml", "--runs", "3"), "runs"),
        ],
    )
    def test_what_is_refused_ends_with_code_2(
        self, folder, monkeypatch, capsys, arguments, message
    ):
        assert call(monkeypatch, "audit", *arguments) == 2
        assert message in capsys.readouterr().err

    def test_a_damaged_audit_is_named(self, folder, monkeypatch, capsys):
        assert call(monkeypatch, "run", "tiny.toml") == 0
        (folder / "runs" / "tiny" / "audit.json").write_text("{")
        assert call(monkeypatch, "run", "tiny.toml") == 2
        assert "audit.json: cannot be read; delete it, or run" in capsys.readouterr().err


def test_a_ledger_is_verified_and_shown(folder, monkeypatch, capsys):
    claim = PrivacyClaim(
        unit="one [bold]visit", from_whom="all others", relation="replace-one",
        holds_for="interactive", epsilon=1.0, epsilon_contents=1.0, delta=1e-5, mu=0.3,
    )  # fmt: skip
    with Ledger.open(folder / "ledger.db", "hospitals") as ledger, ledger.begin() as connection:
        ledger.open_account(connection, "north", claim, 1.0, 1e-5)
        ledger.charge(connection, "north", "sum", 1, GaussianRelease(1.0, 10.0))
    assert call(monkeypatch, "privacy", "--ledger", "ledger.db") == 0
    shown = capsys.readouterr().out
    assert "one [bold]visit" in shown
    assert "1 releases, μ = 0.1: Gaussian, sensitivity 1, deviation 10" in shown
    assert "ledger of federation 'hospitals', 1 party, every row verified" in shown
    assert call(monkeypatch, "privacy", "--ledger", "no.db") == 2
    assert "no.db: there is no ledger" in capsys.readouterr().err


@pytest.mark.parametrize("hidden", ["the folder", "the file"])
def test_a_ledger_of_another_user_is_not_said_to_be_missing(hidden, monkeypatch, tmp_path):
    def stat(path, **more):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    (tmp_path / "ledger.db").write_text("theirs")
    with monkeypatch.context() as others:
        others.setattr(
            *(("os.stat", stat) if hidden == "the folder" else ("os.access", lambda *_: False))
        )
        with pytest.raises(LedgerError, match=r"cannot be read .* run this as the user"):
            Ledger.existing(tmp_path / "ledger.db")


def ledger_with(
    path, federation, party, deviation, steps=1, delta=1e-5, unit="one visit", one_noise=False
):
    """A ledger in which a party has paid for some releases, a stream each."""
    claim = PrivacyClaim(
        unit=unit, from_whom="all others", relation="replace-one", holds_for="interactive",
        epsilon=2.0, epsilon_contents=2.0, delta=delta, mu=0.5, one_noise=one_noise,
    )  # fmt: skip
    with Ledger.open(path, federation) as ledger, ledger.begin() as connection:
        ledger.open_account(connection, party, claim, 2.0, delta)
        for step in range(steps):
            event = GaussianRelease(1.0, deviation)
            ledger.charge(connection, party, f"{federation} {step}", 1, event)
        return ledger.statement(connection, party)


class TestLedgersTogether:
    """What several federations have cost the same records."""

    def test_squares_of_mu_add_up(self, folder, monkeypatch, capsys):
        one = ledger_with(folder / "a.db", "hospitals", "north", 10.0)
        other = ledger_with(folder / "b.db", "clinics", "agent-0", 5.0, delta=1e-6)
        assert call(monkeypatch, "privacy", "--ledger", "a.db", "b.db") == 0
        shown = " ".join(capsys.readouterr().out.split())
        mu = math.hypot(0.1, 0.2)
        total = add_up([one, other])
        assert (total.accounts, total.delta) == (2, 1e-6)
        assert total.spent_mu == pytest.approx(mu, rel=1e-12)
        assert total.spent_epsilon == gaussian.epsilon_of(total.spent_mu, 1e-6)
        assert total.mu == pytest.approx(math.hypot(one.mu, other.mu), rel=1e-12)
        for line in ("north: budget", "agent-0: budget", f"(μ = {mu:.4g})", "in total 2 accounts"):
            assert line in shown
        assert "units differ" not in shown
        assert call(monkeypatch, "privacy", "--ledger", "b.db", "--ledger", "a.db") == 0
        assert f"(μ = {mu:.4g})" in " ".join(capsys.readouterr().out.split())

    def test_a_party_is_added_up_by_its_name(self, folder, monkeypatch, capsys):
        for name, party in (("a", "north"), ("b", "north"), ("c", "south")):
            ledger_with(folder / f"{name}.db", name, party, 10.0, unit=f"one visit to {party}")
        assert call(monkeypatch, "privacy", "--ledger", "a.db", "b.db", "c.db") == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert (
            f"north in 'a', 'b': spent ε = {gaussian.epsilon_of(math.sqrt(0.02), 1e-5):.4g}"
            in shown
        )
        assert "south in" not in shown
        assert "in total 3 accounts" in shown
        assert "units differ one visit to north; one visit to south" in shown

    @pytest.mark.parametrize(("one_noise", "epsilon"), [(True, 2.155), (False, 1.465)])
    def test_members_with_one_noise_add_up(self, one_noise, epsilon, folder, monkeypatch, capsys):
        """Two members of one federation at ε = 1, and a person with a record at each of them."""
        deviation = 1.0 / gaussian.mu_of(1.0, 1e-5)
        accounts = [
            ledger_with(folder / file, "hospitals", party, deviation, one_noise=one_noise)
            for file, party in (("a.db", "north"), ("b.db", "south"))
        ]
        assert call(monkeypatch, "privacy", "--ledger", "a.db", "b.db") == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert f"in total 2 accounts: spent ε = {epsilon}" in shown
        assert ("one noise covers 'north', 'south': μ of these adds up" in shown) == one_noise
        # Another federation has another noise, also for such members.
        other = ledger_with(folder / "c.db", "clinics", "north", deviation, one_noise=one_noise)
        times = math.hypot(2.0, 1.0) if one_noise else math.sqrt(3.0)
        total = add_up([*accounts, other])
        assert total.spent_mu == pytest.approx(times / deviation, rel=1e-12)
        assert total.mu == pytest.approx(times * accounts[0].mu, rel=1e-12)
        assert total.one_noise == ((("north", "south"),) if one_noise else ())

    def test_a_copy_does_not_count_twice(self, folder, monkeypatch, capsys):
        ledger_with(folder / "a.db", "hospitals", "north", 10.0)
        shutil.copy(folder / "a.db", folder / "copy.db")
        for other in ("a.db", "copy.db"):
            assert call(monkeypatch, "privacy", "--ledger", "a.db", other) == 2
            assert "would count twice" in capsys.readouterr().err

    def test_a_renewed_federation_goes_on_with_its_account(self, folder):
        """The same ledger, a stream of its own: what was spent before stays spent."""
        first = ledger_with(folder / "a.db", "hospitals", "north", 10.0)
        again = Ledger.open(folder / "a.db", "hospitals", must_exist=True)
        with again as ledger, ledger.begin() as connection:
            event = GaussianRelease(1.0, 5.0)
            ledger.charge(connection, "north", "the second year", 1, event)
            statement = ledger.statement(connection, "north")
        assert statement.spent_mu == pytest.approx(math.hypot(first.spent_mu, 0.2), rel=1e-12)
        assert add_up([statement]).spent_mu == statement.spent_mu
        assert statement.left_mu < first.left_mu

    def test_one_configuration_at_most(self, folder, monkeypatch, capsys):
        assert call(monkeypatch, "privacy", "tiny.toml", "other.toml") == 2
        assert "name one CONFIG.toml" in capsys.readouterr().err


def test_the_version_is_told(monkeypatch, capsys):
    assert call(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.startswith("fedbandits 0.")


def test_labels_are_no_markup(folder, monkeypatch, capsys):
    text = TOML.replace('preset = "feducb"\n', 'preset = "feducb"\nlabel = "[/red] $x"\n', 1)
    (folder / "tiny.toml").write_text(text)
    assert call(monkeypatch, "run", "tiny.toml") == 0
    assert "[/red] $x" in capsys.readouterr().out


def test_list_names_presets_and_environments(monkeypatch, capsys):
    assert call(monkeypatch, "list") == 0
    shown = capsys.readouterr().out
    for name in ("feducb", "feducb-published", "linucb-alone", "classification", "linear"):
        assert name in shown


@pytest.mark.parametrize("command", [[], ["run"], ["privacy"], ["list"]])
def test_help_teaches(command):
    outcome = CliRunner().invoke(cli.app, [*command, "--help"])
    assert outcome.exit_code == 0
    assert "Usage" in outcome.output


@pytest.mark.parametrize("command", ["studio", "runs"])
def test_help_says_a_default_once(command):
    shown = CliRunner().invoke(cli.app, [command, "--help"]).output
    assert shown.count("[default: runs]") == 1
    assert "[[" not in shown


def test_the_module_can_be_called_from_a_shell(folder):
    outcome = subprocess.run(
        [sys.executable, "-m", "fedbandits", "list"], capture_output=True, text=True, check=True
    )
    assert "feducb" in outcome.stdout


def test_a_warning_is_one_line_and_no_error(folder, monkeypatch, capsys):
    (folder / "peers.toml").write_text(
        TOML + 'preset = "feducb-p2p"\n'.join(["[[systems]]\n", "gamma = 3\n"])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert call(monkeypatch, "privacy", "peers.toml") == 0
    assert capsys.readouterr().err == (
        "fedbandits: warning: systems[2].gamma: given 3, but no two agents of this graph are more "
        "than 1 hops apart: messages are passed on in vain\n"
    )


def test_a_graph_s_file_is_named_when_it_is_wrong(folder, monkeypatch, capsys):
    (folder / "links.txt").write_text("0 1\n1 0\n")
    text = TOML + '[[systems]]\npreset = "feducb-p2p"\ngraph = "links.txt"\n'
    (folder / "peers.toml").write_text(text)
    assert call(monkeypatch, "run", "peers.toml") == 2
    assert (
        "fedbandits: systems[2].graph: links.txt, line 2: 1 and 0 were" in capsys.readouterr().err
    )
    (folder / "links.txt").write_text("0 1\n")
    assert call(monkeypatch, "run", "peers.toml") == 0


#: What takes long to import, and what no key of a configuration needs.
HEAVY = {"numba", "scipy", "pandas", "xarray", "matplotlib", "sklearn", "networkx", "cryptography"}
KINDS = {
    "feducb": "linear", "feducb-p2p": "linear", "fedlinucb-async": "linear", "pfcb": "procurement",
    "samba-ucb": "bernoulli", "fclub": "clustered", "fclub-published": "clustered",
}  # fmt: skip


@pytest.mark.parametrize(("preset", "kind"), KINDS.items())
def test_a_wrong_key_is_refused_without_what_a_run_needs(tmp_path, preset, kind):
    config = tmp_path / "wrong.toml"
    config.write_text(
        f'rounds = 9\n[environment]\nkind = "{kind}"\n'
        f'[[systems]]\npreset = "{preset}"\nepsilom = 1\n',
        encoding="utf-8",
    )
    script = (
        "import sys\nfrom fedbandits.cli import main\n"
        f"sys.argv = ['fedbandits', 'run', {str(config)!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        f"    print(end.code, sorted({HEAVY} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "systems[0].epsilom: unknown key" in done.stderr
    assert done.stdout.split("\n")[0] == "2 []"
