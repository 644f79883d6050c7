"""Highlights in copies of PDFs: read back from the file, and seen in the picture of the page."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
import pypdfium2
import pytest
from numpy.typing import NDArray

from doors.command_line import failed, run
from quoth.citations import pdf_highlights
from quoth.citations.pdf_highlights import COLOUR, Highlight, PdfRefused, highlighted_pdf, highlights_of
from quoth.errors import MissingExtra
from quoth.types import DocumentInfo

from .export_corpus import CROPPED, FILES, HTML, NOTES, PDF, RUNS_ON, TURNED, Corpus, exported_corpus, result, write_run  # noqa: F401 - a fixture

SCALE = 3  # pixels a point
ON_PAGES = ("Canola yields more in cold soil.", TURNED, CROPPED, RUNS_ON)


def info_of(corpus: Corpus, doc_id: str = PDF) -> DocumentInfo:
    return next(info for info in corpus.quoth.documents() if info.id == doc_id)


def highlights(corpus: Corpus, *results: dict[str, Any]) -> tuple[tuple[Highlight, ...], int]:
    questions, _ = corpus.questions(*results)
    with corpus.quoth.reading() as reader:
        return highlights_of(questions, reader, info_of(corpus))


def source() -> bytes:
    data = FILES[PDF]
    assert isinstance(data, bytes)
    return data


def picture(data: bytes, number: int) -> NDArray[np.uint8]:
    """A page as a viewer shows it."""
    with pypdfium2.PdfDocument(data) as document:
        drawn: NDArray[np.uint8] = (
            document[number - 1].render(scale=SCALE, may_draw_forms=True, rev_byteorder=True).to_numpy()
        )
        return drawn[:, :, :3].copy()


def marked(picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    colour = np.array(COLOUR) * 255
    near: NDArray[np.bool_] = (np.abs(picture.astype(int) - colour) <= 6).all(axis=2)
    return near


def test_every_viewer_shows_the_quote_and_nothing_else_highlighted(corpus: Corpus) -> None:
    quotes = [corpus.quote(PDF, words) for words in ON_PAGES]
    marks, unprinted = highlights(corpus, result("Which crop?", quotes))
    copy = highlighted_pdf(source(), marks, info=info_of(corpus))

    assert ([mark.page for mark in marks], unprinted) == ([1, 2, 3, 4], 0)
    assert [len(mark.boxes) for mark in marks] == [1, 1, 1, 2]
    for mark in marks:
        before, after = picture(source(), mark.page), picture(copy, mark.page)
        assert not marked(before).any()
        inside = np.zeros(after.shape[:2], dtype=bool)
        for sides in mark.boxes:
            left, top, right, bottom = (round(SCALE * side) for side in sides)
            box = slice(top + 2, bottom - 2), slice(left + 2, right - 2)
            # Letters stay black on the colour.
            assert marked(after)[box].mean() > 0.6
            assert (after[box].sum(axis=2) < 250).any()
            inside[top - 3 : bottom + 4, left - 3 : right + 4] = True
        assert (before[~inside] == after[~inside]).all()


def test_the_annotations_are_read_back(corpus: Corpus) -> None:
    quote = corpus.quote(PDF, RUNS_ON)
    both = [result("Which runs?", [quote]), result("¿Qué más?", [quote]), result("Which runs?", [quote])]
    marks, _ = highlights(corpus, *both)
    copy = highlighted_pdf(source(), marks, info=info_of(corpus))

    assert copy == highlighted_pdf(source(), marks, info=info_of(corpus))
    with pikepdf.open(BytesIO(copy)) as read:
        assert [len(page.obj.get("/Annots", [])) for page in read.pages] == [0, 0, 0, 1]
        (mark,) = read.pages[3].obj.Annots
        assert (str(mark.Subtype), str(mark.T), str(mark.Contents)) == ("/Highlight", "Quoth", "Which runs?\n¿Qué más?")
        assert (len(mark.QuadPoints), int(mark.F)) == (16, 4)
        left, bottom, right, top = map(float, mark.Rect)
        numbers = list(map(float, mark.QuadPoints))
        assert (min(numbers[::2]), max(numbers[::2])) == (left, right)
        assert (min(numbers[1::2]), max(numbers[1::2])) == (bottom, top)
        # The page is turned by 270 degrees: what is read from left to right runs down in user space.
        assert numbers[0] == pytest.approx(numbers[2])
        assert numbers[1] > numbers[3]
        assert mark.AP.N.Subtype == "/Form"
        assert str(mark.NM).startswith("quoth-")


def with_bytes(corpus: Corpus, data: bytes) -> DocumentInfo:
    """The description of the document, as if it had been made of these bytes."""
    return replace(info_of(corpus), source_sha256=hashlib.sha256(data).hexdigest())


def saved(change: str, **options: Any) -> bytes:  # noqa: ANN401
    out = BytesIO()
    with pikepdf.open(BytesIO(source())) as document:
        if change == "signed":
            value = pikepdf.Dictionary(Type=pikepdf.Name.Sig, ByteRange=[0, 1, 2, 3], Contents=b"x")
            field = pikepdf.Dictionary(FT=pikepdf.Name.Sig, V=document.make_indirect(value))
            document.Root.AcroForm = pikepdf.Dictionary(SigFlags=3, Fields=[document.make_indirect(field)])
        if change == "annotated":
            note = pikepdf.Dictionary(Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.Text, Rect=[1, 1, 9, 9])
            document.pages[0].obj.Annots = document.make_indirect(pikepdf.Array([document.make_indirect(note)]))
        document.save(out, **options)
    return out.getvalue()


def refused(corpus: Corpus, data: bytes, *marks: Highlight) -> str:
    with pytest.raises(PdfRefused) as caught:
        highlighted_pdf(data, marks, info=with_bytes(corpus, data))
    assert caught.value.hint
    return str(caught.value)


def test_what_must_not_be_changed_is_refused(corpus: Corpus) -> None:
    owned = saved("", encryption=pikepdf.Encryption(owner="secret", user=""))
    closed = saved("", encryption=pikepdf.Encryption(owner="secret", user="secret"))

    assert "is encrypted" in refused(corpus, owned)
    assert "is encrypted" in refused(corpus, closed)
    assert "is signed" in refused(corpus, saved("signed"))
    assert "is damaged" in refused(corpus, b"no PDF at all")
    assert "another size" in refused(corpus, source(), Highlight(1, 300.0, 300.0, ((1.0, 1.0, 2.0, 2.0),), "x"))
    assert "another size" in refused(corpus, source(), Highlight(9, 600.0, 800.0, ((1.0, 1.0, 2.0, 2.0),), "x"))
    with pytest.raises(PdfRefused, match="another file than the one that was indexed"):
        highlighted_pdf(source() + b"\n", (), info=info_of(corpus))


def test_annotations_that_are_there_stay(corpus: Corpus) -> None:
    data = saved("annotated")
    marks, _ = highlights(corpus, result("Which crop?", [corpus.quote(PDF, ON_PAGES[0])]))

    with pikepdf.open(BytesIO(highlighted_pdf(data, marks, info=with_bytes(corpus, data)))) as read:
        assert [str(note.Subtype) for note in read.pages[0].obj.Annots] == ["/Text", "/Highlight"]


def test_without_pikepdf_the_extra_is_named(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_highlights, "find_spec", lambda _name: None)

    with pytest.raises(MissingExtra, match="'pdf'"):
        highlighted_pdf(source(), (), info=info_of(corpus))


def test_the_command_writes_copies_and_leaves_the_sources(corpus: Corpus, tmp_path: Path) -> None:
    quotes = [corpus.quote(PDF, TURNED), corpus.quote(NOTES, "Rest."), corpus.quote(HTML, "Bring the papers.")]
    run_file = write_run(tmp_path / "run.jsonl", result("Which crop?", quotes))
    at = ("export-pdf", run_file, "--index", corpus.index, "--root", corpus.folder)
    ran = run(*at, "-o", tmp_path / "marked")

    assert (ran.code, ran.text) == (0, f"{tmp_path / 'marked' / PDF}: 1 highlight\n")
    assert "note: page.html is no PDF" in ran.talk
    assert [path for path in (tmp_path / "marked").rglob("*") if path.is_file()] == [tmp_path / "marked" / PDF]
    assert (corpus.folder / PDF).read_bytes() == source()
    for among in (corpus.folder, corpus.folder.parent / "sources" / "papers"):
        there = run(*at, "-o", among)
        assert (there.code, there.data) == (1, b"")
        assert "would lie among the sources. Choose a folder outside of --root" in there.talk
    assert [path.name for path in corpus.folder.rglob("*.pdf")] == ["first.pdf"]


def test_a_changed_or_missing_file_is_named_and_nothing_written(corpus: Corpus, tmp_path: Path) -> None:
    run_file = write_run(tmp_path / "run.jsonl", result("Which crop?", [corpus.quote(PDF, TURNED)]))
    (tmp_path / "papers").mkdir()
    for data, why in ((None, "No such file"), (source() + b"\n", "another file than the one that was indexed")):
        if data is not None:
            (tmp_path / PDF).write_bytes(data)
        ran = run("export-pdf", run_file, "--index", corpus.index, "--root", tmp_path, "-o", tmp_path.parent / "out")
        assert (ran.code, ran.data) == (1, b"")
        assert why in ran.talk
    assert not (tmp_path.parent / "out").exists()
    assert failed(run("export-pdf", tmp_path / "no.jsonl", "--root", tmp_path, "-o", tmp_path / "x"), "cannot read")


def test_a_file_in_the_place_of_a_copy_stays_unless_it_is_forced(corpus: Corpus, tmp_path: Path) -> None:
    run_file = write_run(tmp_path / "run.jsonl", result("Which crop?", [corpus.quote(PDF, TURNED)]))
    at = ("export-pdf", run_file, "--index", corpus.index, "--root", corpus.folder, "-o", tmp_path / "marked")
    target = tmp_path / "marked" / PDF
    target.parent.mkdir(parents=True)
    target.write_bytes(b"my notes")
    ran = run(*at)

    assert (ran.code, ran.data, target.read_bytes()) == (1, b"", b"my notes")
    assert "first.pdf is already there. Choose another folder with -o, or add --force." in ran.talk
    assert run(*at, "--force").code == 0
    copy = target.read_bytes()
    assert copy.startswith(b"%PDF")
    assert run(*at).code == 0  # the same copy again
    assert target.read_bytes() == copy
