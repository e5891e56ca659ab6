"""Every preset is a function that can be completed, at run time and for editors."""

from __future__ import annotations

import inspect

import msgspec
import pytest

import fedbandits as fb
from fedbandits._schema import convert
from fedbandits.settings.reference.docstrings import marked_meanings_of
from fedbandits.settings.reference.presets import STUB, identifier, settings_of_preset, stub
from fedbandits.settings.written import settings_of, written
from fedbandits.systems import System, find_preset, preset_names, registry, systems
from fedbandits.systems.agents.config import Every
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.pfcb.config import PFCB, WithinRadius

PRESETS = preset_names()


def test_every_preset_is_there():
    assert sorted(dir(fb.presets)) == sorted(identifier(name) for name in PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_makes_what_its_name_does(name):
    function = getattr(fb.presets, identifier(name))
    assert function() == fb.system(name)
    assert function(label="mine") == fb.system(name, label="mine")


@pytest.mark.parametrize("name", PRESETS)
def test_the_defaults_in_a_signature_are_the_presets_own(name):
    function = getattr(fb.presets, identifier(name))
    parameters = inspect.signature(function).parameters
    shown = {key: each.default for key, each in parameters.items()}
    assert function(**shown) == function()
    assert list(shown) == ["label", *type(fb.system(name).config).__struct_fields__]


@pytest.mark.parametrize("name", PRESETS)
def test_help_says_what_a_preset_is_and_what_its_keys_mean(name):
    system = find_preset(name)
    text = inspect.getdoc(getattr(fb.presets, identifier(name)))
    description = system.presets[name].description
    assert text.startswith(f"{description[0].upper()}{description[1:]}.")
    for each in settings_of_preset(system, name):
        assert each.meaning, each.name
        assert each.meaning.split()[0] in text


def test_settings_are_checked():
    assert fb.presets.feducb(epsilon=2, schedule=Every(3)).config == FedUCB(
        epsilon=2.0, schedule=Every(3)
    )
    with pytest.raises(fb.ConfigError, match="did you mean 'epsilon'"):
        fb.presets.feducb(epsilom=1)
    with pytest.raises(fb.ConfigError, match="epsilon: given 'a', allowed: a number > 0"):
        fb.presets.feducb(epsilon="a")
    with pytest.raises(AttributeError, match="did you mean 'feducb'"):
        fb.presets.feduc  # noqa: B018


def test_a_system_from_outside_has_functions_too(monkeypatch):
    class Echo(type(find_preset("feducb"))):
        name = "echo"
        presets = {"echo-loud": find_preset("feducb").presets["feducb"]}  # noqa: RUF012

    monkeypatch.setattr(registry, "_registered", {})
    fb.register(Echo())
    assert "echo_loud" in dir(fb.presets)
    assert fb.presets.echo_loud(epsilon=3.0) == fb.system("echo-loud", epsilon=3.0)


def test_the_stub_for_editors_is_current():
    assert STUB.read_text(encoding="utf-8") == stub(), (
        "run python -m fedbandits.settings.reference.presets"
    )


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_written_reads_back(name):
    config = fb.system(name).config
    assert convert(settings_of(config), type(config), name) == config


def test_parts_are_written_short_where_they_can_be():
    assert written(Every(3)) == "every(3)"
    assert written(fb.system("feducb-p2p", graph="graphs/a.txt").config.graph) == "graphs/a.txt"
    odd = fb.system("feducb-p2p", graph={"kind": "file", "path": "a, b"}).config.graph
    assert written(odd) == {"kind": "file", "path": "a, b"}
    assert written(WithinRadius()) == "within-radius(0.1, pooled, shared)"
    assert written(1.0) == 1.0


def test_meanings_come_from_the_class_that_says_most():
    found = marked_meanings_of(FedUCB)
    assert found["schedule"].startswith("When all agents sync")  # its own docstring
    assert found["epsilon"].startswith("ε of the budget")  # of the class above
    assert "Parameters" not in " ".join(found.values())
    for system in systems():
        assert isinstance(system, System)
        names = {field.name for field in msgspec.structs.fields(system.config_type)}
        assert names <= set(marked_meanings_of(system.config_type))
    assert set(marked_meanings_of(PFCB)) == set(PFCB.__struct_fields__)
