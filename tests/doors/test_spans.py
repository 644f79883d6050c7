"""A slice of a document with what stands around it and where it is printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.formats.pdf_files import Sheet, lines, pdf
from quoth.domain.profile import parse_profile
from quoth.errors import CorpusError, QuestionError
from quoth.language.graphemes import parts_grapheme
from quoth.library import Quoth
from quoth.output.source_slices import LONGEST_SLICE, DocumentChanged, span_json
from quoth.types import Page

from .command_line import write_files

KEYS = {
    "doc_id", "title", "start", "end", "before", "quote", "after", "truncated_before", "truncated_after", "section",
    "page", "doc_sha256", "document_type", "authority", "authority_guessed", "effective_date", "superseded_by",
    "pages", "offset_unit",
}  # fmt: skip

PROFILE = """\
name: town
authority: {binding_factor: 1.1, superseded_factor: 0.5, cap: 1.0}
document_types:
  code: {authority: binding}
"""

FENCES = (
    "---\ntitle: Fences\ndocument_type: code\neffective_date: 2019-12-04\n"
    "superseded_by: [{section: Section 2, by: new.md}]\n---\n\n"
    "# Section 1 Height\n\n"
    "A fence may be six feet high. A gate may be as high as its fence. Posts are set in concrete.\n"
    "\n# Section 2 Colour\n\nA fence is brown or green. No other colour is allowed.\n"
)
FARMER = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{EAR OF RICE}"
DECORATED = "Café cafe\N{COMBINING ACUTE ACCENT} opens. " + FARMER * 40 + " ends."
PAGES = [
    "\n".join(f"Row {row} of page {page} tells how the barley of plot {row} did." for row in range(30))
    for page in range(1, 13)
]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Quoth:
    place = tmp_path_factory.mktemp("spans")
    (place / "town.yaml").write_text(PROFILE, encoding="utf-8")
    files: dict[str, bytes | str] = {
        "fences.md": FENCES,
        "new.md": "# Colours\n\nEvery colour is allowed.\n",
        "windows.txt": b"First line of the note.\r\nSecond line of the note.\r\nThird line of the note.\r\n",
        "decorated.md": DECORATED,
        "long.md": "word " * 400 + "needle " + "word " * 400 + ".",
        "book.pdf": pdf([Sheet(lines(text)) for text in PAGES]),
    }
    write_files(place / "files", files)
    settings = {"embedding.model_name": "hash", "rerank.kind": "late"}
    return Quoth.build(place / "files", index=place / "index", profile=str(place / "town.yaml"), settings=settings)


def text_of(town: Quoth, doc_id: str) -> str:
    document = town.document(doc_id)
    assert document is not None
    return document.text


def span_of(town: Quoth, doc_id: str, quote: str, *, around: int) -> dict[str, Any]:
    start = text_of(town, doc_id).index(quote)
    return span_at(town, doc_id, start, start + len(quote), around=around)


def span_at(town: Quoth, doc_id: str, start: int, end: int, *, around: int) -> dict[str, Any]:
    with town.reading() as reader:
        found = span_json(reader, doc_id, start, end, around=around, profile=parse_profile(PROFILE), cited=None)
    text = text_of(town, doc_id)
    first = start - len(found["before"])
    assert set(found) == KEYS
    assert found["quote"] == text[start:end]
    assert found["before"] + found["quote"] + found["after"] == text[first : end + len(found["after"])]
    assert (found["truncated_before"], found["truncated_after"]) == (first > 0, end + len(found["after"]) < len(text))
    assert max(len(found["before"]), len(found["after"])) <= around
    return found


def test_a_quote_stands_between_whole_sentences(town: Quoth) -> None:
    found = span_of(town, "fences.md", "A gate may be as high as its fence.", around=45)

    assert found["before"] == "A fence may be six feet high. "
    assert found["after"] == " Posts are set in concrete.\n\n"
    assert (found["truncated_before"], found["truncated_after"]) == (True, True)


def test_what_a_document_is_worth_comes_with_the_quote(town: Quoth) -> None:
    height = span_of(town, "fences.md", "A fence may be six feet high.", around=0)
    colour = span_of(town, "fences.md", "No other colour is allowed.", around=0)

    assert (height["before"], height["after"]) == ("", "")
    assert (height["title"], height["document_type"], height["authority"]) == ("Fences", "code", "binding")
    assert (height["effective_date"], height["section"]) == ("2019-12-04", ["Section 1 Height"])
    assert height["superseded_by"] is None
    assert colour["section"] == ["Section 2 Colour"]
    assert colour["superseded_by"] == [{"section": "Section 2", "by": "new.md"}]
    assert (colour["page"], colour["pages"]) == (None, [])


def test_the_ends_of_a_document_are_no_cuts(town: Quoth) -> None:
    found = span_of(town, "fences.md", "A fence is brown or green.", around=20_000)

    assert (found["truncated_before"], found["truncated_after"]) == (False, False)
    assert found["before"] + found["quote"] + found["after"] == FENCES


def test_windows_line_ends_are_kept_whole(town: Quoth) -> None:
    found = span_of(town, "windows.txt", "Second line of the note.", around=29)

    assert found["before"] == "First line of the note.\r\n"
    assert found["after"] == "\r\nThird line of the note.\r\n"
    for around in range(30):
        found = span_of(town, "windows.txt", "Second line of the note.", around=around)
        assert not found["before"].startswith("\n")
        assert not found["after"].endswith("\r")


def test_no_context_begins_inside_a_character(town: Quoth) -> None:
    text = text_of(town, "decorated.md")
    for around in range(60):
        found = span_of(town, "decorated.md", "ends.", around=around)
        first = found["start"] - len(found["before"])
        assert not parts_grapheme(text, first), (around, found["before"])
    accented = span_at(town, "decorated.md", len("Café cafe\N{COMBINING ACUTE ACCENT} "), 16, around=2)
    assert accented["before"] == " "


def test_where_there_is_no_sentence_the_context_begins_with_a_word(town: Quoth) -> None:
    found = span_of(town, "long.md", "needle", around=103)

    assert found["before"] == "word " * 20
    assert found["after"] == " word" * 20 + " "


def test_a_quote_of_a_pdf_is_marked_on_its_page(town: Quoth) -> None:
    found = span_of(town, "book.pdf", "Row 3 of page 7 tells how the barley of plot 3 did.", around=100)
    (page,) = found["pages"]
    (box,) = page["boxes"]

    assert (found["page"], page["number"], page["width"], page["height"]) == (7, 7, 600, 800)
    assert set(box) == {"left", "top", "right", "bottom"}
    assert 45 < box["left"] < 55 < box["right"] < 600
    assert 60 + 3 * 12 - 12 < box["top"] < box["bottom"] < 60 + 3 * 12 + 12


def test_a_quote_over_two_pages_is_marked_on_both(town: Quoth) -> None:
    text = text_of(town, "book.pdf")
    start, end = text.index("Row 29 of page 4"), text.index("Row 1 of page 5")
    found = span_at(town, "book.pdf", start, end, around=800)

    assert found["page"] == 4
    assert [(page["number"], len(page["boxes"])) for page in found["pages"]] == [(4, 1), (5, 1)]


def test_only_the_pages_near_a_quote_are_read(town: Quoth, monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of(town, "book.pdf")
    start = text.index("Row 29 of page 4")
    read: list[int] = []
    with town.reading() as reader:
        stored = type(reader).page

        def counted(self: object, doc_id: str, number: int) -> Page | None:
            read.append(number)
            return stored(reader, doc_id, number)

        monkeypatch.setattr(type(reader), "page", counted)
        span_json(reader, "book.pdf", start, start + 10, around=0, profile=parse_profile(PROFILE), cited=None)

    assert read == [4, 5]


def test_an_unknown_document_and_offsets_outside_are_named(town: Quoth) -> None:
    with town.reading() as reader:
        profile = parse_profile(PROFILE)
        with pytest.raises(CorpusError, match=r"no document 'hedges\.md'") as unknown:
            span_json(reader, "hedges.md", 0, 1, around=0, profile=profile, cited=None)
        assert unknown.value.hint
        for start, end in [(0, 0), (5, 4), (-1, 3), (0, len(FENCES) + 1)]:
            with pytest.raises(QuestionError, match="is no slice of fences") as outside:
                span_json(reader, "fences.md", start, end, around=0, profile=profile, cited=None)
            assert outside.value.hint
        with pytest.raises(QuestionError, match="context"):
            span_json(reader, "fences.md", 0, 1, around=20_001, profile=profile, cited=None)


@pytest.fixture(scope="module")
def documents(town: Quoth) -> Iterator[dict[str, int]]:
    yield {info.id: info.characters for info in town.documents()}


@given(data=st.data())
def test_any_slice_is_exact(town: Quoth, documents: dict[str, int], data: st.DataObject) -> None:
    doc_id = data.draw(st.sampled_from(sorted(documents)))
    start = data.draw(st.integers(0, documents[doc_id] - 1))
    end = data.draw(st.integers(start + 1, min(documents[doc_id], start + 300)))

    span_at(town, doc_id, start, end, around=data.draw(st.integers(0, 400)))


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("e\N{COMBINING ACUTE ACCENT}x", {1}),
        ("\r\nx", {1}),
        (FARMER, {1, 2}),
        ("\U0001f44d\U0001f3fdx", {1}),
        ("\U0001f1f9\U0001f1f7\U0001f1e9\U0001f1ea", {1, 3}),
        ("plain", set()),
    ],
)
def test_a_character_as_people_see_it(text: str, inside: set[int]) -> None:
    assert {place for place in range(len(text) + 1) if parts_grapheme(text, place)} == inside


def test_a_document_that_was_replaced_is_told_rather_than_other_words_given(town: Quoth) -> None:
    profile = parse_profile(PROFILE)
    sha256 = span_of(town, "fences.md", "brown", around=0)["doc_sha256"]
    other = f"{(int(sha256[0], 16) + 1) % 16:x}{sha256[1:]}"
    with town.reading() as reader:
        for cited in (sha256, sha256[:8], sha256[:16].upper()):
            found = span_json(reader, "fences.md", 0, 3, around=0, profile=profile, cited=cited)
            assert found["doc_sha256"] == sha256
        for cited in (other, other[:8]):
            with pytest.raises(DocumentChanged) as error:
                span_json(reader, "fences.md", 0, 10**9, around=0, profile=profile, cited=cited)
            assert (error.value.code, "fences.md" in str(error.value)) == ("document-changed", True)
            assert error.value.hint


def test_a_slice_has_a_longest_length(tmp_path: Path) -> None:
    text = "Oats grow well. " * (LONGEST_SLICE // 16 + 10)
    write_files(tmp_path / "files", {"long.txt": text})
    quoth = Quoth.build(
        tmp_path / "files", index=tmp_path / "index", settings={"embedding.model_name": "hash", "rerank.kind": "late"}
    )
    profile = parse_profile(PROFILE)
    with quoth.reading() as reader:
        found = span_json(reader, "long.txt", 1, 1 + LONGEST_SLICE, around=0, profile=profile, cited=None)
        assert found["quote"] == text[1 : 1 + LONGEST_SLICE]
        with pytest.raises(QuestionError, match="more than one call gives"):
            span_json(reader, "long.txt", 0, 1 + LONGEST_SLICE, around=0, profile=profile, cited=None)
