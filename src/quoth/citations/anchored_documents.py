"""Find the quotes of receipts again in a set of documents, of which some were renamed, moved or converted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Literal, Protocol

from quoth.citations.anchoring import (
    GONE,
    LEAST_SCORE,
    MOST_PLACES,
    Anchor,
    AnchoredPlace,
    AnchorOutcome,
    anchor,
    chosen,
    edited,
    equal_places,
    unmoved,
)
from quoth.citations.saved_receipts import ReceiptQuote
from quoth.citations.word_matching import PreparedText
from quoth.documents.encodings import text_sha256
from quoth.domain.authority import last_of_chain, supersessions
from quoth.errors import UnreadableFile
from quoth.output.json_types import JsonObject, OffsetUnit, PlacedQuoteJson, about
from quoth.protocols import Progress, Reader

LEAST_ELSEWHERE = 24
"""Code points of a quote that its words alone identify in another document; a shorter one needs its context too."""
LEAST_SCORE_ELSEWHERE = 85.0
"""The score that an edited sentence needs in another document, beside its context, while its own is still there."""
NEVER_HELD = "the document has not changed, and the quote does not stand where the receipt says"


class AnchorDocuments(Protocol):
    """The documents as they are now."""

    def ids(self) -> Sequence[str]: ...

    def source_sha256(self, doc_id: str) -> str | None:
        """Return the hash of the bytes of a document; None when it cannot be read."""

    def text(self, doc_id: str) -> str:
        """Return the canonical text. Raise `UnreadableFile` when there is none."""


class IndexDocuments:
    """The documents of one generation of an index."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._sources = {info.id: info.source_sha256 for info in reader.documents()}

    def ids(self) -> Sequence[str]:
        return tuple(self._sources)

    def source_sha256(self, doc_id: str) -> str | None:
        return self._sources[doc_id]

    def text(self, doc_id: str) -> str:
        document = self._reader.document(doc_id)
        if document is None:
            raise UnreadableFile(doc_id, "the index lists it and does not hold it", hint="Ingest it again.")
        return document.text

    def successors(self, quote: ReceiptQuote) -> tuple[str, ...]:
        """Return the documents in force that replace the document of a quote, or the section that it stood in."""
        direct = [
            successor.by
            for info in self._reader.documents([quote.doc_id])
            for successor in supersessions(info.metadata, quote.section)
        ]
        return last_of_chain(direct, self._reader) or tuple(direct)


@dataclass(frozen=True, slots=True)
class AnchoredQuote:
    """A quote of a receipt with what became of it, and the documents that replace its document, if any do."""

    quote: ReceiptQuote
    anchor: Anchor
    superseded_by: tuple[str, ...]


def anchor_quotes(
    quotes: Sequence[ReceiptQuote], documents: AnchorDocuments, *, progress: Progress | None = None
) -> tuple[AnchoredQuote, ...]:
    """Return what became of each quote, in order.

    A quote is looked for in its document: the one with its id, else with its bytes, else with its name and another
    ending. When its words are not there, they are looked for in all documents; then sentences like it, unless an edited
    one was found.
    """
    anchors: dict[int, Anchor] = {}
    homes = _homes(quotes, documents)
    report = progress or (lambda what, done, total: None)
    for done, (doc_id, numbers) in enumerate(homes.items(), 1):
        tick = partial(report, "documents", done, len(homes))
        if doc_id is not None:
            own = [(number, quotes[number]) for number in numbers]
            anchors.update(_in_document(doc_id, own, documents, tick))
        tick()
    lost = [number for number in range(len(quotes)) if not _is_settled(anchors.get(number, GONE))]
    if lost:
        homeless = set(homes.get(None, ()))
        wanted = [(number, quotes[number], number in homeless) for number in lost]
        anchors.update(_anywhere(wanted, anchors, documents, report))
    successors = documents.successors if isinstance(documents, IndexDocuments) else None
    return tuple(
        AnchoredQuote(quote, anchors[number], successors(quote) if successors else ())
        for number, quote in enumerate(quotes)
    )


def _homes(quotes: Sequence[ReceiptQuote], documents: AnchorDocuments) -> dict[str | None, list[int]]:
    """Return the quotes by the document that is theirs now; under None, those whose document is not known."""
    ids = set(documents.ids())
    alike: dict[str, list[str]] = defaultdict(list)
    if any(quote.doc_id not in ids for quote in quotes):
        for doc_id in documents.ids():
            alike[documents.source_sha256(doc_id) or ""].append(doc_id)
            alike[_name(doc_id)].append(doc_id)
    homes: dict[str | None, list[int]] = defaultdict(list)
    for number, quote in enumerate(quotes):
        own = [quote.doc_id] if quote.doc_id in ids else []
        candidates = (own, alike.get(quote.source_sha256, []), alike.get(_name(quote.doc_id), []))
        homes[next((found[0] for found in candidates if len(found) == 1), None)].append(number)
    return homes


def _name(doc_id: str) -> str:
    """Return an id without its ending, which a conversion changes: that of `guide.docx` is that of `guide.pdf`."""
    path = PurePosixPath(doc_id)
    return (path.parent / path.stem).as_posix()  # not `with_suffix`: a receipt may name anything, also ""


def _in_document(
    doc_id: str, quotes: Iterable[tuple[int, ReceiptQuote]], documents: AnchorDocuments, tick: Callable[[], None]
) -> Iterator[tuple[int, Anchor]]:
    try:
        prepared = PreparedText(documents.text(doc_id), doc_id=doc_id, tick=tick)
    except UnreadableFile as error:
        yield from ((number, Anchor(AnchorOutcome.UNREADABLE, (), why=str(error))) for number, _ in quotes)
        return
    sha256 = text_sha256(prepared.text)
    for number, quote in quotes:
        tick()
        found = anchor(quote.place, prepared)
        if doc_id != quote.doc_id and found.outcome is AnchorOutcome.EXACT:  # its words and offsets, another name
            found = replace(found, outcome=AnchorOutcome.MOVED)
        elif sha256 == quote.text_sha256 and found.outcome is not AnchorOutcome.EXACT:
            found = replace(found, why=f"{NEVER_HELD}; {found.why}" if found.why else NEVER_HELD)
        yield number, found


def _is_settled(found: Anchor) -> bool:
    """Return whether what was found in a quote's own document needs no look at the others.

    A sentence that is only similar may be another one, and the quote itself may have gone to another document.
    """
    if found.outcome is AnchorOutcome.CHANGED:
        return (found.score or 0) >= LEAST_SCORE_ELSEWHERE or found.places[0].telling == 2
    return found.outcome is not AnchorOutcome.GONE


def _anywhere(
    quotes: Sequence[tuple[int, ReceiptQuote, bool]],
    own: Mapping[int, Anchor],
    documents: AnchorDocuments,
    report: Progress,
) -> Iterator[tuple[int, Anchor]]:
    """Yield what became of quotes in all documents but their own; the flag says whether that is not there any more.

    A quote that its `own` document holds edited stays there, unless its very words stand in one other place.
    """
    equal: dict[int, list[AnchoredPlace]] = defaultdict(list)
    same_text: dict[int, list[AnchoredPlace]] = defaultdict(list)
    changed: dict[int, Anchor] = {}
    similar = {number for number, found in own.items() if found.outcome is AnchorOutcome.CHANGED}
    ids = documents.ids()
    for done, doc_id in enumerate(ids, 1):
        tick = partial(report, "all documents", done, len(ids))
        try:
            prepared = PreparedText(documents.text(doc_id), doc_id=doc_id, tick=tick)
        except UnreadableFile:
            continue
        sha256 = text_sha256(prepared.text)
        for number, quote, homeless in quotes:
            if doc_id == quote.doc_id:
                continue
            tick()
            if homeless and sha256 == quote.text_sha256 and (place := unmoved(quote.place, prepared)):
                same_text[number].append(place)
            if len(equal[number]) < MOST_PLACES:
                equal[number] += equal_places(quote.place, prepared)
            if equal[number] or number in similar:
                continue
            if (edit := edited(quote.place, prepared)) and _followed(quote, edit, homeless=homeless):
                best = changed.get(number)
                if best is None or (edit.score or 0) > (best.score or 0):
                    changed[number] = edit
    for number, quote, _ in quotes:
        before = own.get(number, GONE)
        found = chosen(same_text[number]) or _told(quote, equal[number]) or changed.get(number, GONE)
        stays = found.outcome is AnchorOutcome.GONE or (number in similar and found.outcome is not AnchorOutcome.MOVED)
        yield number, before if stays else found


def _told(quote: ReceiptQuote, places: Sequence[AnchoredPlace]) -> Anchor | None:
    """Return where a quote stands among places in other documents, which is ambiguous when nothing tells."""
    found = chosen(places)
    if found and found.outcome is AnchorOutcome.MOVED and not _tells(quote, found.places[0]):
        return replace(found, outcome=AnchorOutcome.AMBIGUOUS)
    return found


def _followed(quote: ReceiptQuote, edit: Anchor, *, homeless: bool) -> bool:
    """Return whether an edited sentence of another document is the quote: surely so, if its own is still there."""
    score, place = edit.score or 0, edit.places[0]
    if homeless:
        return score >= LEAST_SCORE or place.telling > 0
    return score >= LEAST_SCORE_ELSEWHERE and place.agreeing > 0 and _tells(quote, place)


def _tells(quote: ReceiptQuote, place: AnchoredPlace) -> bool:
    """Return whether a place in another document is that of the quote, by its context or by so many words."""
    return place.telling > 0 or len(quote.place.text) >= LEAST_ELSEWHERE


class WordEditJson(JsonObject, frozen=True):
    op: Literal["equal", "insert", "delete", "replace"]
    a: Annotated[str, about("The old words; empty where words were inserted.")]
    b: Annotated[str, about("The new words; empty where words were deleted.")]


class PresentPlaceJson(PlacedQuoteJson, frozen=True):
    normalised: Annotated[bool, about("The words are the same, and their line breaks are not.")]
    context_sides: Annotated[int, about("On how many sides what stands around it is the same: 0 to 2.")]


class AnchoredQuoteJson(JsonObject, frozen=True):
    """What became of a quote of a receipt."""

    receipt: Annotated[str, about("The name of its receipt.")]
    quote: Annotated[int, about("Its number in the receipt, from 1.")]
    question: str
    outcome: AnchorOutcome
    was: PlacedQuoteJson
    places: Annotated[list[PresentPlaceJson], about("Where it stands now; several where it is ambiguous.")]
    edits: Annotated[list[WordEditJson], about("Where it changed, how its old words become the new ones.")]
    score: Annotated[float | None, about("Where it changed, how much the words are alike, 0 to 100.")]
    why: str | None
    superseded_by: Annotated[list[str], about("The documents in force that replace its document, or its section.")]
    offset_unit: OffsetUnit


def anchored_json(anchored: AnchoredQuote) -> AnchoredQuoteJson:
    """Return what became of a quote as a JSON object."""
    quote, found = anchored.quote, anchored.anchor
    return AnchoredQuoteJson.of(
        found,
        quote,
        anchored,
        quote=quote.number,
        was=PlacedQuoteJson.of(quote.place.span, quote.place, quote),
        places=[
            PresentPlaceJson.of(place.span, place, doc_id=place.doc_id or quote.doc_id, context_sides=place.agreeing)
            for place in found.places
        ],
        edits=[WordEditJson.of(edit) for edit in found.edits],
        offset_unit="codepoint",
    )
