"""Quotes as annotations of the W3C model (https://www.w3.org/TR/annotation-model/), and annotations as quotes.

An annotation that comes in is a claim: it names a document and a place, by offsets, by words, or by both. It becomes a
quote only where the document bears it out.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from quoth.citations.cited_quotes import doc_id_of, source_iri
from quoth.citations.verify_receipt import AROUND
from quoth.citations.word_matching import runs_on
from quoth.errors import QuothError
from quoth.language.spans import trim
from quoth.language.spellings import ends_word
from quoth.output.json_types import AnswerJson, CitationJson
from quoth.protocols import Reader
from quoth.types import Document, Span

CONTEXT = "http://www.w3.org/ns/anno.jsonld"
PDF_FRAGMENTS = "http://tools.ietf.org/rfc/rfc3778"
_PAGE = re.compile(r"(?:^|&)page=(\d{1,6})(?:&|$)")
_SUPPORTED = ("TextQuoteSelector", "TextPositionSelector", "FragmentSelector")
_MOST_PLACES = 1_000
_LONGEST_QUOTE = 20_000

Json: TypeAlias = Mapping[str, Any]
FoundBy: TypeAlias = Literal["place", "quote", "offsets_only"]


def annotations_json(
    questions: Sequence[AnswerJson], documents: Mapping[str, Document], *, base_url: str | None
) -> dict[str, Any]:
    """Return a collection with an annotation for each quote of an answer, the question as its body.

    The same run gives the same identifiers.
    """
    items = [
        _annotation(question, quote, documents[quote.doc_id], base_url)
        for question in questions
        for quote in question.answer_sentences
    ]
    collection = _urn("collection", *(item["id"] for item in items))
    page = {"id": _urn("page", collection), "type": "AnnotationPage", "partOf": collection, "startIndex": 0}
    return {
        "@context": CONTEXT,
        "id": collection,
        "type": "AnnotationCollection",
        "label": "Quotes found by Quoth",
        "total": len(items),
        "first": page | {"items": items},
    }


def _urn(*parts: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(("quoth", *parts))).urn


def _annotation(question: AnswerJson, quote: CitationJson, document: Document, base_url: str | None) -> dict[str, Any]:
    source = source_iri(quote.doc_id, base_url)
    place = f"{quote.start}-{quote.end}"
    return {
        "id": _urn(question.question_id, question.question, source, quote.doc_sha256, place),
        "type": "Annotation",
        "motivation": "highlighting",
        "generator": {"type": "Software", "name": "Quoth"},
        "body": {
            "type": "TextualBody",
            "value": question.question,
            "format": "text/plain",
            "purpose": "questioning",
        },
        "target": {"source": source, "selector": _selectors(quote, document)},
    }


def _selectors(quote: CitationJson, document: Document) -> list[dict[str, Any]]:
    """Return selectors of the same words: by quote, by place, and in a PDF by page and quote."""
    words: dict[str, Any] = {"type": "TextQuoteSelector", "exact": quote.text}
    around = {
        "prefix": document.text[max(0, quote.start - AROUND) : quote.start],
        "suffix": document.text[quote.end : quote.end + AROUND],
    }
    words |= {name: text for name, text in around.items() if text}
    found = [words, {"type": "TextPositionSelector", "start": quote.start, "end": quote.end}]
    if document.format == "pdf" and quote.page is not None:
        page = {"type": "FragmentSelector", "conformsTo": PDF_FRAGMENTS, "value": f"page={quote.page}"}
        found.append({**page, "refinedBy": words})
    return found


@dataclass(frozen=True, slots=True)
class ImportedQuote:
    """An annotation that the index bears out. `found_by` tells how: its offsets hold its words (`place`), its words
    stand at one place only (`quote`), or it has offsets and no words to compare (`offsets_only`)."""

    annotation: str
    note: str
    document: Document
    span: Span
    found_by: FoundBy


@dataclass(frozen=True, slots=True)
class RefusedAnnotation:
    """An annotation that is no quote of the index. `code` is for programs, `why` for people."""

    annotation: str
    code: str
    why: str


class _Refusal(Exception):
    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


def read_annotations(
    content: object, reader: Reader, *, base_url: str | None
) -> Iterator[ImportedQuote | RefusedAnnotation]:
    """Yield what each target of each annotation is in the index, in their order.

    `content` is an annotation, a page or a collection of them, or a list. Raise `QuothError` when it is none of these.
    """
    document_at = lru_cache(maxsize=8)(reader.document)
    for number, annotation in enumerate(_annotations(content), 1):
        name = annotation.get("id") or annotation.get("@id")
        shown = name if isinstance(name, str) and name else f"annotation {number}"
        for given in _listed(annotation.get("target")) or [{}]:
            target = given if isinstance(given, dict) else {"id": given}
            try:
                document = _document(target, document_at, base_url)
                span, found_by = _place(_listed(target.get("selector")), document, reader)
                yield ImportedQuote(shown, _note(annotation), document, span, found_by)
            except _Refusal as refusal:
                yield RefusedAnnotation(shown, refusal.code, str(refusal))


def _annotations(content: object) -> Iterator[Json]:
    pending = [content]
    while pending:
        item = pending.pop()
        types = _listed(item.get("type", item.get("@type"))) if isinstance(item, dict) else []
        if isinstance(item, list):
            pending += reversed(item)
        elif isinstance(item, dict) and "AnnotationCollection" in types and "first" in item:
            pending.append(item["first"])
        elif isinstance(item, dict) and "AnnotationPage" in types and "items" in item:
            pending += [*_listed(item.get("next")), item["items"]]
        elif isinstance(item, dict) and "Annotation" in types:
            yield item
        else:
            what = f"{item[:200]!r}, which is not fetched" if isinstance(item, str) else "something else"
            hint = "Give annotations, or an AnnotationPage or AnnotationCollection with all its items in the same file."
            raise QuothError(f"where annotations should be, the file has {what}", hint=hint)


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    return value if isinstance(value, list) else [] if value is None else [value]


def _note(annotation: Json) -> str:
    bodies = (*_listed(annotation.get("body")), {"value": annotation.get("bodyValue")})
    values = [body.get("value") for body in bodies if isinstance(body, dict)]
    return "\n".join(value for value in values if isinstance(value, str))


def _document(target: Json, document_at: Callable[[str], Document | None], base_url: str | None) -> Document:
    source = target.get("source", target.get("id"))
    source = source.get("id") if isinstance(source, dict) else source
    if not isinstance(source, str):
        raise _Refusal("no-source", "its target names no source")
    doc_id = doc_id_of(source, base_url)
    document = None if doc_id is None else document_at(doc_id)
    if document is None:
        raise _Refusal("unknown-document", f"the index holds no document at '{source}'")
    return document


def _place(selectors: Sequence[Any], document: Document, reader: Reader) -> tuple[Span, FoundBy]:
    """Return the one span that all selectors agree on; offsets that disagree with the words give way to them.

    Raise `_Refusal` when there is none, or more than one.
    """
    named = [_kinds(selector) for selector in selectors]
    words = [_quoted(kinds, document, reader) for kinds in named if "TextQuoteSelector" in kinds]
    offsets = [
        _at(kinds["TextPositionSelector"], document) for kinds in named if list(kinds) == ["TextPositionSelector"]
    ]
    if not words and not offsets:
        raise _Refusal("unsupported-selector", "it has no selector of words or offsets that can be followed")
    common = set.intersection(*(words or offsets))
    stated = common.intersection(*offsets) if words and offsets else set()
    if not common:
        raise _Refusal("contradiction", "its selectors lead to different places")
    if len(common) > 1 and not stated:
        raise _Refusal("ambiguous", f"its words stand at {len(common):,} places, and nothing tells which")
    found_by: FoundBy = "place" if stated else "quote" if words else "offsets_only"
    span = (stated or common).pop()
    if not words and _cuts(document.text, span):
        raise _Refusal("cut-word", f"its offsets begin or end inside a word or a number of '{document.id}'")
    return span, found_by


def _kinds(selector: object) -> dict[str, Json]:
    """Return a selector and those that refine it, by type; empty when one of them is not supported.

    Offsets inside of something else would count from its start, so they are not supported there.
    """
    kinds: dict[str, Json] = {}
    while isinstance(selector, dict):
        kind = next((kind for kind in _listed(selector.get("type")) if kind in _SUPPORTED), None)
        if kind is None or kind in kinds:
            return {}
        kinds[kind] = selector
        selector = selector.get("refinedBy")
    return kinds if selector is None and (len(kinds) == 1 or "TextPositionSelector" not in kinds) else {}


def _at(selector: Json, document: Document) -> set[Span]:
    start, end = selector.get("start"), selector.get("end")
    if not (type(start) is int and type(end) is int and 0 <= start < end <= len(document.text)):
        raise _Refusal("outside", f"its offsets {start} to {end} are no slice of '{document.id}'")
    span = trim(document.text, start, end)
    if span is None:
        raise _Refusal("malformed", f"its offsets {start} to {end} hold only white space")
    return {span}


def _quoted(kinds: Mapping[str, Json], document: Document, reader: Reader) -> set[Span]:
    """Return where the words of a selector stand, behind its prefix and before its suffix, on the page that it names.

    Any white space stands for any other: annotations of web pages rarely keep it.
    """
    exact, prefix, suffix = (kinds["TextQuoteSelector"].get(name, "") for name in ("exact", "prefix", "suffix"))
    if not (isinstance(exact, str) and isinstance(prefix, str) and isinstance(suffix, str) and exact.strip()):
        raise _Refusal("malformed", "its TextQuoteSelector has no words in 'exact'")
    if len(exact) + len(prefix) + len(suffix) > _LONGEST_QUOTE:
        raise _Refusal("malformed", f"its words are longer than {_LONGEST_QUOTE:,} characters")
    text, words = document.text, re.compile(_spaced(exact))
    before, behind = re.compile(rf"{_spaced(prefix)}\s*\Z"), re.compile(rf"\s*{_spaced(suffix)}")
    first, last = _page_range(kinds.get("FragmentSelector"), document, reader)
    found: set[Span] = set()
    cut = False
    at = first
    while (hit := words.search(text, at)) is not None and hit.start() < last and len(found) < _MOST_PLACES:
        at = hit.start() + 1
        lead = text[max(0, hit.start() - 2 * len(prefix) - AROUND) : hit.start()]
        if before.search(lead) and behind.match(text, hit.end()):
            span = Span(*hit.span())
            if _cuts(text, span, prefix=prefix, suffix=suffix):
                cut = True
            else:
                found.add(span)
    if cut and not found:
        raise _Refusal("cut-word", f"its words begin or end inside a word or a number of '{document.id}'")
    if not found:
        raise _Refusal("not-found", f"'{document.id}' does not hold these words in these surroundings")
    return found


def _cuts(text: str, span: Span, *, prefix: str = "", suffix: str = "") -> bool:
    """Return whether a place begins or ends inside a word or a number, and no prefix or suffix says what it leaves out.

    What follows a number behind a space, such as a unit, may be left out.
    """
    before, behind = runs_on(text, span.start, span.end)
    begins_inside = not ends_word(text, span.start) or _belongs(text[span.start], before[-1:])
    ends_inside = not ends_word(text, span.end) or _belongs(text[span.end - 1], behind[:1])
    return (begins_inside and not prefix.strip()) or (ends_inside and not suffix.strip())


def _belongs(digit: str, sign: str) -> bool:
    """Return whether a sign beside a digit is part of its number, as in `-5`, `2,5` and `5%`."""
    return digit.isdigit() and bool(sign.strip()) and not sign.isalnum()


def _page_range(fragment: Json | None, document: Document, reader: Reader) -> tuple[int, int]:
    """Return where a quote may begin: on the page that a fragment names, or anywhere.

    A fragment of another kind, such as an element of a web page, is not followed: the words have to tell the place.
    """
    if fragment is None or (number := _PAGE.search(str(fragment.get("value")))) is None:
        return 0, len(document.text)
    page = reader.page(document.id, int(number[1]))
    if page is None or not page.spans:
        raise _Refusal("outside", f"'{document.id}' has no text on page {number[1]}")
    return min(page.spans).start, max(run.end for run in page.spans)


def _spaced(words: str) -> str:
    return r"\s+".join(map(re.escape, words.split()))
