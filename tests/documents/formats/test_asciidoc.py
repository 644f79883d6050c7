"""AsciiDoc: the canonical text is the source, and its blocks are the regions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats.source.asciidoc import extract
from quoth.errors import UnreadableFile
from quoth.types import RegionKind as Kind

from .source_files import assert_lossless, blocks, leads, sections


def test_the_header_gives_the_title_and_the_author() -> None:
    text = "// draft\n= Sowing _Barley_\nAnn Bell <ann@example.org>\nv1.0, 2026-03-02\n"
    text += ":toc: left\n:name: words of a value\n\nSow it.\n"

    assert dict(extract(text.encode()).properties) == {"title": "Sowing Barley"}
    assert blocks(extract, text) == [
        (Kind.HEADING, "Sowing _Barley_"),
        (Kind.PARAGRAPH, "Ann Bell <ann@example.org>"),
        (Kind.PARAGRAPH, "Sow it."),
    ]


def test_sections_are_marked_or_underlined() -> None:
    text = "= Book\n\n== One\n\n=== [[a]]Deep `x` ===\n\nSow.\n\nTwo\n---\n\n`code`\n~~~~~~\n\n## Three\n"

    assert sections(extract, text) == [
        ("Book",),
        ("Book", "One"),
        ("Book", "One", "Deep x"),
        ("Book", "Two"),
        ("Book", "Two", "code"),
        ("Book", "Three"),
    ]


def test_lists_nest_and_keep_their_leads() -> None:
    text = "Sow:\n\n* barley\n** winter\n   wheat\n** summer\n* [x] rye\n+\nattached\n\n. one\n.. two\n\nDone.\n"

    assert blocks(extract, text)[1:] == [
        *((Kind.LIST_ITEM, item) for item in ("barley", "winter\n   wheat", "summer", "rye", "attached", "one", "two")),
        (Kind.PARAGRAPH, "Done."),
    ]
    assert leads(extract, text)["rye"] == "Sow:"
    assert leads(extract, text)["summer"] == "Sow: * barley"


def test_a_term_introduces_what_it_means() -> None:
    text = "depth:: Sow at 3 cm.\nrate::\n  20 kg.\n+\nNot more.\n"

    assert leads(extract, text) == {"Sow at 3 cm.": "depth", "20 kg.": "rate", "Not more.": "rate"}


def test_delimited_blocks_are_code_quotes_text_or_nothing() -> None:
    text = (
        ".The code\n[source,python]\n----\nsow()\n\n== no heading\n----\n\n....\nliteral\n....\n\n"
        "```ruby\nfence\n```\n\n[quote, Ann]\n____\nSow it.\n____\n\n"
        "[NOTE]\n====\nMind the gap.\n\n* one\n====\n\n****\nAside.\n****\n\n"
        "////\nhidden words\n////\n\n++++\n<b>raw</b>\n++++\n\n--\nOpen.\n--\n\n indented\n code\n\nWARNING: Do not.\n"
    )

    assert blocks(extract, text) == [
        (Kind.CAPTION, "The code"),
        (Kind.CODE, "sow()\n\n== no heading"),
        (Kind.CODE, "literal"),
        (Kind.CODE, "fence"),
        (Kind.QUOTE, "Sow it."),
        (Kind.PARAGRAPH, "Mind the gap."),
        (Kind.LIST_ITEM, "one"),
        (Kind.PARAGRAPH, "Aside."),
        (Kind.HTML, "<b>raw</b>"),
        (Kind.PARAGRAPH, "Open."),
        (Kind.CODE, "indented\n code"),
        (Kind.PARAGRAPH, "WARNING: Do not."),
    ]


def test_macros_attributes_and_comments_are_markup() -> None:
    text = "Sow it.\n// words of a comment\nThen wait.\n\n"
    text += "image::a.png[Words that describe]\n\n:attr: more words\n\ninclude::b.adoc[]\n'''\nimage:c.png[d]\n"

    assert blocks(extract, text) == [(Kind.PARAGRAPH, "Sow it."), (Kind.PARAGRAPH, "Then wait.")]


@pytest.mark.parametrize(
    "table",
    [
        "|===\n|Crop |Depth\n\n|Rye |2 cm\n|Oats\n|3 cm\n|===\n",
        '[cols="1,1",options="header"]\n|===\n|Crop\n|Depth\n|Rye\na|2 cm\n|Oats |3 cm\n|===\n',
        "[%header,cols=2*]\n|===\n|Crop |Depth |Rye |2 cm\n2+|Oats 3 cm\n|===\n",
        "[%header]\n,===\nCrop,Depth\nRye,2 cm\nOats,3 cm\n,===\n",
    ],
)
def test_a_row_is_introduced_by_the_header(table: str) -> None:
    found = blocks(extract, table)

    assert [kind for kind, _ in found] == [Kind.TABLE_HEADER, Kind.TABLE_ROW, Kind.TABLE_ROW]
    assert found[1][1].startswith("Rye") and found[1][1].endswith("2 cm")
    assert found[2][1].startswith("Oats") and found[2][1].endswith("3 cm")
    assert leads(extract, table)[found[1][1]] == " ".join(found[0][1].split())


def test_line_ends_and_a_byte_order_mark_stay_as_they_are() -> None:
    text = "\ufeff= Sowing\r\n\r\nSow\r\nit.\r\n\r\n* rye\r\n"

    assert blocks(extract, text) == [(Kind.HEADING, "Sowing"), (Kind.PARAGRAPH, "Sow\r\nit."), (Kind.LIST_ITEM, "rye")]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="NUL"):
        extract(b"= Sow\x00")


@pytest.mark.parametrize(
    "text",
    [
        "".join("=" * n + "\n" for n in range(4, 300)),
        "----\n....\n" * 2_000,
        "|===\n" + "|a " * 20_000,
        "[[x]]\n" * 3_000,
        "*" * 20_000 + " x",
        "x::\n" * 5_000,
        "[" * 3_000 + "]" * 3_000,
    ],
)
def test_what_never_ends_is_survived(text: str) -> None:
    assert_lossless(extract, text)


LINES = [
    *(
        "= Title",
        "== Sub",
        "Title",
        "-----",
        "~~~~~",
        "Sow it.",
        "  indented",
        "* item",
        "** inner",
        ". one",
        "<1> call",
        "term:: def",
    ),
    *(
        "term::",
        "+",
        "",
        "",
        "----",
        "....",
        "====",
        "****",
        "____",
        "++++",
        "////",
        "--",
        "```",
        "|===",
        "|a |b",
        "a|c",
        "2+|d",
        ",===",
    ),
    *(
        "[source]",
        "[quote]",
        "[[id]]",
        "[%header]",
        "[cols=2*]",
        ".Caption",
        "// comment",
        ":attr: x",
        "image::a[b]",
        "'''",
        "NOTE: é",
        "\t",
    ),
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=25), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_order_of_lines_is_covered(lines: list[str], end: str) -> None:
    assert_lossless(extract, end.join(lines))
