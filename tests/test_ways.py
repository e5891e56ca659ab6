"""Finding one's way on the command line: list NAME, explain, init, completion, help."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from typer.testing import CliRunner

import fedbandits as fb
from fedbandits import cli
from fedbandits.cli import described
from fedbandits.cli.help import EXAMPLES
from fedbandits.cli.options import configurations, explained_names, listed_names, sources
from fedbandits.environments import environments
from fedbandits.reproduce import FIGURES
from fedbandits.settings.reference.glossary import WORDS
from fedbandits.settings.reference.places import parts, places
from fedbandits.settings.toml_files import BUNDLED
from fedbandits.systems import preset_names, systems


def shown(*arguments):
    """What a command prints, its lines joined: where lines break is no matter."""
    outcome = CliRunner().invoke(cli.app, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return " ".join(outcome.output.split())


class TestList:
    def test_everything_is_listed(self):
        text = shown("list")
        for name in [*preset_names(), *environments(), *FIGURES, *BUNDLED]:
            assert f" {name} " in text

    @pytest.mark.parametrize("name", [next(iter(system.presets)) for system in systems()])
    def test_a_preset_shows_all_its_keys_and_its_claim(self, name):
        text = shown("list", name)
        config = fb.system(name).config
        assert all(f" {key} = " in text for key in type(config).__struct_fields__)
        assert " claims " in text
        assert " not " in text
        assert f'preset = "{name}"' in text

    def test_defaults_are_the_preset_s_own(self):
        text = shown("list", "ldp-silo")
        assert 'schedule = "every(auto)"' in text
        assert 'local_view = "raw"' in text
        assert "no finite ε" in shown("list", "feducb-published")

    @pytest.mark.parametrize("system", [system.name for system in systems()])
    def test_a_system_shows_how_its_presets_differ(self, system):
        text = shown("list", system)
        found = next(each for each in systems() if each.name == system)
        for preset in found.presets.values():
            assert preset.description in text
            assert all(f"{key} = " in text for key in preset.settings)

    @pytest.mark.parametrize("kind", environments())
    def test_an_environment_shows_its_keys_and_who_plays(self, kind):
        text, environment = shown("list", kind), environments()[kind]
        assert all(f" {key} " in text for key in environment.__struct_fields__)
        assert f"parties {environment.WORDS.parties} who plays" in text
        assert f'[environment] kind = "{kind}"' in text

    @pytest.mark.parametrize("name", FIGURES)
    def test_a_figure_shows_its_scales_and_its_data(self, name):
        text, figure = shown("list", name), FIGURES[name]
        for part in (figure.title, figure.source, figure.quick, figure.full, figure.data):
            assert part in text

    @pytest.mark.parametrize("name", [*parts(), *BUNDLED])
    def test_parts_and_examples_are_shown(self, name):
        assert name in shown("list", name)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("feducbb", "did you mean 'feducb'? `fedbandits list` shows all names"),
            ("rounds", "is a key of a configuration; `fedbandits explain rounds` says more"),
        ],
    )
    def test_an_unknown_name_is_refused(self, name, message):
        with pytest.raises(fb.ConfigError, match=re.escape(message)):
            shown("list", name)


class TestOffers:
    """What other packages offer is named; nothing of theirs is run before it is asked for."""

    @pytest.fixture
    def offered(self, monkeypatch, tmp_path):
        (tmp_path / "foreign_coins.py").write_text(
            "import fedbandits as fb\n"
            "class Coins(fb.environments.Environment, frozen=True, kw_only=True, tag='coins'):\n"
            "    '''Coins.\n\n    Parameters\n    ----------\n    sides\n"
            "        How many.\n    '''\n"
            "    sides: int = 2\n",
            encoding="utf-8",
        )
        monkeypatch.syspath_prepend(tmp_path)
        known = EntryPoints(
            [
                EntryPoint("coins", "foreign_coins:Coins", "fedbandits.environments"),
                EntryPoint("broken", "foreign_nothing:SYSTEM", "fedbandits.systems"),
            ]
        )
        monkeypatch.setattr(described, "entry_points", known.select)
        yield
        sys.modules.pop("foreign_coins", None)

    def test_they_are_named_without_running_their_code(self, offered):
        text = shown("list")
        assert "coins environment offered by foreign_coins:Coins" in text
        assert "broken system offered by foreign_nothing:SYSTEM" in text
        shown("list", "feducb")
        assert "foreign_coins" not in sys.modules

    def test_one_is_loaded_when_its_name_is_asked_for(self, offered):
        assert "sides = 2 How many. a whole number" in shown("list", "coins")
        with pytest.raises(fb.ConfigError, match="broken is offered by foreign_nothing"):
            shown("list", "broken")


class TestExplain:
    @pytest.mark.parametrize("path", sorted({place.key.path for place in places()}))
    def test_every_key_is_explained(self, path):
        text = shown("explain", path)
        for place in places():
            if place.key.path == path:
                assert " ".join(place.key.meaning.split()) in text

    @pytest.mark.parametrize("word", sorted({word for words in WORDS.values() for word in words}))
    def test_every_column_variable_and_term_is_explained(self, word):
        text = shown("explain", word)
        for words in WORDS.values():
            assert words.get(word, "") in text

    def test_one_name_of_several_keys_says_whose_each_is(self):
        text = shown("explain", "epsilon")
        assert "belongs to feducb, feducb_p2p" in text
        assert "belongs to pfcb" in text
        assert "the probability of a random arm" in text
        assert "a variable of results" in text

    def test_an_exit_code_is_explained(self):
        assert "an old backup was put back" in shown("explain", "14")

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            ("epsilno", "did you mean 'epsilon'?"),
            ("tightnes", "did you mean 'tightness'?"),
            ("feducb", "`fedbandits list feducb` says what it is"),
        ],
    )
    def test_an_unknown_key_is_refused(self, key, message):
        with pytest.raises(fb.ConfigError, match=re.escape(message)):
            shown("explain", key)


class TestInit:
    def test_what_is_written_runs(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "fedbandits run experiment.toml" in shown("init")
        assert "Report:" in shown("run", "experiment.toml", "--set", "rounds=20")

    def test_nothing_is_overwritten_unless_forced(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "mine.toml").write_text("mine", encoding="utf-8")
        with pytest.raises(fb.OutputExistsError, match="--force"):
            shown("init", "mine.toml")
        assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == "mine"
        shown("init", "mine.toml", "--force", "--from", "pfcb", "--from", "fcb")
        assert [entry.label for entry in fb.load("mine.toml").systems] == ["pfcb", "fcb"]

    def test_a_folder_that_is_not_there_is_named(self, tmp_path):
        with pytest.raises(fb.ConfigError, match="cannot be written"):
            shown("init", str(tmp_path / "nowhere" / "mine.toml"))


class TestCompletion:
    def test_names_are_completed(self, tmp_path, monkeypatch):
        assert {"feducb", "feducb-2", "feducb_p2p"} <= set(listed_names("fedu"))
        assert "growing" in listed_names("g")
        assert {"epsilon", "epsilon_accounted"} <= set(explained_names("eps"))
        assert set(sources("lin")) == {
            "linear", "linucb-alone", "linucb-pooled", "linucb-pooled-hybrid", "linucb-per-user",
            "lints-alone", "lints-pooled", "lints-hybrid",
        }  # fmt: skip
        monkeypatch.chdir(tmp_path)
        (tmp_path / "sub").mkdir()
        for file in ("quick.toml", "notes.txt", "sub/inner.toml"):
            (tmp_path / file).touch()
        assert configurations("q") == ["quickstart", "quick.toml"]
        assert configurations("s") == ["samba", "shops", "sub/"]
        assert configurations("sub/") == ["sub/inner.toml"]
        assert configurations("no/where") == []

    @pytest.mark.parametrize(
        ("words", "completed"),
        [
            ("fedbandits list fedu", "feducb-published"),
            ("fedbandits run quick", "quickstart"),
            ("fedbandits reproduce pfcb-", "pfcb-5"),
            ("fedbandits init --from ldp", "ldp-silo"),
            ("fedbandits explain epsilon_a", "epsilon_accounted"),
        ],
    )
    def test_a_shell_waits_for_nothing_heavy(self, words, completed):
        script = (
            "import os, sys\n"
            "os.environ['_FEDBANDITS_COMPLETE'] = 'complete_bash'\n"
            f"os.environ['COMP_WORDS'] = {words!r}\n"
            f"os.environ['COMP_CWORD'] = '{len(words.split()) - 1}'\n"
            "sys.argv = ['fedbandits']\n"
            "from fedbandits.cli import main\n"
            "try:\n    main()\nexcept SystemExit:\n    pass\n"
            "heavy = {'numba', 'scipy', 'pandas', 'xarray', 'matplotlib', 'sklearn', 'networkx'}\n"
            "print('heavy:', sorted(heavy & set(sys.modules)))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        *names, heavy = done.stdout.splitlines()
        assert completed in names
        assert heavy == "heavy: []"


class TestHelp:
    def page(self, *command):
        outcome = CliRunner().invoke(
            cli.app, [*command, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}
        )
        assert outcome.exit_code == 0
        return outcome.output

    @pytest.mark.parametrize("command", EXAMPLES)
    def test_every_command_shows_examples_that_fit(self, command):
        page = self.page(command)
        for typed, what in EXAMPLES[command]:
            assert re.search(rf"{re.escape(typed)} +{re.escape(what)}\s*\n", page), typed

    def test_paragraphs_flow_and_brackets_are_shown(self):
        page = self.page("run")
        assert "[default: runs/NAME]" in " ".join(page.replace("│", " ").split())
        assert "keeps the replicates" in " ".join(page.split())
        assert "\n the replicates that are finished. Long runs" in page

    def test_the_first_page_groups_commands_and_says_where_to_begin(self):
        page = self.page()
        for text in ("Play and measure", "Find out", "Between machines", "run quickstart"):
            assert text in page

    def test_a_wrong_command_is_answered_with_a_right_one(self):
        outcome = CliRunner().invoke(cli.app, ["rum"])
        assert outcome.exit_code == 2
        assert "Did you mean 'run'?" in outcome.output

    def test_a_wrong_figure_and_a_wrong_label_are_answered_with_right_ones(self):
        with pytest.raises(fb.ConfigError, match="did you mean 'feducb-2'"):
            shown("reproduce", "feducb-3")
        with pytest.raises(fb.ConfigError, match="there is no 'pooled'; did you mean 'pooled in c"):
            fb.load("quickstart", ["systems.pooled.epsilon=1"])
