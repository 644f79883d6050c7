"""An inspection of an index: the figures of its documents, what is wrong with them, and what was refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.documents.inspection import inspect
from quoth.domain.profile import load_profile
from quoth.models.hash_embedder import HashEmbedder
from quoth.settings import IngestSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.types import InspectedDocument, Inspection, Problem, ProblemKind, Refused, RegionKind, Severity

from .formats.pdf_files import Sheet, lines, pdf

_REFERENCES = "# References\n\n" + "".join(
    f"{n}. Lee S, Kim J. On soils, part {n}. J. Soil Sci. 20{n:02d};12(3):45-{n + 46}. doi:10.1/{n}\n\n"
    for n in range(1, 15)
)
_TABLES = (
    "# Rates\n\n| Crop | Rate |\n|---|---|\n| Oats | 80 |\n| Rye | 90 |\n\nAnd in spring:\n\n"
    "| Crop | Depth |\n|---|---|\n| Oats | 4 cm |\n"
)
_GLUED = "Thesoilshouldbemoistandfirm beforeseedingbeginsinearlyspring, orthecropwillnotemergeevenly. " * 6
_PAGES = pdf(
    [
        Sheet(lines("Sow canola at 2.5 cm into moist soil.\nRoll the field after seeding in spring.")),
        Sheet(()),
        Sheet(lines("Harvest canola when most of the pods are brown.\nStore the seed below nine percent moisture.")),
    ],
    title="Canola in three pages",
)


class Inspected:
    """A folder with its index."""

    def __init__(self, place: Path) -> None:
        self.root = place / "corpus"
        self.store = EmbeddedStore(place / "index")

    def put(self, name: str, content: str | bytes) -> None:
        self.root.mkdir(exist_ok=True)
        (self.root / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def ingest(self, profile: str = "general") -> Inspection:
        ingest(
            find_files([self.root]),
            store=self.store,
            embedder=HashEmbedder(),
            profile=load_profile(profile),
            settings=IngestSettings(workers=1),
            prune=True,
            progress=None,
        )
        with self.store.read() as reader:
            return inspect(reader, self.store.refused_files())

    def one(self, name: str, content: str | bytes) -> InspectedDocument:
        self.put(name, content)
        (found,) = self.ingest().documents
        return found


@pytest.fixture
def corpus(tmp_path: Path) -> Inspected:
    return Inspected(tmp_path)


def kinds(document: InspectedDocument) -> list[ProblemKind]:
    return [problem.kind for problem in document.problems]


def test_a_document_in_good_order_has_figures_and_no_problems(corpus: Inspected) -> None:
    found = corpus.one("rates.md", "---\ntitle: Rates\n---\n" + _TABLES)

    assert found.problems == ()
    assert found.tables == 2
    assert found.guessed == {}
    assert set(found.left_out) == {RegionKind.FRONT_MATTER, RegionKind.MARKUP}
    assert found.left_out[RegionKind.FRONT_MATTER] == len("---title:Rates---")
    assert found.evidence_share is not None
    assert 0.5 < found.evidence_share < 1


def test_the_share_of_evidence_is_that_of_the_visible_text(corpus: Inspected) -> None:
    found = corpus.one("a.md", "# Soil\n\nSow at 2 cm.\n")

    assert found.evidence_share == pytest.approx(len("Sowat2cm.") / len("SoilSowat2cm."))


def test_an_empty_file_is_called_empty(corpus: Inspected) -> None:
    corpus.put("a.md", "Sow at 2 cm.")
    corpus.put("empty.md", b"")
    corpus.put("empty.pdf", b"")
    corpus.put("blank.txt", b" \n\n ")
    inspection = corpus.ingest()

    found = {document.info.id: document.problems for document in inspection.documents}
    assert found["a.md"] == ()
    step = "Copy it again, or leave it out."
    assert found["empty.md"] == (Problem(ProblemKind.EMPTY, Severity.MISSING, (), "the file is empty", step),)
    assert [problem.detail for problem in found["blank.txt"]] == ["it holds no text"]
    assert inspection.refused == (Refused("empty.pdf", "the file is empty", step, kept=False),)


def test_pages_without_text_are_named(corpus: Inspected) -> None:
    found = corpus.one("canola.pdf", _PAGES)

    assert found.pages_without_text == (2,)
    assert [(problem.kind, problem.pages) for problem in found.problems] == [(ProblemKind.PAGES_WITHOUT_TEXT, (2,))]
    assert found.problems[0].detail == "1 of 3 pages hold no text"
    assert found.guessed == {"title": "taken from the file"}


def test_a_scan_that_nobody_read_is_missing_text(corpus: Inspected) -> None:
    white = np.full((60, 40, 3), 255, dtype=np.uint8)
    found = corpus.one("scan.pdf", pdf([Sheet(lines("Sow oats at 4 cm in April.")), Sheet((), picture=white)]))

    assert found.pages_without_text == (2,)
    assert kinds(found)[0] is ProblemKind.PAGES_WITHOUT_TEXT


def test_a_bibliography_alone_is_no_evidence(corpus: Inspected) -> None:
    found = corpus.one("refs.md", _REFERENCES)

    assert kinds(found) == [ProblemKind.NO_EVIDENCE]
    assert "references" in found.problems[0].detail
    assert found.left_out[RegionKind.REFERENCES] > 500


def test_little_evidence_says_what_the_rest_is(corpus: Inspected) -> None:
    found = corpus.one("refs.md", "Sow oats at 4 cm.\n\n" + _REFERENCES)

    assert kinds(found) == [ProblemKind.LITTLE_EVIDENCE]
    assert "most of the rest is references" in found.problems[0].detail


def test_glued_words_are_named_with_their_page(corpus: Inspected) -> None:
    words = _GLUED.split(". ")
    sheets = [Sheet(lines("Sow canola at 2.5 cm into moist soil.")), Sheet(lines(".\n".join(words)))]
    found = corpus.one("glued.pdf", pdf(sheets))

    assert [(problem.kind, problem.pages) for problem in found.problems] == [(ProblemKind.GLUED_WORDS, (2,))]


def test_a_page_of_titles_alone_is_a_note(corpus: Inspected) -> None:
    sheets = [
        Sheet(lines("Canola\n\nA guide", size=30, step=40)),
        Sheet(lines("Sow canola at 2.5 cm into moist soil.\nRoll the field after seeding in spring.")),
    ]
    found = corpus.one("guide.pdf", pdf(sheets))

    assert all(problem.severity is Severity.NOTE for problem in found.problems)


def test_what_nobody_stated_is_a_guess(corpus: Inspected) -> None:
    corpus.put("latin.txt", "Der Boden muß feucht sein. Größere Flächen sät man früh.".encode("cp1252"))
    corpus.put("page.txt", "<!doctype html><title>Oats</title><p>Sow oats at 4 cm in April, not later.</p>")
    found = {document.info.id: dict(document.guessed) for document in corpus.ingest().documents}

    assert set(found["latin.txt"]) == {"encoding"}
    assert found["page.txt"] == {"title": "taken from the file", "format": "html (its name says text)"}


def test_a_successor_and_a_type_that_nobody_knows_are_named(corpus: Inspected) -> None:
    corpus.put("old.md", "---\nsuperseded_by: gone.md\ndocument_type: leter\n---\nFences may be 2 m high.\n")
    (found,) = corpus.ingest("governance").documents

    assert set(kinds(found)) == {ProblemKind.SUCCESSOR, ProblemKind.UNKNOWN_TYPE}


def test_a_refused_file_is_remembered_until_it_is_read_or_gone(corpus: Inspected) -> None:
    corpus.put("a.md", "Sow at 2 cm.")
    corpus.put("b.txt", b"x\0y")
    corpus.put("c.txt", b"x\0y")
    assert [refused.path for refused in corpus.ingest().refused] == ["b.txt", "c.txt"]

    (corpus.root / "c.txt").unlink()
    with corpus.store.read() as reader:
        assert [refused.path for refused in inspect(reader, corpus.store.refused_files()).refused] == ["b.txt"]

    corpus.put("b.txt", "Roll.")
    assert corpus.ingest().refused == ()


def test_an_inspection_of_the_same_index_is_the_same(corpus: Inspected) -> None:
    corpus.put("a.md", _TABLES)
    corpus.put("b.txt", b"x\0y")

    assert corpus.ingest() == corpus.ingest()
