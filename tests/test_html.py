"""HTML that holds any text."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits import _html


@given(st.text())
def test_text_is_no_markup_and_comes_back(value):
    safe = _html.text(value)
    assert not re.search(r"[<>\"']", safe)
    assert html.unescape(safe) == value


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=4))
def test_whatever_is_in_a_table_its_tags_are_its_own(rows):
    made = _html.table(rows, ("a", "b"))
    tags = re.sub(r"[^<>]*(<[^<>]*>|$)", r"\1", made).replace("<br>", "")
    row = "<tr><td></td><td></td></tr>" * len(rows)
    head = '<thead><tr><th scope="col"></th><th scope="col"></th></tr></thead>'
    assert tags == f"<table>{head}<tbody>{row}</tbody></table>"


def test_without_titles_of_columns_rows_have_titles():
    made = _html.table([("a", "b & c", 3)])
    assert made == (
        '<table><tbody><tr><th scope="row">a</th><td>b &amp; c</td><td>3</td></tr></tbody></table>'
    )
    assert _html.table([("a", "b")], ("x", "y")).count("<td>") == 2


def test_lines_stay_apart():
    assert "one<br>two" in _html.table([("title", "one\ntwo")])


@pytest.mark.parametrize(("cell", "shown"), [(_html.text, "&lt;b&gt;"), (str, "<b>")])
def test_cells_may_be_html_already(cell, shown):
    made = _html.table([("<b>",)], ("<i>",), cell=cell, kind="wide")
    head = '<thead><tr><th scope="col">&lt;i&gt;</th></tr></thead>'
    assert made == (f'<table class="wide">{head}<tbody><tr><td>{shown}</td></tr></tbody></table>')


def test_a_caption_stands_first_and_is_safe():
    made = _html.table([("a", "b")], ("x", "y"), caption="<all> of it")
    assert made.startswith("<table><caption>&lt;all&gt; of it</caption><thead>")
