"""Docstrings begin as sentences do: those of functions with a verb, all others with a noun."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

import fedbandits

ROOT = pathlib.Path(fedbandits.__file__).parent
#: Folders and files of the package whose docstrings are looked at.
LOOKED_AT = tuple(
    path.name for path in sorted(ROOT.iterdir())
    if (path.is_dir() or path.suffix == ".py") and path.name != "__pycache__"
)  # fmt: skip
#: Verbs that docstrings of functions may begin with.
VERBS = """
Acknowledge Act Add Admit Agree Answer Arrange Ask Attack Begin Book Bound Bring Build Buy Call
Carry Change Charge Check Choose Close Collect Commit Compare Compile Complete Compute Connect
Continue Convert Copy Count Create Cut Deal Decide Declare Decode Decrypt Delete Deliver Derive
Describe Determine Discard Disconnect Divide Do Draw Drive Drop Embed Encode Encrypt End Enter
Escape Estimate Examine Exchange Expand Explain Fail Fill Find Finish Fit Flip Fold Force Forget
Generate Give Go Greet Group Hand Handle Hash Have Hold Ignore Import Install Issue Iterate Join
Judge Keep Kill Lay Learn Leave Let List Listen Load Lock Log Look Lower Make Map Mark Mask Measure
Merge Move Name Note Observe Offer Open Order Pack Pick Place Plan Play Pool Pop Predict Prepare
Price Print Publish Pull Put Raise Read Receive Record Recover Reduce Refine Refuse Register
Release Remove Renew Replace Replay Report Resolve Restore Return Revoke Rewrite Rotate Round Run
Save Say Score Seal Send Serve Set Settle Share Shorten Show Sign Sort Spell Split Stack Start
Stop Store Summarise Sweep Switch Sync Take Tell Translate Trust Try Turn Unpack Update Upload Use
Verify Wait Walk Warn Weigh Widen Work Write Yield
"""
#: Words with which no sentence of a docstring's first line begins.
FRAGMENTS = """
After Also And Another As At Before Both But By Either Everybody Everything For From How If In It
Its Neither No Nobody None Not Nothing Of On Only Or Others Same So Such Than That Their Them Then
These They This Those To Until What Whatever When Where Whether Which Whichever Who Whoever Whom
Whose Why With Without Yes
"""
#: Whole docstrings that say nothing by themselves.
BARE = re.compile(
    r"(?:All|Any|Each|Every|Many|Most|One|Some|The same)"
    r"(?: of (?:it|them|these|those|the above))?\.\Z"
)
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
#: Functions that read like nouns, and functions whose docstring is the help of a command's group.
NOUNS = {"property", "cached_property", "callback"}


def is_named_like_a_noun(node: ast.AST) -> bool:
    """Tell whether a node is no function, or one that reads like a noun."""
    if not isinstance(node, FUNCTIONS):
        return True
    decorators = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return any(getattr(one, "attr", getattr(one, "id", "")) in NOUNS for one in decorators)


def wrong_with(docstring: str, noun: bool) -> str:
    """Say what is wrong with the beginning of a docstring; empty if nothing is."""
    summary = " ".join(re.split(r"\n\s*\n", docstring.strip())[0].split())
    word = summary.split()[0].strip(".,:;`*\"'()")
    if BARE.match(summary):
        return "say what it is, in a sentence that can be read alone"
    if noun and word in FRAGMENTS.split():
        return "begin with a noun, or with a sentence that has a subject"
    if not noun and word not in VERBS.split():
        return "begin with a verb (add it to VERBS if it is one)"
    return ""


def wrong_docstrings(path: pathlib.Path) -> Iterator[str]:
    """Find docstrings that begin as none should, also of private and of inner functions."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        docstring = ast.get_docstring(node) if isinstance(node, documented) else None
        if docstring and (reason := wrong_with(docstring, is_named_like_a_noun(node))):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
            yield f"{where}: {docstring.splitlines()[0]!r}: {reason}"


@pytest.mark.parametrize("place", LOOKED_AT)
def test_docstrings_begin_as_sentences_do(place):
    path = ROOT / place
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    assert files
    assert [wrong for file in files for wrong in wrong_docstrings(file)] == []


def test_the_lists_of_words_are_sorted():
    for words in (VERBS.split(), FRAGMENTS.split()):
        assert words == sorted(set(words))


@pytest.mark.parametrize(
    ("docstring", "noun", "right"),
    [
        ("Return the arm of the greatest score.", False, True),
        ("The arm of the greatest score.", False, False),
        ("Whether it is done.", False, False),
        ("Bytes sent so far.", True, True),
        ("What was sent so far.", True, False),
        ("Nobody wants to know.", True, False),
        ("All of it.", True, False),
        ("None.", True, False),
        ("Both of the above.", False, False),
        ("All keys and terms in words: for ``list`` and ``explain``.", True, True),
    ],
)
def test_fragments_are_told_from_sentences(docstring, noun, right):
    assert bool(wrong_with(docstring, noun)) != right
