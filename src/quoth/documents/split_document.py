"""One document: from a file's extract to tagged sentences, passages and pages, ready to be stored."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from quoth.corpus.authority import is_binding
from quoth.corpus.load import SourceFile, root_name, text_sha256
from quoth.corpus.manifest import merged, metadata, with_tags
from quoth.corpus.passages import passages
from quoth.corpus.tags import Tagger, document_tagger
from quoth.errors import SettingsError, UnreadableFile
from quoth.profile import Profile
from quoth.settings import parse_yaml
from quoth.text.sentences import sentences, split
from quoth.types import Document, Extract, Quote, Region, RegionKind, Sentence, Span, SplitDocument

PageOf = Callable[[int], int | None]
"""Gives the page that a place in the text stands on."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was read: the hash of its bytes, what they are, and the text made of them."""

    file: SourceFile
    sha256: str
    encoding: str
    extractor: str
    extract: Extract


def split_document(source: Source, *, fields: Mapping[str, Any], profile: Profile, fingerprint: str) -> SplitDocument:
    """A document with its metadata, tagged sentences and passages. `fields` are what the manifest says of it."""
    file, extract = source.file, source.extract
    parts = _parts(extract, file.format)
    facets = [facet.name for facet in profile.facets]
    try:
        stated = with_tags(_front_matter(extract.text, [region for region, _ in parts]), facets)
        described = metadata(
            merged(merged(extract.properties, fields), stated),
            place=file.doc_id,
            facets=facets,
        )
    except SettingsError as error:
        raise UnreadableFile(file.doc_id, str(error).removeprefix(f"{file.doc_id}: "), hint=error.hint) from error
    document = Document(
        id=file.doc_id,
        text=extract.text,
        sha256=text_sha256(extract.text),
        source_sha256=source.sha256,
        encoding=source.encoding,
        format=file.format,
        extractor=source.extractor,
        metadata=replace(described, is_binding=is_binding(described, profile)),
    )
    tag = document_tagger(profile, doc_id=file.doc_id, declared=described.tags)
    page_of, ocr_of = _page_of(extract), _ocr_of(extract.recognised)
    found = tuple(
        _sentence(document, region, span, tag=tag, page=page_of(span.start), ocr=ocr_of(span))
        for region, spans in parts
        for span in spans
    )
    return SplitDocument(
        document=document,
        sentences=found,
        passages=passages(found),
        pages=extract.pages,
        root=root_name(file.root),
        fingerprint=fingerprint,
    )


def _parts(extract: Extract, form: str) -> tuple[tuple[Region, tuple[Span, ...]], ...]:
    if extract.regions is None:
        return split(extract.text, format=form)
    return tuple((region, sentences(extract.text, region)) for region in extract.regions)


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
    """By the pages that the extractor found; in plain text a form feed begins a page."""
    if extract.pages:
        runs = sorted((span.start, page.number) for page in extract.pages for span in page.spans)
    elif extract.regions is None and "\f" in extract.text:
        feeds = (found.end() for found in re.finditer("\f", extract.text))
        runs = [(0, 1), *((start, number) for number, start in enumerate(feeds, 2))]
    else:
        return lambda _place: None
    starts = [start for start, _ in runs]
    return lambda place: runs[max(0, bisect_right(starts, place) - 1)][1]


def _ocr_of(recognised: Sequence[tuple[Span, float]]) -> Callable[[Span], float | None]:
    """The least confidence of the recognised runs in a span: a sentence is no surer than its worst line."""
    ends = [span.end for span, _ in recognised]

    def ocr_of(place: Span) -> float | None:
        touching = takewhile(lambda run: run[0].start < place.end, recognised[bisect_right(ends, place.start) :])
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
