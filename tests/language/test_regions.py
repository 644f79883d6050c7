"""Regions name what each run of text is, with its section and what introduces it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from quoth.documents.formats.text.markdown import front_matter
from quoth.documents.sentences import markdown_regions, plain_regions
from quoth.types import Region, RegionKind

ROOT = Path(__file__).parents[2]


def shown(text: str, regions: tuple[Region, ...]) -> list[tuple[str, str]]:
    return [(region.kind.value, text[region.span.start : region.span.end]) for region in regions]


def leads(text: str, regions: tuple[Region, ...]) -> dict[str, str | None]:
    return {
        text[region.span.start : region.span.end]: text[region.lead.start : region.lead.end] if region.lead else None
        for region in regions
        if not region.kind.skipped
    }


def sections(text: str, regions: tuple[Region, ...]) -> dict[str, tuple[str, ...]]:
    return {text[region.span.start : region.span.end]: region.section for region in regions if not region.kind.skipped}


def test_every_kind_of_markdown_block_is_named() -> None:
    text = (
        "\ufeff---\ntitle: x\n---\n# Title\n\nText here.\n\n- item\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "```py\ncode\n```\n\n<!-- no -->\n\n[^1]: note here\n\n[a]: /url\n\n---\n"
    )

    assert shown(text, markdown_regions(text)) == [
        ("markup", "\ufeff"),
        ("front_matter", "---\ntitle: x\n---"),
        ("markup", "#"),
        ("heading", "Title"),
        ("paragraph", "Text here."),
        ("markup", "-"),
        ("list_item", "item"),
        ("markup", ">"),
        ("quote", "said"),
        ("markup", "|"),
        ("table_header", "a | b"),
        ("markup", "|\n|---|---|\n|"),
        ("table_row", "1 | 2"),
        ("markup", "|"),
        ("markup", "```py"),
        ("code", "code"),
        ("markup", "```"),
        ("html", "<!-- no -->"),
        ("markup", "[^1]:"),
        ("footnote", "note here"),
        ("markup", "[a]: /url"),
        ("markup", "---"),
    ]


def test_a_section_holds_the_headings_above_it_and_a_heading_is_in_its_own() -> None:
    text = (
        "Before.\n\n# **Soil** [map](x.md)\n\nOne.\n\n### pH `x` {#ph}\n\nTwo.\n\n"
        "## Water\n\nThree.\n\n# End #\n\nFour."
    )

    assert sections(text, markdown_regions(text)) == {
        "Before.": (),
        "**Soil** [map](x.md)": ("Soil map",),
        "One.": ("Soil map",),
        "pH `x` {#ph}": ("Soil map", "pH x"),
        "Two.": ("Soil map", "pH x"),
        "Water": ("Soil map", "Water"),
        "Three.": ("Soil map", "Water"),
        "End": ("End",),
        "Four.": ("End",),
    }


def test_a_heading_inside_a_quote_does_not_move_the_section() -> None:
    text = "# Top\n\n> # Inner\n> words\n\nAfter."

    assert sections(text, markdown_regions(text)) == {
        "Top": ("Top",),
        "Inner": ("Top", "Inner"),
        "words": ("Top",),
        "After.": ("Top",),
    }


def test_a_list_item_knows_the_sentence_that_introduces_its_list() -> None:
    text = "It matters. Look for these:\n\n1. rust\n2. smut:\n   - loose\n   - covered\n\n   still smut\n3. mould\n"

    assert leads(text, markdown_regions(text)) == {
        "It matters. Look for these:": None,
        "rust": "Look for these:",
        "smut:": "Look for these:",
        "loose": "Look for these:\n\n1. rust\n2. smut:",
        "covered": "Look for these:\n\n1. rust\n2. smut:",
        "still smut": "Look for these:",
        "mould": "Look for these:",
    }


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("Never:\n\n- In spring:\n  - apply it", "Never:\n\n- In spring:"),
        ("Never:\n\n- In spring:\n  - On clay:\n    - apply it", "Never:\n\n- In spring:\n  - On clay:"),
        ("Never:\n\n- - apply it", "Never:"),
        ("Never:\n\n- > apply it", "Never:"),
        ("Never:\n\n- <div>apply it</div>", "Never:"),
        ("> Never:\n> - In spring:\n>   - apply it", "Never:\n> - In spring:"),
        ("Never:\n\n(a) in spring:\n\n- apply it", "Never:\n\n(a) in spring:"),
    ],
)
def test_a_nested_item_keeps_the_lead_of_the_outer_list(text: str, lead: str) -> None:
    assert leads(text, markdown_regions(text))["apply it"] == lead


@pytest.mark.parametrize(
    ("outer", "lead"),
    [("Do this:", "In autumn:"), ("Never:", "Never:\n\n- Sow the rye.\n- In autumn:")],
)
def test_an_item_that_states_something_is_no_part_of_the_lead_of_a_later_list(outer: str, lead: str) -> None:
    text = f"{outer}\n\n- Sow the rye.\n- In autumn:\n  - apply it"

    assert leads(text, markdown_regions(text))["apply it"] == lead


@pytest.mark.parametrize(
    ("outer", "words", "lead"),
    [
        ("Do this:", 200, "In spring:"),
        ("You may not do this:", 200, None),
        ("You may not do this:", 900, "You may not do this:"),
    ],
)
def test_leads_too_long_to_join_never_lose_a_denial(outer: str, words: int, lead: str | None) -> None:
    before = f"{outer}\n\n- {'long ' * words}\n- In spring:"
    text = f"{before}\n  - apply it"

    assert leads(text, markdown_regions(text))["apply it"] == (lead or before)


def test_a_list_below_a_heading_has_no_lead() -> None:
    text = "Text:\n\n# Heading\n\n- item"

    assert leads(text, markdown_regions(text))["item"] is None


def test_a_table_row_knows_its_header() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n|---|\n| 3 |"

    found = leads(text, markdown_regions(text))

    assert (found["1 | 2"], found["3"], found["c"]) == ("a | b", "c", None)


def test_lettered_paragraphs_are_items_of_the_sentence_before_them() -> None:
    text = "They may:\n\n(a) sell:\n\n(i) now; or\n\n(ii) later; and\n\n(b) lease.\n\nThe end."

    assert leads(text, markdown_regions(text)) == {
        "They may:": None,
        "(a) sell:": "They may:",
        "(i) now; or": "They may:\n\n(a) sell:",
        "(ii) later; and": "They may:\n\n(a) sell:",
        "(b) lease.": "They may:",
        "The end.": None,
    }


def test_plain_clauses_know_their_lead_and_keep_their_number() -> None:
    text = (
        "1. Duties. The tenant shall:\n(a) pay rent;\n(b) keep:\n(i) the field; and\n(ii) the barn;\n"
        "(c) leave.\n2. Term."
    )

    assert leads(text, plain_regions(text)) == {
        "1. Duties. The tenant shall:": None,
        "(a) pay rent;": "The tenant shall:",
        "(b) keep:": "The tenant shall:",
        "(i) the field; and": "The tenant shall:\n(a) pay rent;\n(b) keep:",
        "(ii) the barn;": "The tenant shall:\n(a) pay rent;\n(b) keep:",
        "(c) leave.": "The tenant shall:",
        "2. Term.": None,
    }


def test_letters_that_are_also_roman_numerals_stay_letters_in_their_order() -> None:
    text = "All:\n" + "\n".join(f"({letter}) thing;" for letter in "abcdefghijk")

    assert {region.lead for region in plain_regions(text)[1:]} == {plain_regions(text)[0].span}


def test_rules_in_plain_text_are_markup() -> None:
    text = "Before\n-----\n______\nAfter"

    assert shown(text, plain_regions(text)) == [
        ("paragraph", "Before"),
        ("markup", "-----\n______"),
        ("paragraph", "After"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: 1\n---\nx", "---\na: 1\n---"),
        ("\ufeff---\r\na: 1\r\n...\r\nx", "---\r\na: 1\r\n..."),
        ("---\n---\nx", "---\n---"),
        ("---\na: 1\nx", None),
        ("---\n\nA break, not data.\n\n---\n", None),
        ("x\n---\na: 1\n---\n", None),
        ("--- \na: --- b\n---- \n---", "--- \na: --- b\n---- \n---"),
        ("", None),
    ],
)
def test_front_matter_is_found_only_at_the_start_and_closed(text: str, expected: str | None) -> None:
    found = front_matter(text)

    assert (text[found.start : found.end] if found else None) == expected


def test_containers_nested_too_deeply_to_parse_lose_nothing() -> None:
    text = "> " * 200 + "deep words\n\nshallow words"

    assert [quote for kind, quote in shown(text, markdown_regions(text)) if kind != "markup"][-1] == "shallow words"
    assert any("deep words" in quote and kind == "paragraph" for kind, quote in shown(text, markdown_regions(text)))


HOUSE_DOCUMENTS = [*sorted(ROOT.glob("examples/**/*.md")), *sorted(ROOT.glob("../shared/eval/*/docs/*.md"))[::4]]


@pytest.mark.skipif(not HOUSE_DOCUMENTS, reason="no Markdown documents in examples/ or ../shared/eval")
def test_regions_agree_with_markdown_it_about_what_is_on_each_line() -> None:
    parser = MarkdownIt("commonmark").enable("table")
    for path in HOUSE_DOCUMENTS:
        text = path.read_bytes().decode("utf-8")
        body = text[head.end :] if (head := front_matter(text)) else text
        tokens = parser.parse(body)
        inline = [(before.type, token.content) for before, token in pairwise(tokens) if token.type == "inline"]
        headings = [_bare(content) for kind, content in inline if kind == "heading_open"]
        cells = [_bare(content) for kind, content in inline if kind in {"td_open", "th_open"} and content]
        prose = [
            _bare(content) for kind, content in inline if kind == "paragraph_open" and not content.startswith("[^")
        ]
        code = [_bare(token.content) for token in tokens if token.type in {"fence", "code_block"}]
        regions = shown(text, markdown_regions(text))

        assert _all(regions, "heading") == headings, path
        assert _all(regions, "code") == code, path
        assert "".join(_all(regions, "paragraph", "list_item", "quote", "caption")) == "".join(prose), path
        rows = "".join(_all(regions, "table_header", "table_row"))
        assert re.sub(r"\|", "", rows) == re.sub(r"\|", "", "".join(cells)), path


def test_markup_of_real_documents_holds_no_words() -> None:
    for path in HOUSE_DOCUMENTS:
        text = path.read_bytes().decode("utf-8")
        for region in markdown_regions(text):
            quote = text[region.span.start : region.span.end]
            if region.kind is RegionKind.MARKUP and not quote.startswith(("```", "~~~", "[")):
                assert not re.search(r"[^\W\d_]", quote), (path, quote)


def _all(regions: list[tuple[str, str]], *kinds: str) -> list[str]:
    return [_bare(quote) for kind, quote in regions if kind in kinds]


def _bare(text: str) -> str:
    """Without whitespace, quote marks and backslashes, which markdown-it's content has lost."""
    return re.sub(r"[\s>\\]", "", text)
