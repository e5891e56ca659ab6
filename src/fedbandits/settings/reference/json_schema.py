"""The JSON schema of a configuration: an editor completes keys with it, and marks wrong values.

Types and limits are read from the structs, meanings from their docstrings. A schema cannot state
rules about several keys, or about data: ``fedbandits run`` checks these rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fedbandits.environments import environments
from fedbandits.settings.experiment import Experiment, ExperimentKeys, variant
from fedbandits.settings.reference.docstrings import meanings_of, summary_of
from fedbandits.settings.written import written
from fedbandits.systems import System, find_preset, systems

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{name}"
#: Further keys of a system's table.
_LABEL = {"type": "string", "minLength": 1, "maxLength": 60}
_MODULE = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of an experiment's TOML file.

    It contains every key of every preset and environment, with its meaning, limits and default.
    Parts may be tables, or short: ``"growing(1.5)"``.
    """
    known = systems()
    kinds: list[Any] = [
        *environments().values(),
        *(system.config_type for system in known),
        ExperimentKeys,
    ]
    references, definitions = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    for kind, reference in zip(kinds, references, strict=True):
        documented = Experiment if kind is ExperimentKeys else kind
        _explain(definitions[_name_of(reference)], documented)
    _in_javascript(definitions)
    for definition in definitions.values():
        _allow_short_parts(definition, definitions)
    head = definitions.pop(_name_of(references[-1]))
    worlds, configs = references[: len(environments())], references[len(environments()) : -1]
    head["properties"]["environment"] = {"oneOf": list(worlds)}
    head["properties"]["systems"] = {"type": "array", "minItems": 1, "items": _system(known)}
    head["properties"] |= {"module": _MODULE, "module_digests": {"type": "object"}}
    head["properties"]["sweep"] = {"type": "object", "description": "Keys, each with its values."}
    for system, reference in zip(known, configs, strict=True):
        _as_table(definitions[_name_of(reference)], system)
    return {"$schema": _DIALECT, **head, "title": "fedbandits experiment", "$defs": definitions}


def _name_of(reference: dict[str, Any]) -> str:
    return str(reference["$ref"]).removeprefix("#/$defs/")


def _explain(definition: dict[str, Any], kind: type) -> None:
    """Describe a table and its keys by the first sentences of their documentation."""
    definition["description"] = summary_of(kind)
    meanings = meanings_of(kind)
    for key, value in definition["properties"].items():
        if meaning := meanings.get(key):
            value["description"] = meaning


def _in_javascript(node: Any) -> None:
    """Write patterns in JavaScript's form, and descriptions of parts in one paragraph."""
    for table in _tables(node):
        if isinstance(table.get("pattern"), str):
            table["pattern"] = table["pattern"].replace("\\Z", "$")
        if isinstance(table.get("description"), str):
            table["description"] = table["description"].split("\n\n")[0].replace("\n", " ")


def _tables(node: Any) -> Iterator[dict[str, Any]]:
    """Iterate over all tables in a schema, from the outermost on."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from _tables(inner)


def _allow_short_parts(definition: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Add the short form, a text, to each key that is a part with a kind."""
    for key, value in definition.get("properties", {}).items():
        kinds = [name for option in _options(value) if (name := _kind(option, definitions))]
        if kinds:
            path = r"|.*[./\\].*" if "file" in kinds else ""
            short = {"type": "string", "pattern": rf"^\s*({'|'.join(kinds)})\s*(\(.*\))?\s*$"}
            if path:
                short["pattern"] = f"({short['pattern']}){path}"
            stays = {name: value[name] for name in ("description", "default") if name in value}
            definition["properties"][key] = {"anyOf": [*_options(value), short], **stays}


def _options(value: dict[str, Any]) -> list[dict[str, Any]]:
    bare = {name: inner for name, inner in value.items() if name not in ("description", "default")}
    return list(value.get("anyOf", [bare]))


def _kind(option: dict[str, Any], definitions: dict[str, Any]) -> str | None:
    """Return the kind of a part; None for an option that is no part."""
    definition = definitions.get(_name_of(option)) if "$ref" in option else None
    tag = (definition or {}).get("properties", {}).get("kind", {})
    kind: str | None = tag.get("const", (tag.get("enum") or [None])[0])
    return kind


def _as_table(definition: dict[str, Any], system: System[Any]) -> None:
    """Make the table of a system from its configuration: with a preset and a label."""
    presets = {"enum": list(system.presets), "description": "The preset: where settings begin."}
    definition["properties"] = {"preset": presets, "label": _LABEL} | definition["properties"]
    definition["required"] = ["preset"]
    definition["additionalProperties"] = False


def _system(known: list[System[Any]]) -> dict[str, Any]:
    """Describe one table of ``systems``: its preset determines its keys, and their defaults."""
    presets = [name for system in known for name in system.presets]
    return {
        "type": "object",
        "required": ["preset"],
        "properties": {
            "preset": {
                "enum": presets,
                "description": "The preset: where settings begin. fedbandits list shows them.",
            }
        },
        "allOf": [_rule(name) for name in presets],
    }


def _rule(preset: str) -> dict[str, Any]:
    system = find_preset(preset)
    assert system is not None  # noqa: S101 - it was listed
    config = variant({"preset": preset}, preset).config
    preset_settings = system.presets[preset].settings
    return {
        "if": {"properties": {"preset": {"const": preset}}},
        "then": {
            "$ref": f"#/$defs/{system.config_type.__name__}",
            "description": system.presets[preset].description,
            "properties": {
                key: {"default": written(getattr(config, key))} for key in preset_settings
            },
        },
    }
