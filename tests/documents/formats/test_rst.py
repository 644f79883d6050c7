"""reStructuredText: the canonical text is the source, and its blocks are the regions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats.source.restructured_text import extract
from quoth.errors import UnreadableFile
from quoth.types import RegionKind as Kind

from .source_files import assert_lossless, blocks, leads, sections


def test_sections_rank_by_the_order_of_their_adornments() -> None:
    text = "====\nBook\n====\n\nOne\n===\n\nAa\n--\n\nTwo\n===\n\n"
    text += "Pi ``x`` *and* :ref:`it <t>`\n----------------------------\n"

    assert sections(extract, text) == [
        ("Book",),
        ("Book", "One"),
        ("Book", "One", "Aa"),
        ("Book", "Two"),
        ("Book", "Two", "Pi x and it"),
    ]


def test_paragraphs_literal_blocks_and_quotes() -> None:
    text = (
        "Sow it at\n2.5 cm::\n\n    code here\n\n    more\n\nThen rest.\n\n  A quote.\n\n>>> sow()\n1\n\n::\n\n  last\n"
    )

    assert blocks(extract, text) == [
        (Kind.PARAGRAPH, "Sow it at\n2.5 cm:"),
        (Kind.CODE, "code here\n\n    more"),
        (Kind.PARAGRAPH, "Then rest."),
        (Kind.QUOTE, "A quote."),
        (Kind.CODE, ">>> sow()\n1"),
        (Kind.CODE, "last"),
    ]


def test_lists_nest_and_keep_their_leads() -> None:
    text = "Sow:\n\n- barley\n- rye:\n\n  1. winter\n  2. summer\n\n  and more\n\na. alpha\nb. beta\n"

    assert blocks(extract, text)[1:] == [
        (Kind.LIST_ITEM, item) for item in ("barley", "rye:", "winter", "summer", "and more", "alpha", "beta")
    ]
    assert leads(extract, text)["barley"] == "Sow:"
    assert leads(extract, text)["winter"] == "Sow: - barley - rye:"


def test_an_initial_is_no_enumerator() -> None:
    text = "C. Darwin wrote\nof worms.\n"

    assert [part for _, part in blocks(extract, text)] == ["C. Darwin wrote\nof worms."]


def test_a_term_introduces_what_defines_it() -> None:
    text = "depth\n    Sow at 3 cm.\n\n    Not deeper.\nrate\n    20 kg.\n"

    assert leads(extract, text) == {"Sow at 3 cm.": "depth", "Not deeper.": "depth", "20 kg.": "rate"}


def test_a_signature_introduces_its_description() -> None:
    text = ".. py:function:: sow(depth)\n   :noindex:\n\n   Sow the crop.\n\n   :param depth: in cm.\n   :rtype: None\n"

    assert leads(extract, text)["Sow the crop."] == "sow(depth)"
    assert leads(extract, text)[":param depth: in cm."].startswith("sow(depth)")
    assert (Kind.LIST_ITEM, ":param depth: in cm.") in blocks(extract, text)


def test_directives_are_text_code_captions_or_nothing() -> None:
    text = (
        ".. note:: Mind the gap.\n   It is wide.\n\n.. warning::\n\n   Do not sow.\n\n"
        ".. versionadded:: 3.2\n   The depth.\n\n.. code-block:: python\n   :linenos:\n\n   sow()\n\n.. math:: a^2\n\n"
        ".. figure:: a.png\n   :alt: x\n\n   The caption.\n\n   The legend.\n\n"
        ".. image:: b.png\n   :alt: words that describe\n\n.. toctree::\n\n   one\n   two\n\n"
        ".. comment of words\n   and more\n\n.. _target: https://example.org\n\n.. |sub| replace:: text\n\n"
        ".. raw:: html\n\n   <b>\n"
    )

    assert blocks(extract, text) == [
        (Kind.PARAGRAPH, "Mind the gap.\n   It is wide."),
        (Kind.PARAGRAPH, "Do not sow."),
        (Kind.PARAGRAPH, ".. versionadded:: 3.2\n   The depth."),
        (Kind.CODE, "sow()"),
        (Kind.CODE, "a^2"),
        (Kind.CAPTION, "The caption."),
        (Kind.PARAGRAPH, "The legend."),
        (Kind.CONTENTS, "one\n   two"),
    ]


def test_notes_are_footnotes_without_their_labels() -> None:
    assert blocks(extract, "Sow [1]_.\n\n.. [1] At 3 cm.\n.. [Ann20] Ann,\n   2020.\n") == [
        (Kind.PARAGRAPH, "Sow [1]_."),
        (Kind.FOOTNOTE, "At 3 cm."),
        (Kind.FOOTNOTE, "Ann,\n   2020."),
    ]


@pytest.mark.parametrize(
    "table",
    [
        "+------+-------+\n| Crop | Depth |\n+======+=======+\n| Rye  | 2 cm  |\n+------+-------+\n",
        "====  =====\nCrop  Depth\n====  =====\nRye   2 cm\n====  =====\n",
        ".. list-table:: Depths\n   :header-rows: 1\n\n   * - Crop\n     - Depth\n   * - Rye\n     - 2 cm\n",
        ".. csv-table:: Depths\n   :header: Crop, Depth\n\n   Rye, 2 cm\n",
    ],
)
def test_a_row_is_introduced_by_the_header(table: str) -> None:
    found = [(kind, part) for kind, part in blocks(extract, table) if kind is not Kind.CAPTION]

    assert [kind for kind, _ in found] == [Kind.TABLE_HEADER, Kind.TABLE_ROW]
    assert found[0][1].startswith("Crop") and found[1][1].startswith("Rye") and found[1][1].endswith("2 cm")
    assert leads(extract, table)[found[1][1]] == " ".join(found[0][1].split())


def test_a_row_of_a_table_with_rules_may_go_on_below() -> None:
    assert blocks(extract, "==  ==\n1   a\n\n2   b\n    c\n==  ==\n")[1] == (Kind.TABLE_ROW, "2   b\n    c")


def test_line_ends_and_a_byte_order_mark_stay_as_they_are() -> None:
    text = "\ufeffSowing\r\n======\r\n\r\n- barley\r\n  at 3 cm.\r\n"

    assert blocks(extract, text) == [(Kind.HEADING, "Sowing"), (Kind.LIST_ITEM, "barley\r\n  at 3 cm.")]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="NUL"):
        extract(b"Sow\x00 it.")


def test_deep_nesting_is_survived() -> None:
    assert_lossless(extract, "\n".join(" " * n + "- x" for n in range(500)))
    assert_lossless(extract, "- " * 500 + "x")
    assert_lossless(extract, "\n\n".join(" " * n + "x" for n in range(300)))


LINES = [
    *(
        "Sow it.",
        "  at 2.5 cm::",
        "    deep",
        "- item",
        "  - inner",
        "1. one",
        "a) b",
        "(i)",
        "",
        "",
        "====",
        "=====  ===",
        "----",
    ),
    *(
        ".. note:: x",
        ".. code::",
        "   :opt: y",
        ".. [1] n",
        ".. |a| image:: b",
        "..",
        ".. _t:",
        "__ x",
        "| verse",
        ">>> p",
        ":f: v",
    ),
    *(
        "-o FILE  opt",
        "+---+",
        "| a |",
        "+===+",
        ".. list-table::",
        "   * - c",
        "     - d",
        ".. csv-table:: t",
        '   a, "b',
        "\tx",
        "é",
    ),
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=25), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_order_of_lines_is_covered(lines: list[str], end: str) -> None:
    assert_lossless(extract, end.join(lines))


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("a.:-*|+=_`[]()#>1 \t\n\r"), max_size=80))
def test_any_text_is_covered(text: str) -> None:
    assert_lossless(extract, text)
