"""Docstrings of public names are in plain words: short sentences, every parameter explained."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from public_names import public_names

MOST_WORDS = 30
LONGEST_SUMMARY = 100
PUBLIC = public_names()

_UNDERLINE = re.compile(r"^-{3,}$")
_CODE = re.compile(r"``[^`]*``|`[^`]*`")
_ROLE = re.compile(r":\w+(?::\w+)?:`[^`]*`")
#: Not the end of a sentence, though a full stop and a space follow.
_SHORT_FORM = re.compile(r"\b(?:et al|cf|e\.g|i\.e|vs|Eq|eq|Alg|Thm|Sec|Fig|Proc|No)\.(?=\s)")
_WORD = re.compile(r"[A-Za-z]{2,}|[aI]\b")
#: Vectors and matrices, whose rows semicolons part.
_FORMULA = re.compile(r"\[[^\]]*\]")


def blocks(docstring: str) -> Iterator[str]:
    """The texts of a docstring: paragraphs, and each entry of a numpy section by itself."""
    held: list[str] = []
    lines = docstring.splitlines()
    literal = None
    section = False
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if literal is not None and (not line.strip() or indent > literal):
            continue
        literal = None
        starts_section = bool(_UNDERLINE.match(following))
        underline = bool(_UNDERLINE.match(line.strip()))
        entry = section and indent == 0  # a parameter's name, or the type of what is returned
        item = line.lstrip().startswith(("* ", "- ", "| ", ">>> "))
        if not line.strip() or starts_section or underline or entry or item:
            if held:
                yield " ".join(held)
            held = []
            section = section or underline
            if not line.strip() or starts_section or underline or entry:
                continue
        held.append(line.strip())
        if line.rstrip().endswith("::"):
            literal = indent
    if held:
        yield " ".join(held)


def plain(text: str) -> str:
    """The text with code and references as one word each, and without short forms' stops."""
    text = _ROLE.sub("Name", text)
    text = _CODE.sub("Name", text)
    return _SHORT_FORM.sub("short", text)


def sentences(text: str) -> list[str]:
    """What a text says, split where a sentence ends."""
    return [each for each in re.split(r"(?<=[.!?])[)\"'”]*\s+", plain(text).strip()) if each]


def clauses(text: str) -> list[str]:
    """Sentences, split once more at colons and semicolons."""
    return [each for one in sentences(text) for each in re.split(r"[:;](?:\s+|$)", one) if each]


def parameters(thing: Any) -> list[str]:
    """The names of what a callable or a struct takes."""
    if inspect.isclass(thing):
        if issubclass(thing, msgspec.Struct):
            return [field for field in thing.__struct_fields__ if not field.startswith("_")]
        if "__init__" not in vars(thing) or getattr(thing, "_is_protocol", False):
            return []
        thing = thing.__init__
    if not (inspect.isroutine(thing) and callable(thing)):
        return []
    names = inspect.signature(thing).parameters
    return [name for name in names if name not in {"self", "cls"} and not name.startswith("_")]


def explained(name: str, thing: Any) -> str:
    """The docstrings that may explain a thing's parameters.

    A struct's fields may be explained by the classes above it. What several methods or functions
    take may be explained once, by their class or their module.
    """
    if inspect.isclass(thing):
        return "\n".join(inspect.getdoc(each) or "" for each in thing.__mro__[:-1])
    owner = PUBLIC.get(name.rpartition(".")[0]) or inspect.getmodule(thing)
    above = explained("", owner) if inspect.isclass(owner) else inspect.getdoc(owner)
    return f"{inspect.getdoc(thing)}\n{above}"


def unplain(text: str) -> Iterator[str]:
    """What is wrong with a docstring's sentences."""
    for block in blocks(text):
        for each in clauses(block):
            count = len(_WORD.findall(each))
            if count > MOST_WORDS:
                yield f"{count} words: {each}"
        for each in sentences(block):
            if _FORMULA.sub("", each).count(";") > 1:
                yield f"more than two clauses: {each}"


def ill_summed(text: str) -> Iterator[str]:
    """What is wrong with the first line of a docstring."""
    summary = re.split(r"\n\s*\n", text.strip())[0]
    line = " ".join(summary.split())
    if not line:
        yield "no docstring"
    elif len(line) > LONGEST_SUMMARY:
        yield f"summary of {len(line)} characters: {line}"
    elif len(sentences(line)) != 1:
        yield f"summary of several sentences: {line}"
    elif not line.endswith((".", "?")):
        yield f"summary without an end: {line}"


def unexplained(name: str, thing: Any) -> Iterator[str]:
    """Parameters that no docstring explains.

    An entry of the section *Parameters* explains one, and so does a sentence that names it. A
    sentence is enough for functions of one or two parameters, which need no section.
    """
    text = explained(name, thing)
    for parameter in parameters(thing):
        if not re.search(rf"(?<!\w){parameter}(?!\w)", text):
            yield f"nothing explains the parameter {parameter}"


def test_docstrings_are_in_plain_words():
    wrong = {}
    for name, thing in PUBLIC.items():
        text = inspect.getdoc(thing) or ""
        wrong[name] = [*ill_summed(text), *unplain(text), *unexplained(name, thing)]
    assert {name: problems for name, problems in wrong.items() if problems} == {}


def _takes_three(first, second, third):
    """Add three numbers.

    Parameters
    ----------
    first, second
        Two of them.
    """


def test_the_rules_find_what_is_not_plain():
    long = "word " * (MOST_WORDS + 1)
    assert [*ill_summed("")] == ["no docstring"]
    assert [*ill_summed(f"{long}{long}.")]
    assert [*ill_summed("One thing. Another thing.")]
    assert [*unplain(f"Fine.\n\n{long}.")]
    assert [*unplain(f"Fine.\n\nParameters\n----------\nname\n    {long}.")]
    assert [*unplain("Fine.\n\nOne; two; three.")]
    assert [*unexplained("", _takes_three)] == ["nothing explains the parameter third"]


def test_the_rules_leave_alone_what_is_plain():
    code = " ".join(["x = f(y)"] * MOST_WORDS)
    assert [*ill_summed("Adds two numbers (Liu et al. 2022).")] == []
    assert [*unplain(f"Fine::\n\n    {code}\n\nFine, ``{code}``.")] == []
    assert [*unplain("Let [a; b; c] be a vector; d is its norm.")] == []


def test_all_kinds_of_public_names_are_found():
    for name in (
        "errors.ConfigError",
        "environments.linear.Linear",
        "federation.party.Party.receive",
        "presets.feducb",
        "settings.federation_file.FederationFile",
        "systems.pfcb.config.WithinRadius",
        "testing.systems.survives_save_and_load",
    ):
        assert f"fedbandits.{name}" in PUBLIC
