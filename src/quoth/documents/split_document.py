"""Split an extracted file into tagged sentences, passages and pages, ready to be stored.

Passages are runs of whole sentences for readers that want context. No passage crosses from one section into another.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import groupby, islice, pairwise, takewhile
from pathlib import PurePosixPath
from typing import Any

from quoth.documents.clause_titles import SplitRegion
from quoth.documents.encodings import decode, text_sha256
from quoth.documents.files import SourceFile, root_name
from quoth.documents.formats.recognition import recognised
from quoth.documents.formats.text.markdown import front_matter
from quoth.documents.sentences import regions_of, split_regions
from quoth.domain.authority import is_binding, type_by_title
from quoth.domain.manifest import merged, metadata, stated_labels, with_tags
from quoth.domain.profile import Profile
from quoth.domain.tags import Tagger, document_tagger
from quoth.errors import SettingsError, UnreadableFile
from quoth.language.identification import language_of
from quoth.language.spans import visible
from quoth.language.words import count_tokens
from quoth.overrides import parse_yaml
from quoth.types import (
    Document,
    Extract,
    Metadata,
    Passage,
    Quote,
    Reading,
    Region,
    RegionKind,
    Sentence,
    Span,
    SplitDocument,
)

PageOf = Callable[[int], int | None]
"""Returns the page number at an offset of the text, None for a document without pages."""

LEAST_TOKENS = 100
"""Tokens; a smaller section is joined with its neighbours under the same heading, if it has any."""
LONGEST_TOKENS = 800
"""Tokens of a section that is cut; its parts are of about equal length, with their overlap 500 tokens or more."""
MOST_TOKENS = 1_200
"""Tokens that no passage exceeds, unless a single sentence does."""
MOST_OVERLAP = 100
"""Tokens at the end of a passage that the next one begins with: as many whole sentences as fit."""


@dataclass(frozen=True, slots=True)
class ExtractedFile:
    """A file with its text. `sha256` is the hash of its bytes, `fields` the metadata from outside the file."""

    file: SourceFile
    sha256: str
    encoding: str
    extractor: str
    extract: Extract
    fields: Mapping[str, Any]
    fingerprint: str


_STATING_FORMAT = "json"
"""Its language is a field that somebody named; elsewhere a program or a template may have set it."""


def split_document(extracted: ExtractedFile, profile: Profile) -> SplitDocument:
    """Return the document with its metadata, tagged sentences and passages.

    Raise `UnreadableFile` when its front matter is wrong.
    """
    file, extract = extracted.file, extracted.extract
    unsplit = regions_of(extract.text, format=file.format) if extract.regions is None else extract.regions
    facets = [facet.name for facet in profile.facets]
    try:
        stated = with_tags(_front_matter(extract.text, unsplit), facets)
        described = metadata(
            merged(merged(extract.properties, extracted.fields), stated), source=file.doc_id, facets=facets
        )
        labels = stated_labels({**extracted.fields, **stated}, source=file.doc_id)
    except SettingsError as error:
        raise UnreadableFile(file.doc_id, str(error).removeprefix(f"{file.doc_id}: "), hint=error.hint) from error
    outside = {*extracted.fields, *stated}
    settled = described.language and ("language" in outside or file.format == _STATING_FORMAT)
    recognised = None if settled else _language(extract.text, unsplit)
    if recognised and recognised != described.language_code:
        described = replace(described, language=recognised)
    regions = split_regions(extract.text, unsplit, language=described.language_code)
    described = _with_guessed_type(described, extract.text, regions, profile)
    document = Document(
        id=file.doc_id,
        text=extract.text,
        sha256=text_sha256(extract.text),
        source_sha256=extracted.sha256,
        encoding=extracted.encoding,
        format=file.format,
        extractor=extracted.extractor,
        metadata=replace(described, is_binding=is_binding(described, profile)),
    )
    tag = document_tagger(profile, doc_id=file.doc_id, declared=described.tags, language=described.language_code)
    page_of, ocr_of = _page_of(extract), _ocr_of(extract.recognised)
    sentences = tuple(
        _sentence(document, region, span, tag=tag, page=page_of(span.start), ocr=ocr_of(span))
        for region, spans in regions
        for span in spans
    )
    return SplitDocument(
        document=document,
        sentences=sentences,
        passages=passages(sentences),
        pages=extract.pages,
        root=root_name(file.root),
        fingerprint=extracted.fingerprint,
        reading=_reading(
            extract,
            [region for region, _ in regions],
            stated=outside,
            recognised=("language",) if recognised else (),
        ),
        access=labels,
    )


def labels_in(extracted: ExtractedFile) -> tuple[str, ...]:
    """Return the labels that the files of a document state, without splitting it; see `split_document`."""
    file, extract = extracted.file, extracted.extract
    unsplit = regions_of(extract.text, format=file.format) if extract.regions is None else extract.regions
    try:
        return stated_labels({**extracted.fields, **_front_matter(extract.text, unsplit)}, source=file.doc_id)
    except SettingsError as error:
        raise UnreadableFile(file.doc_id, str(error).removeprefix(f"{file.doc_id}: "), hint=error.hint) from error


def labels_to_state(data: bytes, *, doc_id: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels that a file will state when it is ingested with these fields.

    Of a file that will be refused only the fields count.
    """
    labels = stated_labels(fields, source=doc_id)
    if recognised(BytesIO(data), PurePosixPath(doc_id).suffix.lower()) != "markdown":
        return labels  # no other format has front matter
    try:
        text = decode(data, label=doc_id)[0]
        head = front_matter(text)
        block = [Region(head, RegionKind.FRONT_MATTER, section=(), lead=None)] if head else []
        return stated_labels({**fields, **_front_matter(text, block)}, source=doc_id)
    except (SettingsError, UnreadableFile):
        return labels


def _reading(
    extract: Extract, regions: Iterable[Region], *, stated: Collection[str], recognised: tuple[str, ...]
) -> Reading:
    """Return how the file was read. `stated` are the fields that the manifest or the front matter give."""
    skipped: Counter[RegionKind] = Counter()
    for region in regions:
        if region.kind.skipped:
            skipped[region.kind] += visible(extract.text[region.span.start : region.span.end])
    found = tuple(sorted(name for name in extract.properties if name not in stated and name not in recognised))
    return Reading(dict(sorted(skipped.items())), found, extract.notes, recognised)


def _language(text: str, regions: Iterable[Region]) -> str | None:
    """Return the language of the prose, None when unsure. A template that made a file seldom knows it."""
    prose = (region.span for region in regions if region.kind.evidence and region.kind is not RegionKind.CODE)
    return language_of("\n".join(text[span.start : span.end] for span in prose))


_TITLE_LINES = 5
"""Sentences at the beginning of a document among which its title is looked for."""
_LONGEST_TITLE = 200
"""Code points."""


def _with_guessed_type(described: Metadata, text: str, regions: Iterable[SplitRegion], profile: Profile) -> Metadata:
    """Return the metadata with the document type that the title names, if nothing says what the document is worth."""
    if described.document_type is not None or described.is_binding is not None:
        return described
    beginning = islice(((region.kind, span) for region, spans in regions for span in spans), _TITLE_LINES)
    # A heading may come below the name of the author. Of other lines only the first is a title: a letter goes on with
    # what it is about.
    lines = [
        text[span.start : span.end]
        for number, (kind, span) in enumerate(beginning)
        if (number == 0 or kind is RegionKind.HEADING) and len(span) <= _LONGEST_TITLE
    ]
    guess = type_by_title([*filter(None, [described.title]), *lines], profile)
    return described if guess is None else replace(described, document_type=guess, type_guessed=True)


def _sentence(
    document: Document, region: Region, span: Span, *, tag: Tagger, page: int | None, ocr: float | None
) -> Sentence:
    text = document.quote(span)
    return Sentence(
        doc_id=document.id,
        quote=Quote(span, text),
        kind=region.kind,
        section=region.section,
        lead=Quote(region.lead, document.quote(region.lead)) if region.lead else None,
        page=page,
        ocr=ocr,
        tags=tag(text, region.section),
    )


def _page_of(extract: Extract) -> PageOf:
    """Use the pages that the extractor found; in plain text a form feed begins a page."""
    if extract.pages:
        runs = sorted((span.start, page.number) for page in extract.pages for span in page.spans)
    elif extract.regions is None and "\f" in extract.text:
        feeds = (found.end() for found in re.finditer("\f", extract.text))
        runs = [(0, 1), *((start, number) for number, start in enumerate(feeds, 2))]
    else:
        return lambda _offset: None
    starts = [start for start, _ in runs]
    return lambda offset: runs[max(0, bisect_right(starts, offset) - 1)][1]


def _ocr_of(recognised: Sequence[tuple[Span, float]]) -> Callable[[Span], float | None]:
    """Return a function for the lowest OCR confidence inside a span, None where nothing was recognised."""
    ends = [span.end for span, _ in recognised]

    def ocr_of(sentence: Span) -> float | None:
        touching = takewhile(lambda run: run[0].start < sentence.end, recognised[bisect_right(ends, sentence.start) :])
        return min((confidence for _, confidence in touching), default=None)

    return ocr_of


def _front_matter(text: str, regions: Iterable[Region]) -> Mapping[str, Any]:
    block = next((region.span for region in regions if region.kind is RegionKind.FRONT_MATTER), None)
    if block is None:
        return {}
    lines = text[block.start : block.end].strip().splitlines()
    content = parse_yaml("\n".join(lines[1:-1]), what="its front matter", hint="Correct the lines between ---.")
    if content is not None and not isinstance(content, dict):
        raise SettingsError("its front matter is not a mapping", hint="Write `key: value` lines between the --- lines.")
    return content or {}


@dataclass(frozen=True, slots=True)
class _SectionRun:
    """Sentences `first` to `last` (ordinals), all under `section`."""

    first: int
    last: int
    section: tuple[str, ...]
    tokens: int


def passages(sentences: Sequence[Sentence]) -> tuple[Passage, ...]:
    """Return the passages of a document from all its sentences, headings included, in reading order."""
    tokens = [count_tokens(sentence.text) for sentence in sentences]
    return tuple(
        Passage(
            doc_id=sentences[first].doc_id,
            span=Span(sentences[first].quote.span.start, sentences[last].quote.span.end),
            first=first,
            last=last,
            section=run.section,
            page=sentences[first].page,
            tokens=sum(tokens[first : last + 1]),
        )
        for run in _joined(_sections(sentences, tokens))
        for first, last in _cut(run, tokens)
    )


def _sections(sentences: Sequence[Sentence], tokens: Sequence[int]) -> list[_SectionRun]:
    runs = []
    for (section, aside), group in groupby(range(len(sentences)), key=lambda ordinal: _part(sentences[ordinal])):
        ordinals = list(group)
        if aside:  # no agent wants to read a bibliography
            continue
        runs.append(_SectionRun(ordinals[0], ordinals[-1], section, sum(tokens[ordinal] for ordinal in ordinals)))
    return runs


def _part(sentence: Sentence) -> tuple[tuple[str, ...], bool]:
    return sentence.section, sentence.kind.aside


def _joined(runs: Sequence[_SectionRun]) -> list[_SectionRun]:
    """Join a run that is too small with the next one, or the one before, under the same heading."""
    done: list[_SectionRun] = []
    for run in runs:
        small = done and min(done[-1].tokens, run.tokens) < LEAST_TOKENS
        if small and (both := _join(done[-1], run)):
            done[-1] = both
        else:
            done.append(run)
    return done


def _join(first: _SectionRun, second: _SectionRun) -> _SectionRun | None:
    """Return two runs as one under the heading they share, None when they share none or would be too long."""
    if second.first != first.last + 1:  # a part that is no evidence stands between them
        return None
    levels = zip(first.section, second.section, strict=False)
    shared = tuple(mine for mine, _ in takewhile(lambda level: level[0] == level[1], levels))
    near = len(shared) >= min(len(first.section), len(second.section)) - 1
    if not shared or not near or first.tokens + second.tokens > LONGEST_TOKENS:
        return None
    return _SectionRun(first.first, second.last, shared, first.tokens + second.tokens)


def _cut(run: _SectionRun, tokens: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last sentence of each passage of a run, by ordinal."""
    ends = _ends(run, tokens)
    firsts = [run.first, *(end + 1 for end in ends[:-1])]
    starts = [run.first, *(_overlapped(before, behind, tokens) for before, behind in pairwise(firsts))]
    return list(zip(starts, ends, strict=True))


def _ends(run: _SectionRun, tokens: Sequence[int]) -> list[int]:
    """Return the last sentence of each passage; passages of a run are about equally long, as far as sentences allow."""
    parts = 1 if run.tokens <= LONGEST_TOKENS else -(-run.tokens // (LONGEST_TOKENS - MOST_OVERLAP))
    ends: list[int] = []
    before_passage, counted = 0, 0
    for ordinal in range(run.first, run.last):
        counted += tokens[ordinal]
        goal = run.tokens * (len(ends) + 1) / parts
        nearest = abs(counted - goal) <= abs(counted + tokens[ordinal + 1] - goal)
        full = counted + tokens[ordinal + 1] - before_passage > MOST_TOKENS - MOST_OVERLAP
        if full or (nearest and len(ends) < parts - 1 and counted - before_passage >= LEAST_TOKENS):
            ends.append(ordinal)
            before_passage = counted
    return [*ends, run.last]


def _overlapped(before: int, first: int, tokens: Sequence[int]) -> int:
    """Return the first sentence of a passage with its overlap: at most `MOST_OVERLAP` tokens before `first`."""
    room = MOST_OVERLAP
    while first - 1 > before and tokens[first - 1] <= room:
        first -= 1
        room -= tokens[first]
    return first
