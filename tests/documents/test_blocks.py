"""Blocks become one text, and each region knows its section, its lead-in or its table header."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.documents.text_blocks import Assembled, Block, assemble, row_text
from quoth.types import RegionKind as Kind


def block(kind: Kind, text: str, level: int = 0, *, opens: bool = False) -> Block:
    return Block(kind, text, level=level, opens=opens)


def heading(text: str, level: int) -> Block:
    return block(Kind.HEADING, text, level)


def paragraph(text: str) -> Block:
    return block(Kind.PARAGRAPH, text)


def item(text: str, depth: int, *, opens: bool = False) -> Block:
    return block(Kind.LIST_ITEM, text, depth, opens=opens)


def row(text: str, *, opens: bool = False) -> Block:
    return block(Kind.TABLE_ROW, text, opens=opens)


def header(text: str, *, opens: bool = False) -> Block:
    return block(Kind.TABLE_HEADER, text, opens=opens)


def leads(assembled: Assembled) -> dict[str, str | None]:
    """The lead of each region by the region's text."""
    return {
        assembled.text[region.span.start : region.span.end]: None
        if region.lead is None
        else assembled.text[region.lead.start : region.lead.end]
        for region in assembled.regions
    }


def sections(assembled: Assembled) -> dict[str, tuple[str, ...]]:
    return {assembled.text[region.span.start : region.span.end]: region.section for region in assembled.regions}


def test_no_blocks_make_an_empty_text() -> None:
    assert assemble([]) == Assembled("", (), ())


def test_blocks_stand_one_below_the_other_and_begin_where_it_says() -> None:
    assembled = assemble([paragraph("One.\nStill one."), paragraph(" \n "), paragraph("  Two. ")])

    assert assembled.text == "One.\nStill one.\n\n  Two. "
    assert assembled.starts == (0, None, 17)
    assert [(region.span.start, region.span.end) for region in assembled.regions] == [(0, 15), (19, 23)]


def test_a_heading_ends_every_section_of_its_rank_and_below() -> None:
    assembled = assemble(
        [
            paragraph("Before."),
            heading("Article VII", 1),
            heading("Section\n7.3", 2),
            paragraph("Deep."),
            heading("Section 7.4", 2),
            block(Kind.FOOTNOTE, "[1] Aside."),
            heading("Article VIII", 1),
            paragraph("High."),
        ]
    )

    assert sections(assembled) == {
        "Before.": (),
        "Article VII": ("Article VII",),
        "Section\n7.3": ("Article VII", "Section 7.3"),
        "Deep.": ("Article VII", "Section 7.3"),
        "Section 7.4": ("Article VII", "Section 7.4"),
        "[1] Aside.": ("Article VII", "Section 7.4"),
        "Article VIII": ("Article VIII",),
        "High.": ("Article VIII",),
    }


def test_a_label_and_the_title_below_it_are_one_section() -> None:
    assembled = assemble([heading("ARTICLE VII", 1), heading("PARKING", 1), paragraph("No boats."), heading("Dogs", 1)])

    assert sections(assembled)["No boats."] == ("ARTICLE VII PARKING",)
    assert sections(assembled)["Dogs"] == ("Dogs",)


def test_two_labels_are_two_sections() -> None:
    assembled = assemble(
        [heading("Section 1", 1), heading("Section 2. Dogs", 1), heading("Article I", 1), heading("Cats", 2)]
    )

    assert sections(assembled)["Section 2. Dogs"] == ("Section 2. Dogs",)
    assert sections(assembled)["Cats"] == ("Article I", "Cats")


def test_the_last_sentence_before_a_list_introduces_it() -> None:
    assembled = assemble(
        [
            paragraph("Soil matters. Test it for:"),
            item("• pH", 1, opens=True),
            item("• salt", 1),
            paragraph("Then sow."),
        ]
    )

    assert leads(assembled)["• pH"] == leads(assembled)["• salt"] == "Test it for:"
    assert leads(assembled)["Then sow."] is None


def test_a_denial_reaches_the_innermost_item() -> None:
    assembled = assemble(
        [
            paragraph("Never:"),
            item("• In spring:", 1, opens=True),
            item("◦ apply nitrogen", 2, opens=True),
            item("• In autumn:", 1),
            item("◦ apply lime", 2, opens=True),
        ]
    )

    assert leads(assembled)["◦ apply nitrogen"] == "Never:\n\n• In spring:"
    assert leads(assembled)["◦ apply lime"] == "Never:\n\n• In spring:\n\n◦ apply nitrogen\n\n• In autumn:"


def test_a_list_goes_on_after_a_paragraph_between_its_items() -> None:
    assembled = assemble(
        [
            paragraph("Owners may not:"),
            item("1. park boats.", 1, opens=True),
            paragraph("This is old."),
            item("2. burn.", 1),
        ]
    )

    assert leads(assembled)["2. burn."] == "Owners may not:"


def test_a_new_list_has_a_lead_of_its_own() -> None:
    assembled = assemble(
        [
            paragraph("Never:"),
            item("• burn.", 1, opens=True),
            paragraph("Always:"),
            item("• rinse.", 1, opens=True),
            item("• other list.", 1, opens=True),
        ]
    )

    assert leads(assembled)["• rinse."] == "Always:"
    assert leads(assembled)["• other list."] is None


def test_a_paragraph_inside_an_item_introduces_the_list_below_it_with_the_denial_above() -> None:
    assembled = assemble(
        [
            paragraph("Never:"),
            item("1. In spring.", 1, opens=True),
            paragraph("For example:"),
            item("a. apply nitrogen", 2, opens=True),
        ]
    )

    assert leads(assembled)["a. apply nitrogen"] == "Never:\n\n1. In spring.\n\nFor example:"


def test_a_heading_ends_a_list() -> None:
    assembled = assemble([paragraph("Never:"), item("• burn.", 1, opens=True), heading("Dogs", 1), item("• run.", 1)])

    assert leads(assembled)["• run."] is None


def test_a_heading_that_ends_in_a_colon_introduces_its_list() -> None:
    assembled = assemble([heading("Do not:", 1), item("• burn.", 1, opens=True)])

    assert leads(assembled)["• burn."] == "Do not:"


def test_a_typed_item_introduces_the_list_below_it() -> None:
    assembled = assemble([paragraph("(a) The owner shall not:"), item("• burn.", 1, opens=True)])

    assert assembled.regions[0].kind is Kind.LIST_ITEM
    assert leads(assembled)["• burn."] == "(a) The owner shall not:"


def test_an_item_introduces_the_typed_items_below_it() -> None:
    assembled = assemble(
        [
            paragraph("Owners must:"),
            item("1. Care.", 1, opens=True),
            item("2. Owners shall not:", 1),
            paragraph("(a) burn;"),
            paragraph("(b) dig."),
        ]
    )

    assert (
        leads(assembled)["(a) burn;"]
        == leads(assembled)["(b) dig."]
        == "Owners must:\n\n1. Care.\n\n2. Owners shall not:"
    )


def test_the_end_of_a_longer_clause_says_nothing_about_the_next() -> None:
    assembled = assemble(
        [
            paragraph("The parties met. They agree."),
            item("1. Rent. It is due monthly. It is fixed.", 1, opens=True),
            item("(a) Costs are shared.", 2, opens=True),
            item("2. Vehicles", 1),
            item("(a) Boats may not be parked.", 2, opens=True),
        ]
    )

    assert leads(assembled)["1. Rent. It is due monthly. It is fixed."] is None
    assert leads(assembled)["(a) Costs are shared."] is None
    assert leads(assembled)["(a) Boats may not be parked."] == "2. Vehicles"


def test_a_clause_that_introduces_nothing_hands_the_denial_above_on() -> None:
    assembled = assemble(
        [
            paragraph("Nobody may:"),
            item("1. Burn. Fire spreads. It kills.", 1, opens=True),
            item("(a) waste of any kind", 2, opens=True),
        ]
    )

    assert leads(assembled)["(a) waste of any kind"] == "Nobody may:"


@pytest.mark.parametrize("kind", [Kind.FURNITURE, Kind.CAPTION, Kind.FOOTNOTE, Kind.MARKUP])
def test_what_stands_beside_the_text_interrupts_no_list_and_no_table(kind: Kind) -> None:
    aside = block(kind, "Page 3")
    assembled = assemble(
        [
            paragraph("Never:"),
            aside,
            item("• burn.", 1, opens=True),
            aside,
            item("• dig.", 1),
            header("Crop | Rate", opens=True),
            aside,
            row("Wheat | 5"),
            aside,
            row("Rye | 4"),
        ]
    )

    assert leads(assembled)["• dig."] == "Never:"
    assert leads(assembled)["Wheat | 5"] == leads(assembled)["Rye | 4"] == "Crop | Rate"
    assert leads(assembled)["Page 3"] is None


def test_a_row_is_led_by_the_header_of_its_own_table() -> None:
    assembled = assemble(
        [
            header("Crop | Rate", opens=True),
            row("Wheat | 5"),
            header("Town | Rain", opens=True),
            row("Ely | 500"),
            row("Name | Value", opens=True),
            row("pH | 6"),
        ]
    )

    assert leads(assembled)["Wheat | 5"] == "Crop | Rate"
    assert leads(assembled)["Ely | 500"] == "Town | Rain"
    assert leads(assembled)["Name | Value"] is leads(assembled)["pH | 6"] is None


def test_two_header_rows_are_one_header() -> None:
    assembled = assemble([header(" | Yield", opens=True), header("Crop | 2020 | 2021"), row("Wheat | 5 | 6")])

    assert leads(assembled)["Wheat | 5 | 6"] == "| Yield\n\nCrop | 2020 | 2021"


def test_a_header_further_down_replaces_the_one_above() -> None:
    assembled = assemble([header("Crop | Rate", opens=True), row("Wheat | 5"), header("Tree | Rate"), row("Oak | 1")])

    assert leads(assembled)["Oak | 1"] == "Tree | Rate"


def test_a_table_goes_on_after_a_long_cell_that_was_set_as_text() -> None:
    assembled = assemble([header("Term | Meaning", opens=True), paragraph("A long cell."), row("Lot | Land")])

    assert leads(assembled)["Lot | Land"] == "Term | Meaning"


def test_a_heading_ends_a_table() -> None:
    assembled = assemble([header("Crop | Rate", opens=True), heading("Rain", 1), row("Ely | 500")])

    assert leads(assembled)["Ely | 500"] is None


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (["a", "b"], "a | b"),
        (["", "b", "", "d", "", ""], " | b |  | d"),
        (["two\n lines", "  x\ty "], "two lines | x y"),
        (["a |", "b|"], "a | | b|"),
        (["", ""], ""),
        ([], ""),
    ],
)
def test_an_empty_cell_keeps_its_place_and_no_sign_is_lost(cells: list[str], text: str) -> None:
    assert row_text(cells) == text


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.sampled_from(["(a) one:", "1. Two. Three.", "• dot", "Never:", "4.2 x —", " ", "\n", "A.\n\nB.", "Rate | 5"]),
)
BLOCKS = st.builds(Block, kind=st.sampled_from(Kind), text=TEXTS, level=st.integers(0, 5), opens=st.booleans())


@given(st.lists(BLOCKS, max_size=25))
def test_every_visible_character_lies_in_exactly_one_region(blocks: list[Block]) -> None:
    assembled = assemble(blocks)
    covered = [place for region in assembled.regions for place in range(region.span.start, region.span.end)]

    assert len(covered) == len(set(covered))
    assert all(assembled.text[place].isspace() for place in set(range(len(assembled.text))) - set(covered))
    assert all(one.span.end <= two.span.start for one, two in pairwise(assembled.regions))


@given(st.lists(BLOCKS, max_size=25))
def test_every_block_is_found_whole_where_it_says_and_every_lead_lies_before(blocks: list[Block]) -> None:
    assembled = assemble(blocks)

    for given_block, start in zip(blocks, assembled.starts, strict=True):
        assert (start is None) == (not given_block.text.strip())
        if start is not None:
            assert assembled.text[start : start + len(given_block.text)] == given_block.text
    for region in assembled.regions:
        assert region.lead is None or region.lead.end <= region.span.start
    assert assemble(blocks) == assembled
