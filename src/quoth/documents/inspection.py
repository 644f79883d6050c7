"""Inspect an index: figures of each document, and what looks wrong with it, from what the index holds alone."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from quoth.documents.formats.recognition import FORMATS
from quoth.documents.formats.text.contents_pages import is_contents_entry, is_contents_title
from quoth.documents.ingest_report import CheckedSupersession, checked_supersessions, supersession_notes
from quoth.documents.text_faults import text_faults
from quoth.domain.profile import Profile, parse_profile
from quoth.language.spans import visible
from quoth.protocols import Progress, Reader
from quoth.types import (
    Document,
    DocumentInfo,
    InspectedDocument,
    Inspection,
    Problem,
    ProblemKind,
    Refused,
    RegionKind,
    Sentence,
    Severity,
)

_MARKUP = frozenset({RegionKind.MARKUP, RegionKind.HTML, RegionKind.FRONT_MATTER})
_TABLE = frozenset({RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW})
_NO_PROSE = _TABLE | {RegionKind.CODE}
_EMPTY_FILE = hashlib.sha256(b"").hexdigest()
_LEAST_SHARE, _FEW_CHARACTERS = 0.3, 400
"""A document of more characters should have at least this share of evidence."""
_SURE = 0.75
"""The confidence of the recogniser below which a sentence is likely to hold a wrong letter."""
_MOST_UNSURE = 0.3

_OCR = "Scans need the reader of scanned pages: pip install 'quoth[ocr]', then ingest again. Blank pages are fine."
_OTHER_COPY = (
    "Compare a quote with the page. If the file's own text is wrong, use another copy, or a scan (extra 'ocr')."
)
_SAVE_AGAIN = "Open the file. If its text is wrong there too, use another copy; else save it again as UTF-8."
_LOOKS = {
    ProblemKind.ODD_CHARACTERS: "many characters that are no letters: the font or the encoding hides the text",
    ProblemKind.GLUED_WORDS: "words run together: searches do not find them",
    ProblemKind.SPACED_LETTERS: "letters stand apart: searches do not find the words",
}


def inspect(
    reader: Reader, refused: Iterable[tuple[str, Refused]] = (), *, progress: Progress | None = None
) -> Inspection:
    """Return what a generation holds. `refused` are the files that the store remembers, each with its root.

    A refused file that is gone from its folder is left out: nothing is to be done about it.
    """
    documents = reader.documents()
    ids = {info.id for info in documents}
    profile = parse_profile(reader.info.profile_source)
    successors = checked_supersessions(reader)
    inspected = []
    for number, info in enumerate(documents, 1):
        document = reader.document(info.id)
        if document is not None:
            about = _stated_problems(info, profile, successors.get(info.id, ()), ids)
            inspected.append(_inspected(reader, info, document, about))
        if progress:
            progress("inspecting", number, len(documents))
    still = tuple(one for root, one in refused if _is_there(root, one.path))
    return Inspection(reader.info, tuple(inspected), still, reader.missing)


def _is_there(root: str, path: str) -> bool:
    """Return whether a file may still be in its folder; also true where its folder is not on this machine."""
    if not Path(root).is_dir():
        return True
    place = Path(root, path)
    try:
        return place.exists() or any(parent.is_file() for parent in place.parents)
    except OSError:  # a name that is too long, or a folder that cannot be entered
        return True


def _inspected(reader: Reader, info: DocumentInfo, document: Document, stated: Sequence[Problem]) -> InspectedDocument:
    sentences = tuple(reader.sentences(info.id))
    counts: Counter[RegionKind] = Counter()
    for sentence in sentences:
        counts[sentence.kind] += visible(sentence.text)
    skipped = Counter(info.reading.skipped if info.reading else {})
    text = visible(document.text) - sum(skipped[kind] for kind in _MARKUP)
    evidence = sum(count for kind, count in counts.items() if kind.evidence)
    share = min(1.0, evidence / text) if text > 0 else None
    left_out = skipped + Counter({kind: count for kind, count in counts.items() if kind.aside})
    without_text, without_sentences = _bare_pages(reader, info, document, sentences)
    notes = info.reading.notes if info.reading else ()
    problems = [
        *_evidence_problems(info, share, evidence=evidence, text=text, left_out=left_out),
        *_page_problems(info, without_text, without_sentences),
        *_text_problems(document, sentences),
        *(Problem(ProblemKind.READER_NOTE, Severity.NOTE, (), note, "") for note in notes),
        *stated,
    ]
    return InspectedDocument(
        info=info,
        evidence_share=share,
        tables=_tables(sentences),
        pages_without_text=without_text,
        recognised_pages=tuple(sorted({one.page for one in sentences if one.ocr is not None and one.page})),
        left_out=dict(sorted(left_out.items())),
        guessed=_guessed(info),
        problems=tuple(sorted(problems, key=lambda problem: problem.severity.rank)),
    )


def _tables(sentences: Sequence[Sentence]) -> int:
    """Count the tables. A header begins one, unless it repeats that of the table before, as on the next page."""
    count, header, before = 0, "", None
    for sentence in sentences:
        kind = sentence.kind
        begins = kind in _TABLE and before not in _TABLE
        if kind is RegionKind.TABLE_HEADER and before is not RegionKind.TABLE_HEADER:
            repeated, header = sentence.text == header, sentence.text
            begins = not repeated
        elif kind is RegionKind.TABLE_ROW and begins and sentence.lead is not None:
            begins = False  # its header stood before a note or a caption
        elif kind is RegionKind.HEADING:
            header = ""
        count += begins
        before = kind
    return count


def _guessed(info: DocumentInfo) -> dict[str, str]:
    """Return what nobody stated: by the file itself, by its bytes, or by its content in spite of its name."""
    found = {}
    for name in info.reading.from_file if info.reading else ():
        if getattr(info.metadata, name, None) is not None:
            found[name] = "taken from the file"
    if info.encoding not in {"", "utf-8"}:
        found["encoding"] = info.encoding
    promised = FORMATS.get(Path(info.id).suffix.lower())
    if promised is not None and promised != info.format:
        found["format"] = f"{info.format} (its name says {promised})"
    return found


def _evidence_problems(
    info: DocumentInfo, share: float | None, *, evidence: int, text: int, left_out: Mapping[RegionKind, int]
) -> list[Problem]:
    if info.source_sha256 == _EMPTY_FILE:
        return [
            Problem(ProblemKind.EMPTY, Severity.MISSING, (), "the file is empty", "Copy it again, or leave it out.")
        ]
    if share is None:
        return [
            Problem(ProblemKind.EMPTY, Severity.MISSING, (), "it holds no text", "Look at the file, or leave it out.")
        ]
    mostly = max(left_out, key=lambda kind: left_out[kind], default=None)
    reason = f"; most of the rest is {_words(mostly)}" if mostly and left_out[mostly] * 2 > text - evidence else ""
    step = f"Look at how it was split: quoth show '{info.id}' --sentences"
    if evidence == 0:
        detail = f"none of its {text:,} characters can be quoted{reason}"
        return [Problem(ProblemKind.NO_EVIDENCE, Severity.MISSING, (), detail, step)]
    if share < _LEAST_SHARE and text > _FEW_CHARACTERS:
        detail = f"only {share:.0%} of its text can be quoted{reason}"
        return [Problem(ProblemKind.LITTLE_EVIDENCE, Severity.DOUBTFUL, (), detail, step)]
    return []


def _words(kind: RegionKind) -> str:
    return kind.value.replace("_", " ")


def _bare_pages(
    reader: Reader, info: DocumentInfo, document: Document, sentences: Sequence[Sentence]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the pages without text, and those whose text holds no sentence; pages of contents have none to show."""
    said = [one for one in sentences if one.kind.evidence or one.kind.aside]
    empty, speechless = [], []
    for number in sorted(set(range(1, info.pages + 1)) - {one.page for one in said}):
        page = reader.page(info.id, number)
        if page is None or not page.spans:
            empty.append(number)
            continue
        continued = any(run.overlaps(one.quote.span) for run in page.spans for one in said)
        if not continued and not _is_contents("\n".join(document.quote(run) for run in page.spans)):
            speechless.append(number)
    return tuple(empty), tuple(speechless)


def _is_contents(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return any(map(is_contents_title, lines)) or sum(map(is_contents_entry, lines)) * 3 > len(lines)


def _page_problems(info: DocumentInfo, empty: Sequence[int], speechless: Sequence[int]) -> list[Problem]:
    found = []
    if empty:
        detail = f"{len(empty)} of {info.pages} pages hold no text"
        found.append(Problem(ProblemKind.PAGES_WITHOUT_TEXT, Severity.MISSING, tuple(empty), detail, _OCR))
    if speechless:
        detail = f"{len(speechless)} of {info.pages} pages hold text, but no sentence: titles, figures, or a lost text"
        step = "Look at these pages; covers and dividers are fine."
        found.append(Problem(ProblemKind.PAGES_WITHOUT_SENTENCES, Severity.NOTE, tuple(speechless), detail, step))
    return found


def _text_problems(document: Document, sentences: Sequence[Sentence]) -> list[Problem]:
    """Return what is wrong with the letters of each page, or of the whole document where there are no pages."""
    by_page: dict[int | None, list[Sentence]] = defaultdict(list)
    for sentence in sentences:
        by_page[sentence.page].append(sentence)
    pages: dict[ProblemKind, list[int | None]] = defaultdict(list)
    for page, on_page in by_page.items():
        prose = "\n".join(one.text for one in on_page if one.kind not in _NO_PROSE)
        text = "\n".join(one.text for one in on_page)
        for kind in text_faults(text, prose):
            pages[kind].append(page)
        unsure = sum(one.ocr is not None and one.ocr < _SURE for one in on_page)
        if unsure > _MOST_UNSURE * len(on_page):
            pages[ProblemKind.UNSURE_RECOGNITION].append(page)
    return [_text_problem(kind, pages[kind]) for kind in ProblemKind if kind in pages]


def _text_problem(kind: ProblemKind, pages: Sequence[int | None]) -> Problem:
    numbers = tuple(sorted(page for page in pages if page is not None))
    if kind is ProblemKind.UNSURE_RECOGNITION:
        detail = f"read from a picture, and often less than {_SURE:.0%} sure"
        step = "Compare quotes with the page, or scan it again at 300 dots per inch."
        return Problem(kind, Severity.DOUBTFUL, numbers, detail, step)
    return Problem(kind, Severity.DOUBTFUL, numbers, _LOOKS[kind], _OTHER_COPY if numbers else _SAVE_AGAIN)


def _stated_problems(
    info: DocumentInfo, profile: Profile, successors: Sequence[CheckedSupersession], ids: set[str]
) -> list[Problem]:
    """Return what is wrong with the metadata: successors that are not there, a type that the profile does not know."""
    found = [
        Problem(ProblemKind.SUCCESSOR, Severity.DOUBTFUL, (), note, "Ingest it, or correct superseded_by.")
        for note in supersession_notes(successors, ids)
    ]
    known = list(profile.document_types)
    stated = info.metadata.document_type
    if known and stated is not None and stated not in known:
        near = get_close_matches(stated, known, n=1)
        step = f"Did you mean '{near[0]}'?" if near else f"The profile knows {', '.join(known)}."
        detail = f"the profile knows no document type '{stated}'"
        found.append(Problem(ProblemKind.UNKNOWN_TYPE, Severity.NOTE, (), detail, step))
    return found
