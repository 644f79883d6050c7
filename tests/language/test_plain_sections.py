"""A plain text shows its sections: headings, run-in headings, tables of contents and captions."""

from __future__ import annotations

import pytest

from quoth.documents.sentences import markdown_regions, plain_regions
from quoth.language.headings import is_caption, run_in_heading
from quoth.types import RegionKind

PROSE = "The tenant keeps every fence in good repair and tells the owner of any damage at once."


def kinds(text: str) -> dict[str, str]:
    return {text[region.span.start : region.span.end]: region.kind.value for region in plain_regions(text)}


def sections(text: str) -> dict[str, tuple[str, ...]]:
    return {text[region.span.start : region.span.end]: region.section for region in plain_regions(text)}


def document(*blocks: str) -> str:
    return "\n\n".join(blocks)


def test_articles_hold_sections_and_sections_hold_their_parts() -> None:
    text = document(
        *("LEASE OF LAND", PROSE, "ARTICLE I", "DEFINITIONS", "Section 1.1 Words", "Words mean what they say here."),
        *("ARTICLE II - FENCES", "Section 2.1 Repair", "Keep them in good repair at all times, please."),
        *("2.1.1 Posts", "Posts are made of oak and nothing else.", "EXHIBIT A", "Form of notice that is to be given."),
    )

    assert sections(text) == {
        "LEASE OF LAND": ("LEASE OF LAND",),
        PROSE: ("LEASE OF LAND",),
        "ARTICLE I": ("LEASE OF LAND", "ARTICLE I"),
        "DEFINITIONS": ("LEASE OF LAND", "ARTICLE I DEFINITIONS"),
        "Section 1.1 Words": ("LEASE OF LAND", "ARTICLE I DEFINITIONS", "Section 1.1 Words"),
        "Words mean what they say here.": ("LEASE OF LAND", "ARTICLE I DEFINITIONS", "Section 1.1 Words"),
        "ARTICLE II - FENCES": ("LEASE OF LAND", "ARTICLE II - FENCES"),
        "Section 2.1 Repair": ("LEASE OF LAND", "ARTICLE II - FENCES", "Section 2.1 Repair"),
        "Keep them in good repair at all times, please.": (
            *("LEASE OF LAND", "ARTICLE II - FENCES", "Section 2.1 Repair"),
        ),
        "2.1.1 Posts": ("LEASE OF LAND", "ARTICLE II - FENCES", "Section 2.1 Repair", "2.1.1 Posts"),
        "Posts are made of oak and nothing else.": (
            *("LEASE OF LAND", "ARTICLE II - FENCES", "Section 2.1 Repair", "2.1.1 Posts"),
        ),
        "EXHIBIT A": ("LEASE OF LAND", "EXHIBIT A"),
        "Form of notice that is to be given.": ("LEASE OF LAND", "EXHIBIT A"),
    }


@pytest.mark.parametrize("title", ["LEASE OF LAND", "Lease of Land", "THE NORTH FIELD\n\nLEASE OF LAND"])
def test_the_title_of_a_document_stays_evidence(title: str) -> None:
    text = document(title, PROSE)

    assert set(kinds(text).values()) == {"paragraph"}
    assert sections(text)[PROSE] == (title.splitlines()[0],)


def test_a_title_below_a_preamble_stays_evidence_too() -> None:
    text = document("Certain parts of this document were left out on request.", "LEASE OF LAND", PROSE)

    assert kinds(text)["LEASE OF LAND"] == "paragraph"
    assert sections(text)[PROSE] == ("LEASE OF LAND",)


def test_headings_are_named_and_text_is_not() -> None:
    text = document(
        PROSE, "1. DUTIES", PROSE + " Always.", "GENERAL TERMS", PROSE + " Now.", "Introduction", PROSE + "!"
    )

    assert [quote for quote, kind in kinds(text).items() if kind == "heading"] == [
        *("1. DUTIES", "GENERAL TERMS", "Introduction"),
    ]


@pytest.mark.parametrize(
    "items",
    [
        ("1. Seed", "2. Water", "3. Lime"),
        ("1. SEED", "2. WATER", "3. LIME"),
        ("A. New York", "B. Los Angeles", "C. Des Moines"),
        ("1.1 Seed", "1.2 Water", "1.3 Lime"),
        ("1. Seed", "2. We water it twice a week in summer."),
    ],
)
def test_numbers_that_follow_each_other_at_once_are_a_list(items: tuple[str, ...]) -> None:
    text = document(PROSE, *items, PROSE + " Always.")

    assert "heading" not in kinds(text).values()


def test_two_headings_in_capitals_may_follow_each_other() -> None:
    text = document(PROSE, "1. RESERVED MATTERS", "2. TERM", PROSE + " Always.")

    assert [kind for kind in kinds(text).values() if kind == "heading"] == ["heading"] * 2


@pytest.mark.parametrize(
    "blocks",
    [
        ("NORTH FIELD SUPPLIES", "By: ______________", "Name: A. Hill"),
        ("SIGNATURE OF OWNER", "____________________"),
        ("FIELD SEVEN", "12.5", "13.5"),
        ("THE VERY LAST LINE",),
    ],
)
def test_a_line_in_capitals_above_no_text_is_no_heading(blocks: tuple[str, ...]) -> None:
    text = document(PROSE, "1. DUTIES", PROSE + " Always.", *blocks)

    assert kinds(text)[blocks[0]] == "paragraph"


def test_a_line_that_comes_on_every_page_is_no_heading() -> None:
    page = document("FENCE SURVEY", PROSE)
    text = document("Survey.", *[page.replace("every", word) for word in ("one", "two", "three")])

    assert "heading" not in kinds(text).values()


def test_a_run_in_heading_names_its_section_and_stays_whole() -> None:
    first = "Section 4.1 Rent. Rent is due on the first day."
    second = "Section 4.2 Notices. All notices shall be in writing."
    text = document(PROSE, first, "It is paid in cash on that day.", second, "They are sent by post, never otherwise.")

    assert kinds(text)[second] == "paragraph"
    assert [section for section in sections(text).values() if section] == [
        *[("Section 4.1 Rent",)] * 2,
        *[("Section 4.2 Notices",)] * 2,
    ]


@pytest.mark.parametrize(
    ("block", "title"),
    [
        ("1. Services. At the request of the client we work.", "1. Services"),
        ("4.2 Prices and Taxes. Prices are net.", "4.2 Prices and Taxes"),
        ("12. GOVERNING LAW. The law of the land governs.", "12. GOVERNING LAW"),
        ("3.2 DELIVERY AND INSTALLATION As detailed below, we deliver.", "3.2 DELIVERY AND INSTALLATION"),
        ("Section 7.3. No fence shall be built.", "Section 7.3"),
        ("ARTICLE IX: The board meets twice.", "ARTICLE IX"),
        ("5. License Grants 5.1 License. We grant it.", "5. License Grants"),
        ("1. Sow the seed. Then roll it.", None),
        ("1. We sow in May. Then we roll.", None),
        ("Section 7.3 of the lease applies. It always did.", None),
        ("2.5 cm of rain fell. It was cold.", None),
        ("(a) Term. It lasts a year.", None),
        ("V. Paul Hill, 65. He has been a director for years.", None),
        ("Services. At the request of the client.", None),
    ],
)
def test_a_run_in_heading_is_a_number_with_a_title(block: str, title: str | None) -> None:
    found = run_in_heading(block)

    assert (found[1] if found else None) == title


def test_a_numbered_text_ends_the_section_before_it() -> None:
    text = document(
        "4. TERMS OF PAYMENT",
        "4.1 Rent. Rent is due on the first day.",
        "4.2 The tenant pays in cash and in no other way.",
        "5. The owner gives a receipt for all that was paid.",
    )

    assert list(sections(text).values()) == [
        *(("4. TERMS OF PAYMENT",), ("4. TERMS OF PAYMENT", "4.1 Rent"), ("4. TERMS OF PAYMENT",), ()),
    ]


def test_a_number_does_not_stand_under_another_one() -> None:
    text = document("5. RENT AND COSTS", PROSE, "8.7 Taxes.", PROSE + " Always.")

    assert sections(text)["8.7 Taxes."] == ("8.7 Taxes.",)


def test_a_title_with_text_of_its_own_does_not_hold_the_numbers_behind_it() -> None:
    text = document(
        *("LEASE OF LAND", PROSE, "RECITALS", "The owner has land that is fit for grazing.", "1. DUTIES"),
        *(PROSE + " Always.", "GENERAL TERMS", "1. NOTICE PERIOD", PROSE + " Now.", "2. COSTS", PROSE + "!"),
    )

    assert sections(text)["1. DUTIES"] == ("LEASE OF LAND", "1. DUTIES")
    assert sections(text)["2. COSTS"] == ("LEASE OF LAND", "GENERAL TERMS", "2. COSTS")


def test_a_kind_of_number_first_seen_below_another_goes_deeper() -> None:
    text = document(
        *(PROSE, "I. BACKGROUND", PROSE + " a", "A. Soil and Water", PROSE + " b", "1. Clay Soils", PROSE + " c"),
        *("II. METHODS", PROSE + " d"),
    )

    assert sections(text)[PROSE + " c"] == ("I. BACKGROUND", "A. Soil and Water", "1. Clay Soils")
    assert sections(text)[PROSE + " d"] == ("II. METHODS",)


def test_a_letter_that_is_also_a_numeral_stays_a_letter_in_its_order() -> None:
    text = document(PROSE, "H. Care of Walls", PROSE + " a", "I. Care of Gates", PROSE + " b")

    assert sections(text)[PROSE + " b"] == ("I. Care of Gates",)


def test_plain_numbers_are_headings_where_a_document_counts_with_them() -> None:
    counted = document(PROSE, *[f"{n} {word}\n\n{PROSE} {n}" for n, word in enumerate(["Scope", "Rent", "End"], 1)])
    once = document(PROSE, "5 Hill Road", PROSE + " Always.")

    assert sections(counted)[f"{PROSE} 2"] == ("2 Rent",)
    assert "heading" not in kinds(once).values()


def test_lines_in_title_case_are_headings_where_a_document_has_several() -> None:
    titles = ["Return of Documents", "No Waiver", "Legal Remedy"]
    several = document(PROSE, *[f"{title}\n\n{PROSE} {title}" for title in titles])
    single = document(PROSE, "No Waiver", PROSE + " Always.")

    assert [quote for quote, kind in kinds(several).items() if kind == "heading"] == titles
    assert kinds(single)["No Waiver"] == "paragraph"


def test_a_centred_line_is_a_heading() -> None:
    wrapped = "The tenant keeps every fence in good repair and tells the owner of any\ndamage at once, in writing."
    centred = " " * 28 + "Care of Fences"
    text = document(wrapped, centred, wrapped.replace("fence", "gate"), wrapped.replace("fence", "wall"))

    assert kinds(text)["Care of Fences"] == "heading"


def test_a_table_of_contents_is_skipped_and_the_headings_are_not() -> None:
    contents = "Table of Contents\n\n1. Duties ........ 1\n2. Term of Lease ........ 4"
    text = document("LEASE OF LAND", contents, "1. Duties", PROSE, "2. Term of Lease", PROSE + " Always.")

    assert kinds(text)[contents] == "table_of_contents"
    assert kinds(text)["1. Duties"] == kinds(text)["2. Term of Lease"] == "heading"


def test_lines_around_a_table_of_contents_are_not_joined() -> None:
    text = "It says what is in the\n1. Duties ....... 1\n2. Term ......... 4\n3. Rent ......... 5\nbook that we have."

    assert list(kinds(text).values()) == ["paragraph", "table_of_contents", "paragraph"]


def test_an_item_keeps_its_lead_below_a_heading_that_introduces_it() -> None:
    text = document(PROSE, "4. The Tenant May:", "(a) sell;", "(b) lease.")
    regions = {text[region.span.start : region.span.end]: region for region in plain_regions(text)}

    assert regions["4. The Tenant May:"].kind is RegionKind.LIST_ITEM
    assert regions["(b) lease."].lead == regions["4. The Tenant May:"].span


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("Figure 3. Yield of wheat.", True),
        ("Table 2: Prices", True),
        ("TABLE A-2: Tones", True),
        ("Fig. S8. Editing of the gene.", True),
        ("**Figure 3.** Yield", True),
        ("Table 4\nPrices of seed", True),
        ("Figure 2 – Map of the field", True),
        ("Table 7", True),
        ("Figure 3 shows the yield.", False),
        ("Figure 3\nshows the yield.", False),
        ("Table 2, as said above, is wrong.", False),
        ("figure 3. yield", False),
        ("Tables are wide.", False),
        ("Table of Contents", False),
    ],
)
def test_a_caption_opens_with_its_number_and_a_stop(block: str, expected: bool) -> None:
    assert is_caption(block) is expected


def test_captions_are_named_in_both_formats() -> None:
    text = document(PROSE, "Figure 3. Yield of wheat. It fell.", "Figure 3 shows the yield.")

    for regions in (plain_regions(text), markdown_regions(text)):
        assert [region.kind.value for region in regions] == ["paragraph", "caption", "paragraph"]


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        ("## Contents\n\n- [One](#one)\n  - [Two](#two)\n\nText.", ["- [One](#one)\n  - [Two](#two)"]),
        ("1. [One](#a)\n2. [Two](#b)\n3. [Three](#c)\n\nText.", ["1. [One](#a)\n2. [Two](#b)\n3. [Three](#c)"]),
        ("[TOC]\n\nText.", ["[TOC]"]),
        ("[[_TOC_]]\n\nText.", ["[[_TOC_]]"]),
        ("- [One](#a)\n- [Two](#b)\n\nText.", []),
        ("## Contents\n\n- [One](#one) is about wheat\n", []),
        ("## Contents\n\n- [One](https://example.com)\n", []),
        ("> - [One](#a)\n> - [Two](#b)\n> - [Three](#c)\n", []),
    ],
)
def test_a_list_of_links_into_the_document_is_its_contents(text: str, skipped: list[str]) -> None:
    found = [
        text[region.span.start : region.span.end]
        for region in markdown_regions(text)
        if region.kind is RegionKind.CONTENTS
    ]

    assert found == skipped


def test_lists_behind_a_markdown_contents_are_read_as_before() -> None:
    text = "## Contents\n\n- [One](#one)\n\n## One\n\nBring:\n\n- seed\n- lime\n"
    regions = {text[region.span.start : region.span.end]: region for region in markdown_regions(text)}

    assert regions["lime"].kind is RegionKind.LIST_ITEM
    assert regions["lime"].lead == regions["Bring:"].span
    assert regions["lime"].section == ("One",)


def test_an_amount_at_the_start_of_a_wrapped_line_is_no_enumerator() -> None:
    text = (
        "Members pay 9.40 for each tonne received and 1.15 for each point of moisture removed, and\n"
        "1.80 for each tonne and month of storage after the first month. Charges are settled on\n"
        "the last working day of a month, and a member who disputes a charge writes within 30 days.\n"
    )

    assert len(plain_regions(text)) == 1
