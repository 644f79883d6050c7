"""What a PDF's text is: order, words, places, pages and properties."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from quoth.documents.formats.pdf.page_reader import readable
from quoth.documents.formats.pdf.pdf_document import extract
from quoth.documents.sentences import sentence_spans
from quoth.types import Extract, Page, RegionKind

from .pdf_files import HEIGHT, WIDTH, Sheet, Text, lines, pdf

PROSE = """The barley was sown in the first week of April, and
the plots were rolled on the same day. Soil moisture
was measured at a depth of 2.5 cm each morning."""


def blocks(extract: Extract) -> list[tuple[RegionKind, str]]:
    assert extract.regions is not None
    return [(region.kind, extract.text[region.span.start : region.span.end]) for region in extract.regions]


def texts(extract: Extract, kind: RegionKind) -> list[str]:
    return [text for found, text in blocks(extract) if found is kind]


def box_of(extract: Extract, word: str, page: Page) -> tuple[float, float, float, float]:
    """The box around a word, by the boxes of its characters."""
    offset = extract.text.index(word)
    row = 0
    for span in page.spans:
        if span.start <= offset < span.end:
            row += offset - span.start
            break
        row += len(span)
    boxes = page.boxes[row : row + len(word)]
    return boxes[:, 0].min(), boxes[:, 1].min(), boxes[:, 2].max(), boxes[:, 3].max()


def test_lines_of_a_paragraph_stay_together_with_their_line_ends() -> None:
    found = extract(pdf([Sheet(lines(PROSE + "\n\n" + "A second paragraph stands apart."))]))

    assert found.text == PROSE + "\n\nA second paragraph stands apart."
    assert blocks(found) == [
        (RegionKind.PARAGRAPH, PROSE),
        (RegionKind.PARAGRAPH, "A second paragraph stands apart."),
    ]


def test_two_columns_are_read_one_after_the_other_whatever_order_they_are_drawn_in() -> None:
    left = lines("\n".join(f"Line {n} of the left column runs on here," for n in range(8)), x=50, y=120)
    right = lines("\n".join(f"line {n} of the right column is behind it," for n in range(8)), x=310, y=120)
    across = [text for pair in zip(left, right, strict=True) for text in pair]
    title = Text(120, 80, "A Title That Stands Over Both of the Columns", 18, "bold")
    found = extract(pdf([Sheet([title, *across])]))

    assert found.text.startswith("A Title That Stands Over Both of the Columns\n\nLine 0 of the left")
    assert found.text.index("Line 7 of the left") < found.text.index("line 0 of the right")
    # The sentence goes on in the next column, so both are one block.
    assert len(texts(found, RegionKind.PARAGRAPH)) == 1


def test_three_columns_below_a_short_title() -> None:
    columns = [
        lines("\n".join(f"Column {c} line {n} of the text" for n in range(6)), x=40 + 180 * c, y=120) for c in range(3)
    ]
    found = extract(pdf([Sheet([Text(250, 80, "Brief", 18, "bold"), *columns[2], *columns[0], *columns[1]])]))
    order = [found.text.index(f"Column {c} line {n}") for c in range(3) for n in range(6)]

    assert found.text.startswith("Brief\n\n")
    assert order == sorted(order)


def test_a_last_column_of_one_line_is_still_a_column() -> None:
    def column(x: float, side: str, rows: int) -> list[Text]:
        return lines("\n".join(f"Line {n} of the {side} column runs on here," for n in range(rows)), x=x)

    full = Sheet([*column(50, "left", 20), *column(310, "right", 20)])
    found = extract(pdf([full, Sheet([*column(50, "last left", 8), *column(310, "last right", 1)])]))

    assert found.text.index("Line 7 of the last left") < found.text.index("Line 0 of the last right")
    assert "Line 0 of the last left column runs on here,\nLine 1 of the last left" in found.text


def test_a_word_broken_over_two_lines_keeps_its_hyphen_and_line_end() -> None:
    found = extract(pdf([Sheet(lines("The depth of the water was meas-\nured every day by the farmers."))]))

    assert found.text == "The depth of the water was meas-\nured every day by the farmers."


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0xFB01, "fi"),
        (0xFB03, "ffi"),
        (0x02, "-"),
        (0xFFFE, "-"),
        (0xAD, "-"),
        (0xF0B7, "•"),
        (0xE123, ""),
        (0x00, ""),
        (0xD800, ""),
        (0x200B, ""),
        (0xA0, " "),
        (0x110000, ""),
        (0x1D707, "μ"),
        (ord("é"), "é"),
    ],
)
def test_every_drawn_character_becomes_plain_text(code: int, text: str) -> None:
    assert readable(code) == text


def test_a_ligature_is_its_letters_each_with_a_place_of_its_own() -> None:
    found = extract(pdf([Sheet([Text(50, 60, "Of ~ne ~sh", font="ligature")])]))
    (page,) = found.pages

    assert found.text == "Of fine fish"
    assert page.boxes[3][2] == page.boxes[4][0] < page.boxes[4][2]


def test_a_letter_beyond_16_bits_is_read_whole() -> None:
    found = extract(pdf([Sheet([Text(50, 60, "Add 5 |g.", font="ligature")])]))

    assert found.text == "Add 5 μg."


def test_a_narrow_space_before_sloped_letters_is_a_space() -> None:
    found = extract(pdf([Sheet([Text(50, 60, "leaves of "), Text(90.5, 60, "Zingiber officinale", font="italic")])]))

    assert found.text == "leaves of Zingiber officinale"


def test_text_that_is_clipped_away_is_not_read() -> None:
    box = (40, 50, 200, 20)
    shown = [Text(50, 60, "Sow at once.", clip=box), Text(50, 90, "Never seen.", clip=box)]
    found = extract(pdf([Sheet([*shown, Text(50, 120, "Roll.", clip=(0, 0, 600, 800))])]))

    assert found.text == "Sow at once.\n\nRoll."


def test_words_without_drawn_spaces_are_parted_by_their_gaps() -> None:
    found = extract(pdf([Sheet([Text(50, 60, "Sow"), Text(72, 60, "at"), Text(84, 60, "once.")])]))

    assert found.text == "Sow at once."


def test_a_word_is_where_it_was_drawn() -> None:
    found = extract(pdf([Sheet([Text(50, 60, "Here"), Text(200, 300, "elsewhere", 20)])]))
    (page,) = found.pages
    left, top, right, bottom = box_of(found, "elsewhere", page)

    assert (page.number, page.width, page.height) == (1, WIDTH, HEIGHT)
    assert left == pytest.approx(200, abs=2)
    assert right == pytest.approx(200 + 4.557 * 20, abs=1)  # the widths of the letters in Helvetica
    assert top < 290
    assert 300 < bottom < 310


def test_a_turned_page_is_placed_as_it_is_shown() -> None:
    # Drawn upwards on a page that is turned by a quarter: the reader sees an upright line.
    text = Text(100, 700, "Turned page", 20, turned="0 1 -1 0")
    found = extract(pdf([Sheet([text], entries="/Rotate 90")]))
    (page,) = found.pages
    left, top, right, bottom = box_of(found, "Turned", page)

    assert (page.width, page.height) == (HEIGHT, WIDTH)
    assert left == pytest.approx(100, abs=3)
    assert top < 100 < bottom
    assert right - left > bottom - top


def test_only_what_lies_in_the_crop_box_is_read_and_places_count_from_its_corner() -> None:
    inside, outside = Text(100, 300, "Seen by all"), Text(100, 20, "Cut away")
    found = extract(pdf([Sheet([inside, outside], entries="/CropBox [50 100 550 700]")]))
    (page,) = found.pages

    assert found.text == "Seen by all"
    assert (page.width, page.height) == (500, 600)
    assert box_of(found, "Seen", page)[0] == pytest.approx(50, abs=2)


def test_sideways_text_is_read_along_its_own_lines() -> None:
    sideways = [Text(500 + 12 * n, 700, f"Sideways line {n} of a note", turned="0 1 -1 0") for n in range(3)]
    found = extract(pdf([Sheet([*lines(PROSE), *sideways])]))

    assert PROSE in found.text
    assert "Sideways line 0 of a note\nSideways line 1 of a note\nSideways line 2 of a note" in found.text


def test_a_sentence_over_a_page_break_is_one_block_and_the_furniture_comes_behind_it() -> None:
    first = [Text(50, 30, "Annual report"), *lines("The rain fell on the hills for many days and the", y=700)]
    second = [Text(50, 30, "Annual report"), *lines("rivers rose until the bridges had to be closed.", y=60)]
    sheets = [Sheet([*first, Text(290, 780, "1")]), Sheet([*second, Text(290, 780, "2")])]
    found = extract(pdf(sheets))

    sentence = "The rain fell on the hills for many days and the\nrivers rose until the bridges had to be closed."
    assert texts(found, RegionKind.PARAGRAPH) == [sentence]
    assert texts(found, RegionKind.FURNITURE) == ["Annual report", "1", "Annual report", "2"]
    assert found.text.index(sentence) < found.text.index("1\n")
    assert [found.text[span.start : span.end] for span in found.pages[1].spans] == [
        "rivers rose until the bridges had to be closed.",
        "Annual report\n\n2",
    ]


def test_every_visible_character_has_a_box_on_exactly_one_page() -> None:
    rows = [Text(50 + 150 * c, 300 + 14 * r, f"cell {r} {c}") for r in range(4) for c in range(3)]
    found = extract(pdf([Sheet([*lines(PROSE), *rows]), Sheet(lines("• An item of a list.\n• Another one."))]))
    seen: list[int] = []
    for page in found.pages:
        assert sum(len(span) for span in page.spans) == len(page.boxes)
        places = [place for span in page.spans for place in range(span.start, span.end)]
        seen += [place for place, box in zip(places, page.boxes, strict=True) if box.any()]

    visible = [n for n, char in enumerate(found.text) if not char.isspace() and char != "|"]
    assert sorted(seen) == visible


def test_regions_hold_every_visible_character_once() -> None:
    found = extract(pdf([Sheet([*lines(PROSE), Text(50, 500, "• An item", 14, "bold")])]))
    assert found.regions is not None
    covered = [n for region in found.regions for n in range(region.span.start, region.span.end)]

    assert len(covered) == len(set(covered))
    assert {n for n, char in enumerate(found.text) if not char.isspace()} <= set(covered)


def test_the_same_bytes_give_the_same_extract() -> None:
    data = pdf([Sheet(lines(PROSE)), Sheet(lines(PROSE, x=80))], bookmarks=[("The barley", 1, 1)])
    one, two = extract(data), extract(data)

    assert (one.text, one.regions, one.properties) == (two.text, two.regions, two.properties)
    assert all((a.boxes == b.boxes).all() and a.spans == b.spans for a, b in zip(one.pages, two.pages, strict=True))


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("Irrigation of Potatoes", {"title": "Irrigation of Potatoes"}),
        ("untitled", {}),
        ("Microsoft Word - final2.doc", {}),
        ("report_v3.pdf", {}),
        ("12345", {}),
    ],
)
def test_a_title_that_says_nothing_is_left_out(title: str, kept: dict[str, str]) -> None:
    assert extract(pdf([Sheet(lines(PROSE))], title=title)).properties == kept


def test_the_language_comes_from_the_catalog() -> None:
    assert extract(pdf([Sheet(lines(PROSE))], catalog="/Lang (en-GB)")).properties == {"language": "en-GB"}


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_a_file_of_a_word_processor_is_read_whole(tmp_path: Path) -> None:
    prose = " ".join(f"Sentence number {n} tells of field {n} and its {n * 3} rows of beans." for n in range(120))
    source = tmp_path / "beans.html"
    source.write_text(f"<html><body><h1>Beans</h1><p>{prose}</p></body></html>", encoding="utf-8")
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    command = ["soffice", profile, "--headless", "--convert-to", "pdf:writer_web_pdf_Export", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=120)
    found = extract((tmp_path / "beans.pdf").read_bytes())

    assert found.regions is not None
    quoted = [
        " ".join(found.text[span.start : span.end].split())
        for region in found.regions
        for span in sentence_spans(found.text, region)
    ]
    assert [sentence for sentence in quoted if sentence.startswith("Sentence")] == prose.replace(". ", ".\n").split(
        "\n"
    )
