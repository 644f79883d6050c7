"""Numbers as Word shows them, and lists with their depth and lead."""

from __future__ import annotations

import pytest

from quoth.documents.formats.docx import docx_document as docx
from quoth.documents.formats.docx.list_numbers import formatted
from quoth.types import RegionKind as Kind

from .docx_files import STYLES, level, numbered, numbering, p, said, table, texts, tr, word

CLAUSES = numbering(
    level(0, "upperRoman", "Article %1."), level(1, "decimal", "%1.%2", "<w:isLgl/>"), level(2, "lowerLetter", "(%3)")
)
BULLETS = numbering(level(0, "bullet", "\uf0b7"), level(1, "bullet", "o"))


def leads(data: bytes) -> list[str | None]:
    extract = docx.extract(data)
    return [
        None if region.lead is None else extract.text[region.lead.start : region.lead.end]
        for region in extract.regions or ()
    ]


def test_levels_count_and_start_again() -> None:
    body = "".join(
        numbered(text, at)
        for text, at in [("A", 0), ("b", 1), ("c", 1), ("d", 2), ("e", 2), ("F", 0), ("g", 1), ("h", 2)]
    )

    assert texts(word(body, numbering=CLAUSES)) == [
        *("Article I. A", "1.1 b", "1.2 c", "(a) d", "(b) e", "Article II. F", "2.1 g", "(a) h")
    ]


def test_a_level_can_go_on_counting() -> None:
    kept = numbering(level(0, "decimal", "%1."), level(1, "lowerLetter", "%2)", '<w:lvlRestart w:val="0"/>'))
    body = numbered("A") + numbered("b", 1) + numbered("C") + numbered("d", 1)

    assert texts(word(body, numbering=kept)) == ["1. A", "a) b", "2. C", "b) d"]


def test_a_level_above_that_was_skipped_counts_as_if_it_had_been_there() -> None:
    assert texts(word(numbered("b", 1) + numbered("C"), numbering=CLAUSES)) == ["1.1 b", "Article II. C"]


def test_notes_and_text_boxes_count_for_themselves() -> None:
    box = f"<w:r><w:pict><w:txbxContent>{numbered('boxed')}</w:txbxContent></w:pict></w:r>"
    anchor = p("Beside.", box, '<w:r><w:footnoteReference w:id="1"/></w:r>')
    notes = f'<w:footnote w:id="1">{numbered("noted")}</w:footnote>'
    data = word(numbered("a") + anchor + numbered("b"), numbering=CLAUSES, footnotes=notes)

    assert texts(data) == ["Article I. a", "Beside.", "[1] Article I. noted", "Article I. boxed", "Article II. b"]


def test_two_lists_of_one_definition_count_together_unless_one_says_where_it_starts() -> None:
    lists = "".join(
        f'<w:num w:numId="{list_id}"><w:abstractNumId w:val="7"/>{more}</w:num>'
        for list_id, more in [
            (1, ""),
            (2, ""),
            (3, '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'),
        ]
    )
    body = numbered("a") + numbered("b", number=2) + numbered("c", number=3) + numbered("d", number=3)

    assert texts(word(body, numbering=numbering(level(0, "decimal", "%1."), lists=lists))) == [
        "1. a",
        "2. b",
        "5. c",
        "6. d",
    ]


def test_a_list_can_define_a_level_anew() -> None:
    override = f'<w:lvlOverride w:ilvl="0">{level(0, "upperLetter", "%1)")}</w:lvlOverride>'
    lists = f'<w:num w:numId="1"><w:abstractNumId w:val="7"/>{override}</w:num>'

    assert texts(word(numbered("a"), numbering=numbering(level(0, "decimal", "%1."), lists=lists))) == ["A) a"]


def test_a_style_numbers_its_paragraphs_at_its_own_level() -> None:
    styles = STYLES + "".join(
        f'<w:style w:type="paragraph" w:styleId="{style}"><w:name w:val="{style}"/><w:basedOn w:val="{above}"/>'
        '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        for style, above in [("Art", "berschrift1"), ("Sec", "Standard")]
    )
    lists = numbering(
        level(0, "upperRoman", "ARTICLE %1", '<w:pStyle w:val="Art"/><w:suff w:val="nothing"/>'),
        level(1, "decimal", "%1.%2", '<w:pStyle w:val="Sec"/><w:isLgl/>'),
    )
    body = (
        p("Parking", style="Art")
        + p("No boats.", style="Sec")
        + p("Off.", style="Sec", properties='<w:numPr><w:numId w:val="0"/></w:numPr>')
    )
    extract = docx.extract(word(body, styles=styles, numbering=lists))

    assert said(word(body, styles=styles, numbering=lists)) == [
        (Kind.HEADING, "ARTICLE I Parking"),
        (Kind.LIST_ITEM, "1.1 No boats."),
        (Kind.PARAGRAPH, "Off."),
    ]
    assert (extract.regions or ())[1].section == ("ARTICLE I Parking",)


def test_a_numbering_style_leads_to_its_definition() -> None:
    styles = STYLES + (
        '<w:style w:type="numbering" w:styleId="Legal"><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>'
    )
    lists = (
        '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Legal"/></w:abstractNum>'
        f'<w:abstractNum w:abstractNumId="2"><w:styleLink w:val="Legal"/>{level(0, "decimal", "§ %1")}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>'
    )

    assert texts(word(numbered("Scope"), styles=styles, numbering=lists)) == ["§ 1 Scope"]


def test_a_number_never_joins_the_text_behind_it() -> None:
    tight = numbering(level(0, "decimal", "%1", '<w:suff w:val="nothing"/>'))

    assert texts(word(numbered("0 cm deep"), numbering=tight)) == ["1 0 cm deep"]


def test_bullets_nest_and_keep_what_denies_them() -> None:
    body = p("Never:") + numbered("In spring:") + numbered("apply nitrogen", 1) + p("Then rest.")
    data = word(body, numbering=BULLETS)

    assert said(data)[1:] == [
        (Kind.LIST_ITEM, "• In spring:"),
        (Kind.LIST_ITEM, "• apply nitrogen"),
        (Kind.PARAGRAPH, "Then rest."),
    ]
    assert leads(data) == [None, "Never:", "Never:\n\n• In spring:", None]


def test_lists_of_two_definitions_nest_by_how_far_they_are_set_in() -> None:
    lists = BULLETS + (
        f'<w:abstractNum w:abstractNumId="8">{level(0, "bullet", "-").replace("720", "1440")}</w:abstractNum>'
        '<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>'
    )
    body = p("Never:") + numbered("In spring:") + numbered("burn", number=2) + numbered("In autumn:") + p("End.")

    assert leads(word(body, numbering=lists)) == [None, "Never:", "Never:\n\n• In spring:", "Never:", None]


def test_the_same_bullets_after_a_paragraph_are_a_new_list() -> None:
    body = p("Never:") + numbered("burn") + p("Always:") + numbered("rinse")

    assert leads(word(body, numbering=BULLETS)) == [None, "Never:", None, "Always:"]


def test_a_numbered_list_goes_on_after_a_paragraph() -> None:
    body = p("Owners may not:") + numbered("park;") + p("This is old.") + numbered("burn.")
    data = word(body, numbering=numbering(level(0, "decimal", "%1.")))

    assert texts(data)[-1] == "2. burn."
    assert leads(data)[-1] == "Owners may not:"


def test_a_numbered_list_goes_on_after_a_table() -> None:
    cells = table(tr("a", "b"), tr("c", "d"))
    body = p("Owners may not:") + numbered("park;") + cells + numbered("burn.")
    data = word(body, numbering=numbering(level(0, "decimal", "%1. ")))

    assert texts(data)[-1] == "2. burn."
    assert leads(data)[-1] == "Owners may not:"


def test_a_paragraph_set_in_below_its_item_does_not_end_the_list() -> None:
    body = p("Never:") + numbered("burn") + p("It smokes.", properties='<w:ind w:left="720"/>') + numbered("dig")

    assert leads(word(body, numbering=BULLETS)) == [None, "Never:", None, "Never:"]


def test_an_empty_numbered_paragraph_is_counted_as_in_word() -> None:
    assert texts(word(numbered("a") + numbered("") + numbered("c"), numbering=CLAUSES)) == [
        "Article I. a",
        "Article III. c",
    ]


@pytest.mark.parametrize("lists", ["", '<w:num w:numId="1"><w:abstractNumId w:val="404"/></w:num>'])
def test_a_list_without_a_definition_is_plain_text(lists: str) -> None:
    assert said(word(numbered("a"), numbering=lists)) == [(Kind.PARAGRAPH, "a")]


def test_a_hostile_pattern_stays_short() -> None:
    assert len(texts(word(numbered("a"), numbering=numbering(level(0, "decimal", "%1" * 5_000))))[0]) < 100


@pytest.mark.parametrize(
    ("count", "form", "shown"),
    [
        (4, "lowerRoman", "iv"),
        (1994, "upperRoman", "MCMXCIV"),
        (27, "lowerLetter", "aa"),
        (3, "upperLetter", "C"),
        (7, "decimalZero", "07"),
        (1, "ordinal", "1st"),
        (12, "ordinal", "12th"),
        (23, "ordinal", "23rd"),
        (21, "cardinalText", "Twenty-one"),
        (20, "ordinalText", "Twentieth"),
        (12, "ordinalText", "Twelfth"),
        (5, "decimalEnclosedParen", "(5)"),
        (5, "none", ""),
        (5, "thaiLetters", "5"),
        (0, "upperRoman", "0"),
        (1_000_000, "lowerLetter", "1000000"),
    ],
)
def test_forms_of_numbers(count: int, form: str, shown: str) -> None:
    assert formatted(count, form) == shown


def indented(text: str) -> str:
    return p(text, properties='<w:ind w:left="720"/>')


def test_items_without_marks_know_the_line_above_them() -> None:
    lines = p("Owners may not keep:"), indented("boats"), indented("trailers"), p("The board decides.")

    assert said(word("".join(lines))) == [
        (Kind.PARAGRAPH, "Owners may not keep:"),
        (Kind.LIST_ITEM, "boats"),
        (Kind.LIST_ITEM, "trailers"),
        (Kind.PARAGRAPH, "The board decides."),
    ]
    assert leads(word("".join(lines))) == [None, "Owners may not keep:", "Owners may not keep:", None]


@pytest.mark.parametrize(
    "body",
    [
        p("Owners may not keep boats.") + indented("They are too long."),
        p("Owners may not keep:") + p("boats"),
        indented("Owners may not keep:") + indented("boats"),
        p("The parties agree as follows:") + indented("The term is one year. " * 20),
        p("It begins like this:") + indented("{"),
    ],
    ids=["no colon", "not indented", "indented alike", "long text", "no words"],
)
def test_other_indented_text_is_no_list(body: str) -> None:
    assert leads(word(body)) == [None, None]


def test_a_second_list_without_marks_has_its_own_lead() -> None:
    body = p("Keep no:") + indented("boats") + p("Paint no:") + indented("fences")

    assert leads(word(body)) == [None, "Keep no:", None, "Paint no:"]
