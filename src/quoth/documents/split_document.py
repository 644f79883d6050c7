"""Split an extracted file into tagged sentences, passages and pages, ready to be stored."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from quoth.documents.encodings import text_sha256
from quoth.documents.files import SourceFile, root_name
from quoth.documents.passage_spans import passages
from quoth.documents.sentences import sentence_spans, split
from quoth.domain.authority import is_binding
from quoth.domain.manifest import merged, metadata, with_tags
from quoth.domain.profile import Profile
from quoth.domain.tags import Tagger, document_tagger
from quoth.errors import SettingsError, UnreadableFile
from quoth.overrides import parse_yaml
from quoth.types import Document, Extract, Quote, Region, RegionKind, Sentence, Span, SplitDocument

PageOf = Callable[[int], int | None]
"""Returns the page number at an offset of the text, None for a document without pages."""


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


def split_document(extracted: ExtractedFile, profile: Profile) -> SplitDocument:
    """Return the document with its metadata, tagged sentences and passages.

    Raise `UnreadableFile` when its front matter is wrong.
    """
    file, extract = extracted.file, extracted.extract
    regions = _split_regions(extract, file.format)
    facets = [facet.name for facet in profile.facets]
    try:
        stated = with_tags(_front_matter(extract.text, [region for region, _ in regions]), facets)
        described = metadata(
            merged(merged(extract.properties, extracted.fields), stated), source=file.doc_id, facets=facets
        )
    except SettingsError as error:
        raise UnreadableFile(file.doc_id, str(error).removeprefix(f"{file.doc_id}: "), hint=error.hint) from error
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
    tag = document_tagger(profile, doc_id=file.doc_id, declared=described.tags)
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
    )


def _split_regions(extract: Extract, form: str) -> tuple[tuple[Region, tuple[Span, ...]], ...]:
    if extract.regions is None:
        return split(extract.text, format=form)
    return tuple((region, sentence_spans(extract.text, region)) for region in extract.regions)


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
