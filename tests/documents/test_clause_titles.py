"""The bare title of a clause is a heading above its text; a short sentence stays a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.documents.sentences import split, split_regions
from quoth.documents.text_blocks import Block, assemble
from quoth.types import RegionKind

PARAGRAPH, ITEM, HEADING = RegionKind.PARAGRAPH, RegionKind.LIST_ITEM, RegionKind.HEADING
TEXT = "No owner shall park a truck on the street overnight."
OTHER = "The board may tow a vehicle after two written warnings."


def assembled(*texts: str, kind: RegionKind = PARAGRAPH) -> list[tuple[str, RegionKind, tuple[str, ...]]]:
    """The sentences of paragraphs as an extractor gives them: text, kind, section."""
    made = assemble([Block(kind, text, level=1 if kind is ITEM else 0, opens=False) for text in texts])
    return [
        (made.text[span.start : span.end], region.kind, region.section)
        for region, spans in split_regions(made.text, made.regions)
        for span in spans
    ]


def evidence(*texts: str, kind: RegionKind = PARAGRAPH) -> list[str]:
    return [text for text, found, _ in assembled(*texts, kind=kind) if found.evidence]


def test_a_clause_title_that_runs_into_its_text_is_its_heading() -> None:
    assert assembled(f"9.1.7 Parking. {TEXT} {OTHER}") == [
        ("9.1.7 Parking.", HEADING, ("9.1.7 Parking",)),
        (TEXT, ITEM, ("9.1.7 Parking",)),
        (OTHER, ITEM, ("9.1.7 Parking",)),
    ]


def test_a_clause_title_that_stands_alone_heads_what_follows_until_the_next() -> None:
    assert assembled("9.1.7 Parking.", TEXT, OTHER, "9.1.8 Use of Common Areas.", OTHER) == [
        ("9.1.7 Parking.", HEADING, ("9.1.7 Parking",)),
        (TEXT, PARAGRAPH, ("9.1.7 Parking",)),
        (OTHER, PARAGRAPH, ("9.1.7 Parking",)),
        ("9.1.8 Use of Common Areas.", HEADING, ("9.1.8 Use of Common Areas",)),
        (OTHER, PARAGRAPH, ("9.1.8 Use of Common Areas",)),
    ]


def test_clause_titles_nest_by_their_numbers() -> None:
    found = assembled("9.1 Lot Restrictions.", f"9.1.1 Parking. {TEXT}", f"9.2 Enforcement. {OTHER}")

    assert [section for _, _, section in found] == [
        ("9.1 Lot Restrictions",),
        ("9.1 Lot Restrictions", "9.1.1 Parking"),
        ("9.1 Lot Restrictions", "9.1.1 Parking"),
        ("9.2 Enforcement",),
        ("9.2 Enforcement",),
    ]


def test_a_clause_without_a_title_ends_the_title_before_it() -> None:
    found = assembled(f"9.1.7 Parking. {TEXT}", f"9.2 {OTHER}")

    assert found[-1] == (f"9.2 {OTHER}", ITEM, ())


def test_clause_titles_inside_a_paragraph_head_what_follows_them() -> None:
    found = assembled(f"9.1.7 Parking. {TEXT} 9.1.8 Towing. {OTHER}")

    assert [(text, section) for text, kind, section in found if kind.evidence] == [
        (TEXT, ("9.1.7 Parking",)),
        (OTHER, ("9.1.8 Towing",)),
    ]


def test_single_numbers_need_a_series_of_titles() -> None:
    assert evidence(f"1. Parking. {TEXT}", f"2. Towing. {OTHER}") == [TEXT, OTHER]
    assert evidence(f"1. Parking. {TEXT}", OTHER) == ["1. Parking.", TEXT, OTHER]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_plain_text_and_markdown_have_clause_titles_too(form: str) -> None:
    text = f"9.1.6 Signs. {OTHER}\n\n9.1.7 Parking. {TEXT}\n\n9.1.8 Use of Common Areas.\n\n{OTHER}\n"
    found = [(text[span.start : span.end], region) for region, spans in split(text, format=form) for span in spans]

    assert [sentence for sentence, region in found if region.kind.evidence] == [OTHER, TEXT, OTHER]
    assert [region.section[-1].rstrip(".") for _, region in found if region.kind.evidence] == [
        "9.1.6 Signs",
        "9.1.7 Parking",
        "9.1.8 Use of Common Areas",
    ]


def test_bold_marks_around_a_clause_title_are_no_words_of_it() -> None:
    text = f"**9.1.7 Parking.** {TEXT}\n"
    found = [
        (text[span.start : span.end], region) for region, spans in split(text, format="markdown") for span in spans
    ]

    assert [(sentence, region.section) for sentence, region in found if region.kind.evidence] == [
        (TEXT, ("9.1.7 Parking",))
    ]


@pytest.mark.parametrize(
    "short",
    [
        "2. Sow early.",
        "3. Prune hard.",
        "No smoking.",
        "5 cm.",
        "2.5 cm.",
        "2.5 Acres.",
        "Parking.",
        "9.1.7 No owner shall park.",
        "9.1.7 Parking is free.",
        "9.1.7 Do not park here.",
        "9.1.7 Never park here!",
        "4.2 Is Parking Allowed?",
        "4.2 Keep Gates Closed.",
        "4.2 Wash hands.",
        "V. Paul Hill, 65.",
        "$4.50 Per Day.",
        "12 Main Street.",
        "7.3 of the Declaration.",
        "1. Yes.",
        "(a) Parking.",
    ],
)
def test_a_short_sentence_stays_a_sentence(short: str) -> None:
    assert short in evidence(short, TEXT)
    assert short in " ".join(evidence(f"{short} {TEXT}"))


def test_items_of_a_list_stay_items() -> None:
    items = ["4.1 Tractors.", "4.2 Trailers.", "4.3 Motor Homes.", "4.4 Boats."]

    assert evidence(*items, kind=ITEM) == items
    assert evidence("1. Sow early.", "2. Prune hard.", "3. Water.") == ["1. Sow early.", "2. Prune hard.", "3. Water."]


def test_a_clause_title_without_text_of_its_own_stays() -> None:
    assert evidence(TEXT, "9.1.7 Parking.") == [TEXT, "9.1.7 Parking."]
    assert evidence("9.1.7 Parking.", "See above.") == ["9.1.7 Parking.", "See above."]


@pytest.mark.parametrize("kind", [RegionKind.TABLE_ROW, RegionKind.QUOTE, RegionKind.FOOTNOTE, RegionKind.CAPTION])
def test_only_paragraphs_and_items_have_clause_titles(kind: RegionKind) -> None:
    assert "9.1.7 Parking." in " ".join(evidence(f"9.1.7 Parking. {TEXT}", kind=kind))


@given(
    st.lists(
        st.sampled_from(["9.1 Use.", "9.1.7 Parking.", "1. Term.", "2. Fees.", "A. Scope.", TEXT, OTHER, "Yes.", "\n"]),
        min_size=1,
    ).map(" ".join),
    st.sampled_from(["text", "markdown"]),
)
def test_cutting_clause_titles_loses_nothing(text: str, form: str) -> None:
    text = text.replace(" \n ", "\n\n")
    spans = [span for region, spans in split(text, format=form) for span in (spans or (region.span,))]

    assert spans == sorted(spans)
    assert "".join("".join(text[span.start : span.end].split()) for span in spans) == "".join(text.split())
