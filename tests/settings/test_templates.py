"""Files that are written for a beginner, and examples that are found by name."""

from __future__ import annotations

import pathlib
import re
import tomllib

import pytest

import fedbandits as fb
from fedbandits.settings.reference.templates import template
from fedbandits.settings.toml_files import BUNDLED, examples, experiment_file
from fedbandits.systems import preset_names

ROOT = pathlib.Path(__file__).parents[2]


def loaded(folder, text):
    path = folder / "written.toml"
    path.write_text(text, encoding="utf-8")
    return fb.load(path)


@pytest.mark.parametrize("preset", preset_names())
def test_a_written_file_is_the_preset_by_itself(tmp_path, preset):
    text = template([preset], tmp_path / "written.toml")
    experiment = loaded(tmp_path, text)
    assert experiment.systems == (fb.system(preset),)
    assert experiment.environment == type(experiment.environment)()
    assert experiment.name == "written"
    assert max(map(len, text.splitlines())) <= 100
    for key in type(experiment.systems[0].config).__struct_fields__:
        assert re.search(rf"^#{key} = ", text, re.MULTILINE), key


@pytest.mark.parametrize("preset", preset_names())
def test_its_commented_defaults_are_defaults(tmp_path, preset):
    """With every # removed that stands before a key, it is the same experiment."""
    text = template([preset], tmp_path / "written.toml")
    assert loaded(tmp_path, re.sub(r"^#(?=\w+ = )", "", text, flags=re.MULTILINE)) == loaded(
        tmp_path, text
    )


def test_several_presets_share_a_world(tmp_path):
    text = template(["linucb-alone", "feducb", "feducb-p2p", "feducb"])
    experiment = loaded(tmp_path, text)
    assert [entry.preset for entry in experiment.systems] == [
        "linucb-alone", "feducb", "feducb-p2p",
    ]  # fmt: skip
    assert experiment.systems == tuple(map(fb.system, ("linucb-alone", "feducb", "feducb-p2p")))
    uncommented = re.sub(r"^#(?=\w+ = )", "", text, flags=re.MULTILINE)
    assert loaded(tmp_path, uncommented).systems == experiment.systems


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["feducb", "pfcb"], "feducb plays in linear, classification, ratings, table; pfcb"),
        (["fedcub"], "init --from: given 'fedcub', did you mean 'feducb'"),
        (["quickstart", "feducb"], "'quickstart' is an example; it is copied alone"),
    ],
)
def test_what_does_not_fit_is_refused(sources, message):
    with pytest.raises(fb.ConfigError, match=re.escape(message)):
        template(sources)


def test_an_example_is_copied_as_it_is():
    assert template(["quickstart"]) == (ROOT / "examples" / "quickstart.toml").read_text(
        encoding="utf-8"
    )


def test_a_name_that_no_experiment_can_have_is_left_out(tmp_path):
    text = template(["feducb"], tmp_path / "-odd.toml")
    assert loaded(tmp_path, text).name == "written"  # as the file is
    odd = tmp_path / "-odd.toml"
    odd.write_text(text, encoding="utf-8")
    assert fb.load(odd).name == "experiment"
    assert fb.load(odd, ["name=chosen"]).name == "chosen"


class TestExamples:
    def test_the_wheel_has_those_that_are_listed(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
        assert included == {
            f"examples/{name}.toml": f"fedbandits/examples/{name}.toml" for name in BUNDLED
        }

    @pytest.mark.parametrize("name", BUNDLED)
    def test_each_says_what_it_shows_and_how_long_it_takes(self, name):
        example = examples()[name]
        assert example.shows.endswith((".", "?"))
        assert "#" not in example.shows
        assert example.takes
        assert fb.load(name).name == name

    def test_a_file_of_that_name_comes_first(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert experiment_file("linear") == examples()["linear"].path
        (tmp_path / "linear").write_text(template(["pfcb"]), encoding="utf-8")
        assert fb.load("linear").systems[0].preset == "pfcb"

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("quikstart", "did you mean 'quickstart'? examples: quickstart, linear"),
            ("feducb", "it is a preset: `fedbandits init --from feducb` writes a file"),
            ("quickstart.toml", "quickstart.toml: no such file"),
            ("./quickstart", "quickstart: no such file"),
        ],
    )
    def test_what_is_neither_is_refused(self, tmp_path, monkeypatch, name, message):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(fb.ConfigError, match=re.escape(message)):
            fb.load(name)
