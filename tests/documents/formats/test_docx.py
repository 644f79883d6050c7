"""The text of a DOCX as its reader sees it: runs, headings, notes, fields, changes, boxes, properties."""

from __future__ import annotations

import pytest

from quoth.documents.formats.docx import docx_document as docx
from quoth.types import RegionKind as Kind

from .docx_files import (
    STRICT_W,
    STYLES,
    W,
    archive,
    field,
    level,
    numbered,
    numbering,
    p,
    part,
    relations,
    run,
    said,
    table,
    tc,
    texts,
    tr,
    word,
)


def one(*content: str, **others: str) -> str:
    """The text of a document of one paragraph."""
    return docx.extract(word(p(*content), **others)).text


def test_paragraphs_come_in_order() -> None:
    extract = docx.extract(word(p("Sow at 2.5 cm.") + p("") + p("Roll.")))

    assert extract.text == "Sow at 2.5 cm.\n\nRoll."
    assert [region.kind for region in extract.regions or ()] == [Kind.PARAGRAPH, Kind.PARAGRAPH]
    assert (extract.pages, extract.recognised, extract.notes) == ((), (), ())


def test_the_same_bytes_give_the_same_extract() -> None:
    data = word(p("Sow.", style="berschrift1") + numbered("one"), numbering=numbering(level(0, "decimal", "%1.")))

    assert docx.extract(data) == docx.extract(data)


def test_runs_are_joined_as_they_stand() -> None:
    assert one(run("Can"), run("ola at "), run("2"), run(".5 cm")) == "Canola at 2.5 cm"


def test_headings_are_known_in_any_language_and_by_what_they_rest_on() -> None:
    extract = docx.extract(
        word(
            p("The rules", style="Titel")
            + p("Parking", style="berschrift1")
            + p("Boats", style="Klausel")
            + p("No boats.")
            + p("By its level", properties='<w:outlineLvl w:val="1"/>')
            + p("Not one", style="berschrift1", properties='<w:outlineLvl w:val="9"/>')
        )
    )

    assert [(region.kind, region.section) for region in extract.regions or ()] == [
        (Kind.HEADING, ("The rules",)),
        (Kind.HEADING, ("Parking",)),
        (Kind.HEADING, ("Parking", "Boats")),
        (Kind.PARAGRAPH, ("Parking", "Boats")),
        (Kind.HEADING, ("Parking", "By its level")),
        (Kind.PARAGRAPH, ("Parking", "By its level")),
    ]


def test_headings_are_known_without_a_part_of_styles() -> None:
    data = archive(
        {"word/document.xml": part("document", f"<w:body>{p('Soil', style='Heading1')}{p('Wet.')}</w:body>")}
    )

    assert said(data) == [(Kind.HEADING, "Soil"), (Kind.PARAGRAPH, "Wet.")]


def test_a_whole_clause_in_the_style_of_a_heading_stays_evidence() -> None:
    clause = "No owner may park a boat, a trailer or a camper on any street of the community at any time of the day."

    assert said(word(p("Parking", style="berschrift1") + p(clause, style="berschrift2")))[1] == (Kind.PARAGRAPH, clause)


def test_styles_that_rest_on_each_other_in_a_circle_are_survived() -> None:
    circle = (
        '<w:style w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style>'
    )

    assert texts(word(p("Round.", style="A"), styles=circle)) == ["Round."]


def test_without_styled_headings_a_line_printed_as_one_is_one() -> None:
    bold = p(run("Soil and water", "<w:b/>"))

    assert said(word(bold + p("Test the soil."))) == [
        (Kind.HEADING, "Soil and water"),
        (Kind.PARAGRAPH, "Test the soil."),
    ]
    assert said(word(p(run("Never mix them.", "<w:b/>")) + p("Rinse.")))[0][0] is Kind.PARAGRAPH
    assert said(word(p("Water", style="berschrift1") + bold + p("Test the soil.")))[1][0] is Kind.PARAGRAPH


def test_styles_name_captions_quotes_contents_and_code() -> None:
    assert said(
        word(
            p("Soil ... 3", style="Verzeichnis1")
            + p("Rain ... 4", style="Verzeichnis1")
            + p("Table 1: Rates", style="Beschriftung")
            + p("To be or not.", style="Zitat")
            + p("a = 1", style="Code")
            + p("  b = 2", style="Code")
        )
    ) == [
        (Kind.CONTENTS, "Soil ... 3\nRain ... 4"),
        (Kind.CAPTION, "Table 1: Rates"),
        (Kind.QUOTE, "To be or not."),
        (Kind.CODE, "a = 1\n  b = 2"),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r>", "a\tb"),
        ("<w:r><w:t>line</w:t><w:br/><w:t>goes on</w:t></w:r>", "line\ngoes on"),
        ("<w:r><w:t>6.0</w:t><w:noBreakHyphen/><w:t>7.0</w:t></w:r>", "6.0-7.0"),
        ("<w:r><w:t>ir</w:t><w:softHyphen/><w:t>rigate</w:t></w:r>", "ir\u00adrigate"),
        ("<w:r><w:t>Rule 12b\u00ad2</w:t></w:r>", "Rule 12b\u00ad2"),
        ('<w:r><w:t>x </w:t><w:sym w:font="Symbol" w:char="F0B3"/><w:t> 5</w:t></w:r>', "x ≥ 5"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:t> yes</w:t></w:r>', "☑ yes"),
        ('<w:r><w:sym w:font="Webdings" w:char="F099"/><w:t> odd</w:t></w:r>', "\ufffd odd"),
        ('<w:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>m</w:t></w:r><w:r><w:t>g</w:t></w:r>', "μg"),
        ("<w:r><w:t>5 \uf0b1 1</w:t></w:r>", "5 ± 1"),
        (run("10") + run("5", '<w:vertAlign w:val="superscript"/>') + run(" cells"), "10⁵ cells"),
        (run("kg ha") + run("-1", '<w:vertAlign w:val="superscript"/>'), "kg ha⁻¹"),
        (run("10") + run("5", '<w:position w:val="8"/><w:sz w:val="19"/>'), "10⁵"),
        (run("the 5") + run("th", '<w:vertAlign w:val="superscript"/>'), "the 5th"),
        (run("CO") + run("2", '<w:vertAlign w:val="subscript"/>'), "CO2"),
        (run("10") + run("2", '<w:vertAlign w:val="subscript"/>'), "10₂"),
        ("<w:hyperlink><w:r><w:t>a link</w:t></w:r></w:hyperlink>", "a link"),
        ("<w:smartTag><w:smartTag><w:r><w:t>tagged</w:t></w:r></w:smartTag></w:smartTag>", "tagged"),
        ("<w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t>filled in</w:t></w:r></w:sdtContent></w:sdt>", "filled in"),
        (
            "<w:ruby><w:rt><w:r><w:t>x</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby>",
            "漢",
        ),
        ("<w:r><w:t>pretty\n  print</w:t></w:r>", "pretty   print"),
    ],
)
def test_what_a_run_prints(content: str, text: str) -> None:
    assert one(content) == text


@pytest.mark.parametrize(
    "content",
    [
        run("secret", "<w:vanish/>"),
        run("secret", '<w:rStyle w:val="Still"/>'),
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>",
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>",
        '<w:r><w:commentReference w:id="0"/></w:r>',
        "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r><w:t>Enter</w:t></w:r></w:sdtContent></w:sdt>",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(content: str) -> None:
    assert one("Seen", content, ".") == "Seen."


def test_hidden_style_and_its_exception() -> None:
    assert texts(word(p("secret", run("shown", '<w:vanish w:val="0"/>'), style="Geheim"))) == ["shown"]


def test_changes_are_read_as_accepted() -> None:
    body = p(
        "The fee is ",
        "<w:del><w:r><w:delText>10</w:delText></w:r></w:del>",
        "<w:ins><w:r><w:t>25</w:t></w:r></w:ins>",
        " dollars.",
    )

    assert texts(word(body)) == ["The fee is 25 dollars."]


def test_a_paragraph_whose_end_was_deleted_goes_on_in_the_next() -> None:
    body = p("The fee ", properties="<w:rPr><w:del/></w:rPr>") + p("is due.") + p("Pay.")

    assert texts(word(body)) == ["The fee is due.", "Pay."]


def test_a_deleted_end_of_the_last_paragraph_loses_nothing() -> None:
    assert texts(word(p("Pay.") + p("Rest.", properties="<w:rPr><w:del/></w:rPr>"))) == ["Pay.", "Rest."]


def test_a_field_shows_its_result_and_not_its_instruction() -> None:
    assert one("See ", field(" REF _x ", "Table 3"), ".") == "See Table 3."
    assert one("On ", '<w:fldSimple w:instr=" DATE "><w:r><w:t>May 1</w:t></w:r></w:fldSimple>') == "On May 1"


def test_fields_inside_fields() -> None:
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    inner = field(" PAGE ", "7")

    assert one(begin, "<w:r><w:instrText> IF </w:instrText></w:r>", inner, separate, run("yes"), end, "!") == "yes!"


def test_a_table_of_contents_is_named_so_and_ends() -> None:
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    instruction = "<w:r><w:instrText> TOC \\o </w:instrText></w:r>"
    body = p(begin, instruction, separate, "Soil 3") + p("Rain 4") + p(end) + p("Soil is wet.")

    assert said(word(body)) == [(Kind.CONTENTS, "Soil 3\nRain 4"), (Kind.PARAGRAPH, "Soil is wet.")]


def test_a_field_that_never_ends_swallows_nothing() -> None:
    begin, separate = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate"))
    body = p(begin, "<w:r><w:instrText> TOC </w:instrText></w:r>", separate, "Soil.") + p("Rain.")

    assert said(word(body)) == [(Kind.PARAGRAPH, "Soil."), (Kind.PARAGRAPH, "Rain.")]


def test_the_gallery_of_contents_is_contents() -> None:
    gallery = '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
    listed = p("Contents", style="berschrift1") + p("Soil 3")
    control = f"<w:sdt><w:sdtPr>{gallery}</w:sdtPr><w:sdtContent>{listed}</w:sdtContent></w:sdt>"

    assert said(word(control + p("Wet."))) == [(Kind.CONTENTS, "Contents\nSoil 3"), (Kind.PARAGRAPH, "Wet.")]


def note(number: int, text: str, kind: str = "footnote") -> str:
    return f'<w:{kind} w:id="{number}">{p(f"<w:r><w:{kind}Ref/></w:r>", text)}</w:{kind}>'


def reference(number: int, kind: str = "footnote", more: str = "") -> str:
    return f'<w:r><w:{kind}Reference w:id="{number}"{more}/></w:r>'


def test_the_mark_of_a_note_never_joins_a_number_and_the_note_follows_its_paragraph() -> None:
    body = p("The rate is 10.5", reference(2), " t.") + p("Next", reference(5), ".")
    notes = note(0, "---") + note(2, " In dry years.") + note(5, "Ask.")

    assert said(word(body, footnotes=notes)) == [
        (Kind.PARAGRAPH, "The rate is 10.5 t."),
        (Kind.FOOTNOTE, "[1] In dry years."),
        (Kind.PARAGRAPH, "Next."),
        (Kind.FOOTNOTE, "[2] Ask."),
    ]


def test_endnotes_are_numbered_by_themselves_and_as_the_settings_say() -> None:
    body = p("One", reference(1), reference(1, "endnote"), ".") + p("Two", reference(2, "endnote"))
    parts = {"footnotes": note(1, "Foot."), "endnotes": note(1, "End.", "endnote") + note(2, "More.", "endnote")}

    assert texts(word(body, **parts))[1:] == ["[1] Foot.", "[i] End.", "Two", "[ii] More."]
    settings = '<w:endnotePr><w:numFmt w:val="upperLetter"/><w:numStart w:val="3"/></w:endnotePr>'
    assert texts(word(body, **parts, settings=settings))[-1] == "[D] More."


def test_a_mark_that_the_author_typed_is_left_out_of_the_line() -> None:
    own = '<w:r><w:footnoteReference w:id="1" w:customMarkFollows="1"/><w:t>*</w:t></w:r>'

    assert texts(word(p("The fee is 5", own, "."), footnotes=note(1, "* In winter."))) == [
        "The fee is 5.",
        "* In winter.",
    ]


def test_a_note_in_a_cell_follows_its_row() -> None:
    cell = tc(p("5", reference(1)))
    body = table(tr("Wheat", cell), tr("Rye", "4"))

    assert texts(word(body, footnotes=note(1, "Dry."))) == ["Wheat | 5", "[1] Dry.", "Rye | 4"]


def test_a_note_that_is_missing_is_no_fault() -> None:
    assert texts(word(p("Here", reference(9), "."))) == ["Here."]


def test_a_text_box_is_read_once_after_its_paragraph() -> None:
    def box(text: str) -> str:
        return f"<w:txbxContent>{p(text)}</w:txbxContent>"

    alternatives = (
        '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx>'
        f"{box('In the box.')}</wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>"
        f"{box('In the box.')}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )

    assert texts(word(p("Beside ", alternatives, "it.") + p("After."))) == ["Beside it.", "In the box.", "After."]


def test_the_fallback_is_read_where_the_choice_says_nothing() -> None:
    shape = (
        '<w:r><mc:AlternateContent><mc:Choice Requires="x"><w:drawing/></mc:Choice><mc:Fallback>'
        "<w:t>kept</w:t></mc:Fallback></mc:AlternateContent></w:r>"
    )

    assert one(shape) == "kept"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>", "1/2"),
        ("<m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>", "(a+b)/2"),
        ("<m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>5</m:t></m:r></m:sup></m:sSup>", "10^5"),
        ("<m:rad><m:deg/><m:e><m:r><m:t>2</m:t></m:r></m:e></m:rad>", "√(2)"),
    ],
)
def test_a_formula_keeps_its_meaning_on_one_line(formula: str, text: str) -> None:
    assert one(f"<m:oMath>{formula}</m:oMath>") == text


def test_a_blank_line_inside_a_paragraph_ends_it_and_an_enumerator_begins_an_item() -> None:
    line_end = "<w:r><w:br/></w:r>"
    broken = line_end.join([run("Never do this:"), run("(a) burn;"), run("(b) dig."), "", run("Ask.")])
    extract = docx.extract(word(p(broken)))

    assert said(word(p(broken))) == [
        (Kind.PARAGRAPH, "Never do this:"),
        (Kind.LIST_ITEM, "(a) burn;"),
        (Kind.LIST_ITEM, "(b) dig."),
        (Kind.PARAGRAPH, "Ask."),
    ]
    assert [region.lead is not None for region in extract.regions or ()] == [False, True, True, False]


def test_headers_and_footers_come_once_at_the_end() -> None:
    assert said(word(p("Text."), header=p("Draft"), footer=p("Page ", field(" PAGE ", "1")))) == [
        (Kind.PARAGRAPH, "Text."),
        (Kind.FURNITURE, "Draft"),
        (Kind.FURNITURE, "Page 1"),
    ]


CORE = '<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title><dc:language>de-DE</dc:language></c>'


@pytest.mark.parametrize(
    ("stated", "paragraphs", "title"),
    [
        ("The rules of 1998", [p("The rules", style="Title"), p("They are new.")], "The rules"),
        ("Rules \n of 2020", [p("The rules", style="Title"), p("They are the RULES of 2020.")], "Rules of 2020"),
        ("Memo of 1998", [p("Bylaws of the Club", style="Heading1"), p("Text.")], "Bylaws of the Club"),
        ("Bylaws", [p("Bylaws of the Club", style="Heading1"), p("Text.")], "Bylaws"),
        ("Bylaws", [p("1. Scope", style="Heading1"), p("Text.")], "Bylaws"),
        ("Bylaws", [p("Introduction", style="Heading1"), p("Text.")], "Bylaws"),
        ("Bylaws", [p("Only text, which has no title.")], "Bylaws"),
        ("", [p("Bylaws of the Club", style="Heading1"), p("Text.")], None),
        ("Microsoft Word - rules.doc", [p("The rules", style="Title")], "The rules"),
    ],
)
def test_a_stated_title_is_believed_unless_the_document_prints_another(
    stated: str, paragraphs: list[str], title: str | None
) -> None:
    links = relations({"word/document.xml": "officeDocument", "docProps/core.xml": "core-properties"})
    body = part("document", f"<w:body>{''.join(paragraphs)}</w:body>")
    parts = {"_rels/.rels": links, "word/document.xml": body, "docProps/core.xml": CORE.format(stated)}

    assert docx.extract(archive(parts)).properties.get("title") == title


def test_title_and_language_come_from_the_properties() -> None:
    body = part("document", f"<w:body>{p('The rules', style='Title')}</w:body>")
    links = relations({"word/document.xml": "officeDocument", "docProps/core.xml": "core-properties"})
    parts = {"_rels/.rels": links, "word/document.xml": body}

    named = docx.extract(archive({**parts, "docProps/core.xml": CORE.format("The \n Rules")}))
    unnamed = docx.extract(archive({**parts, "docProps/core.xml": CORE.format("Microsoft Word - rules.doc")}))
    assert named.properties == {"title": "The Rules", "language": "de-DE"}
    assert unnamed.properties == {"title": "The rules", "language": "de-DE"}


def test_the_language_may_come_from_the_styles() -> None:
    languages = '<w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="fr-FR"/></w:rPr></w:rPrDefault></w:docDefaults>'

    assert docx.extract(word(p("Bonjour."), styles=languages + STYLES)).properties == {"language": "fr-FR"}


def test_the_strict_dialect_reads_the_same() -> None:
    body = p("Soil", style="berschrift1") + numbered("wet") + table(tr("a", "b"), tr("c", "d"))
    lists = numbering(level(0, "decimal", "%1."))
    parts = {
        "_rels/.rels": relations({"word/document.xml": "officeDocument"}),
        "word/_rels/document.xml.rels": relations({"styles.xml": "styles", "numbering.xml": "numbering"}),
        "word/document.xml": part("document", f"<w:body>{body}</w:body>"),
        "word/styles.xml": part("styles", STYLES),
        "word/numbering.xml": part("numbering", lists),
    }
    strict = {name: content.replace(W, STRICT_W) for name, content in parts.items()}

    assert docx.extract(archive(strict)) == docx.extract(archive(parts))
    assert texts(archive(strict)) == ["Soil", "1. wet", "a | b", "c | d"]


def test_the_main_part_is_where_the_package_says() -> None:
    body = part("document", f"<w:body>{p('Here.')}</w:body>")
    parts = {"_rels/.rels": relations({"/word/document2.xml": "officeDocument"}), "word/document2.xml": body}

    assert texts(archive(parts)) == ["Here."]


def test_a_document_of_pictures_alone_says_so() -> None:
    extract = docx.extract(word(p("<w:r><w:drawing/></w:r>")))

    assert (extract.text, extract.regions) == ("", ())
    assert extract.notes == ("It holds pictures and no text; text inside pictures of a .docx is not read.",)
