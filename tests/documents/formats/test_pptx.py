"""Presentations: a slide is a page and a section; its title introduces its points, its notes follow it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats.pptx import pptx_document as pptx
from quoth.errors import UnreadableFile
from quoth.types import RegionKind as Kind
from quoth.types import Span

from .docx_files import archive, relations
from .pptx_files import NUMBERED, a, body, deck, part, said, shape, table, texts, title, tree


def test_a_slide_is_a_section_and_its_title_introduces_its_points() -> None:
    extract = pptx.extract(deck(title("Sowing depth") + body(a("Barley"), a("3 cm in clay", 1), a("Rye"))))
    heading, barley, clay, rye = extract.regions or ()

    assert extract.text == "Sowing depth\n\nBarley\n\n3 cm in clay\n\nRye"
    assert [region.kind for region in extract.regions or ()] == [Kind.HEADING, *[Kind.LIST_ITEM] * 3]
    assert {region.section for region in extract.regions or ()} == {("Sowing depth",)}
    assert (barley.lead, clay.lead, rye.lead) == (heading.span, barley.span, heading.span)


def test_a_slide_is_a_page_and_hidden_ones_keep_their_numbers() -> None:
    extract = pptx.extract(deck(title("One"), title("Two"), title("Three"), hidden=[1]))

    assert extract.text == "One\n\nThree"
    assert [(page.number, page.spans) for page in extract.pages] == [(1, (Span(0, 3),)), (2, ()), (3, (Span(5, 10),))]
    assert [page.boxes.shape for page in extract.pages] == [(3, 4), (0, 4), (5, 4)]
    assert (extract.pages[0].width, extract.pages[0].height) == (720, 540)
    assert extract.notes == ("Hidden slides are not read: 2.",)


def test_the_title_comes_first_wherever_it_stands() -> None:
    assert texts(deck(shape("A box.") + title("Title"))) == ["Title", "A box."]


def test_a_slide_without_a_title_does_not_go_on_with_the_one_before() -> None:
    extract = pptx.extract(deck(title("One") + shape("We need:"), body("lime")))

    assert [region.section for region in extract.regions or ()] == [("One",), ("One",), ("Slide 2",)]
    assert (extract.regions or ())[-1].lead is None


def test_speaker_notes_follow_their_slide_in_a_section_of_their_own() -> None:
    notes = shape("Say why.", "Then ask.", kind="body") + shape("7", kind="sldNum")
    extract = pptx.extract(deck(title("One") + body("lime"), title("Two"), notes={0: notes}))

    assert extract.text.split("\n\n") == ["One", "lime", "Say why.", "Then ask.", "Two"]
    assert (extract.regions or ())[2].section == ("One", "Speaker notes")
    assert (extract.regions or ())[2].kind is Kind.PARAGRAPH
    assert extract.pages[0].spans == (Span(0, extract.text.index("Two") - 2),)


def test_bullets_come_from_the_paragraph_the_shape_the_layout_or_the_master() -> None:
    none = "<a:buNone/>"
    off = shape("", kind="body", styles=f"<a:lvl1pPr>{none}</a:lvl1pPr>")

    def kind(shapes: str, layout: str = "") -> Kind:
        return said(deck(shapes, layout=layout))[0][0]

    assert kind(body("x")) is Kind.LIST_ITEM
    assert kind(body(a("x", mark=none))) is Kind.PARAGRAPH
    assert kind(shape("x", kind="body", styles=f"<a:lvl1pPr>{none}</a:lvl1pPr>")) is Kind.PARAGRAPH
    assert kind(body("x"), layout=off) is Kind.PARAGRAPH
    assert kind(shape("x")) is Kind.PARAGRAPH
    assert kind(shape(a("x", mark='<a:buChar char="*"/>'))) is Kind.LIST_ITEM
    assert kind(shape("x", kind="subTitle")) is Kind.PARAGRAPH


def test_numbers_are_counted_and_written() -> None:
    letters = '<a:buAutoNum type="alphaLcParenR" startAt="3"/>'
    points = [a("dig", mark=NUMBERED), a("deep", 1, letters), a("wide", 1, letters), a("sow", mark=NUMBERED), a("rest")]

    assert texts(deck(body(*points, a("again", mark=NUMBERED)))) == [
        *("1. dig", "c) deep", "d) wide", "2. sow", "rest", "1. again")
    ]


def test_a_table_has_its_header_and_merged_cells_are_said_in_each_row() -> None:
    rows = [["Crop", "Year", "Yield"], ['@rowSpan="2"@Wheat', "2020", "5"], ['@vMerge="1"@', "2021", "6"]]
    extract = pptx.extract(deck(table(*rows)))

    assert extract.text.split("\n\n") == ["Crop | Year | Yield", "Wheat | 2020 | 5", "Wheat | 2021 | 6"]
    assert (extract.regions or ())[1].lead == (extract.regions or ())[0].span
    assert [kind for kind, _ in said(deck(table(*rows, header=False)))] == [Kind.TABLE_ROW] * 3


def test_groups_breaks_fields_and_alternatives_are_read() -> None:
    line = "<a:p><a:r><a:t>one</a:t></a:r><a:br/><a:fld><a:t>two</a:t></a:fld></a:p>"
    group = f"<p:grpSp><p:grpSp>{shape(line)}</p:grpSp>{shape('three')}</p:grpSp>"
    choice = f"<mc:AlternateContent><mc:Choice/><mc:Fallback>{shape('four')}</mc:Fallback></mc:AlternateContent>"

    assert texts(deck(group + choice)) == ["one\ntwo", "three", "four"]


def test_a_diagram_gives_its_texts() -> None:
    frame = (
        '<p:graphicFrame><a:graphic><a:graphicData><dgm:relIds r:dm="r0"/></a:graphicData></a:graphic></p:graphicFrame>'
    )
    points = "".join(f"<dgm:pt><dgm:t>{a(text)}</dgm:t></dgm:pt>" for text in ("Dig", "Sow", "Wait"))
    data = part("x", "").replace("p:x", "dgm:dataModel").replace("></dgm", f"><dgm:ptLst>{points}</dgm:ptLst></dgm")
    more: dict[str, str | bytes] = {
        "ppt/_rels/s0.xml.rels": relations({"data.xml": "diagramData"}),
        "ppt/data.xml": data,
    }

    assert texts(deck(title("Steps") + frame, more=more)) == ["Steps", "Dig", "Sow", "Wait"]


def test_footers_come_once_and_numbers_and_dates_not_at_all() -> None:
    foot = shape("Larch Hollow", kind="ftr") + shape("1", kind="sldNum") + shape("May", kind="dt")

    assert said(deck(title("One") + foot, title("Two") + foot)) == [
        (Kind.HEADING, "One"),
        (Kind.HEADING, "Two"),
        (Kind.FURNITURE, "Larch Hollow"),
    ]


def test_slides_of_pictures_alone_are_named() -> None:
    assert pptx.extract(deck("<p:pic/>", title("Two") + "<p:pic/>")).notes == (
        "Slides that hold pictures and no text: 1.",
    )


def refusal(data: bytes) -> str:
    with pytest.raises(UnreadableFile) as refused:
        pptx.extract(data)
    assert refused.value.hint
    return str(refused.value)


def test_what_is_no_presentation_is_refused() -> None:
    assert "it is not a .pptx" in refusal(b"just words")
    assert "it is not a .pptx" in refusal(deck(title("Cut off"))[:-40])
    assert "without a presentation" in refusal(archive({"hello.txt": "hello"}))
    assert "is not a presentation" in refusal(archive({"ppt/presentation.xml": part("sld", "")}))


def test_entities_are_refused_before_they_grow() -> None:
    bomb = '<!DOCTYPE d [<!ENTITY e "ha">]>' + part("sld", tree(title("&e;"))).split("?>", 1)[1]

    assert "declares a document type" in refusal(deck("", more={"ppt/s0.xml": bomb}))


def test_too_many_slides_and_too_much_text_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = deck(title("One"), title("Two"), title("Three"))

    monkeypatch.setattr(pptx, "MOST_CHARACTERS", 8)
    assert "more than 8 characters" in refusal(data)
    monkeypatch.setattr(pptx, "MOST_SLIDES", 2)
    assert "more than 2 slides" in refusal(data)


def test_a_slide_that_is_named_twice_is_read_once() -> None:
    twice = {"ppt/_rels/presentation.xml.rels": relations({"s0.xml": "slide", "../ppt/s0.xml": "slide"})}

    assert texts(deck(title("One"), title("Two"), more=twice)) == ["One"]


def test_nesting_without_end_is_survived() -> None:
    deep = "<p:grpSp>" * 200 + shape("Deep.") + "</p:grpSp>" * 200

    assert texts(deck(deep)) == ["Deep."]


TAGS = [
    "p:sp",
    "p:txBody",
    "a:p",
    "a:r",
    "a:tbl",
    "a:tr",
    "a:tc",
    "p:grpSp",
    "p:graphicFrame",
    "a:graphic",
    "mc:Choice",
]


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.sampled_from(["<a:t>word 2.5</a:t>", "<a:br/>", "text", a("Item.", 3), shape("Box."), body("Point.")]),
        lambda inner: st.builds(
            lambda tag, found: f"<{tag}>{''.join(found)}</{tag}>", st.sampled_from(TAGS), st.lists(inner, max_size=4)
        ),
        max_leaves=20,
    )
)
def test_any_nesting_of_elements_gives_a_whole_text(shapes: str) -> None:
    extract = pptx.extract(deck(title("Title") + shapes))
    covered = {place for region in extract.regions or () for place in range(region.span.start, region.span.end)}

    assert all(extract.text[place].isspace() for place in set(range(len(extract.text))) - covered)
