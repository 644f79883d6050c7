"""Measure `quoth anchor` on real edit histories: the documentation of packages at several versions.

    python tools/anchor_histories.py VERSION_A VERSION_B [VERSION_C ...] [--sample 300] [--show changed.jsonl]
    python tools/anchor_histories.py --of django-3.2/docs django-4.2/docs --of pip-19.3.1/docs pip-25.0/docs

Each version is a folder with text or Markdown files, older versions first. Fetch and unpack them with, for example

    pip download --no-deps --no-binary :all: django==3.2        (an sdist of PyPI)
    npm pack eslint@8.0.0                                       (a package of npm)

Sentences are drawn from every version but the last and anchored in the next one. What is reported as exact or moved is
judged by other code than that which anchors: the new slice must be the quote, character for character, or after the
normalisation that docs/anchoring.md describes; a place chosen among several must be the only one whose neighbours agree
best. A sentence survives when its words occur in a file of the new version.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from quoth.citations.anchored_documents import AnchoredQuote, anchor_quotes
from quoth.citations.anchoring import AnchoredPlace, AnchorOutcome, QuotedPlace, anchor
from quoth.citations.saved_receipts import ReceiptQuote
from quoth.citations.word_matching import PreparedText
from quoth.documents.clause_titles import SplitRegion
from quoth.documents.sentences import split, split_regions
from quoth.documents.worker.pool import Extraction
from quoth.settings import IngestSettings
from quoth.types import Span

ENDINGS = {".md": "markdown", ".markdown": "markdown", ".rst": "rst", ".txt": "text"}
LEAST_LENGTH = 12
SIZE = 1_000_000


@dataclass(frozen=True, slots=True)
class Version:
    """The documentation of one version, as texts by their path below its folder."""

    name: str
    texts: Mapping[str, str]

    def ids(self) -> Sequence[str]:
        return sorted(self.texts)

    def source_sha256(self, doc_id: str) -> str:
        return sha256(self.texts[doc_id].encode()).hexdigest()

    def text(self, doc_id: str) -> str:
        return self.texts[doc_id]


def main() -> int:
    options = _options()
    histories = [*(options.of or []), *([options.versions] if options.versions else [])]
    anchored: list[tuple[Version, AnchoredQuote]] = []
    chooser = random.Random(options.seed)
    with Extraction(IngestSettings(workers=1)) as extraction:
        for history in histories:
            for before, after in pairwise(history):
                old, new = (Version(folder.as_posix(), _texts(folder)) for folder in (before, after))
                found = anchor_quotes(_sampled(old, chooser, options.sample, extraction), new)
                anchored += [(new, one) for one in found]
                counts = Counter(one.anchor.outcome.value for one in found)
                told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
                print(f"{before} -> {after}: {len(found)} quotes, {told}")
    _summary(anchored)
    _speed(histories, chooser)
    if options.show:
        lines = (json.dumps(_shown(version, one), ensure_ascii=False) for version, one in anchored)
        options.show.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", type=Path, metavar="VERSION")
    parser.add_argument("--of", action="append", nargs="+", type=Path, metavar="VERSION", help="one more history")
    parser.add_argument("--sample", type=int, default=300, help="sentences of each version")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=Path, help="write every outcome to this file, one JSON object a line")
    return parser.parse_args()


def _texts(folder: Path) -> dict[str, str]:
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in ENDINGS and path.is_file():
            try:
                texts[path.relative_to(folder).as_posix()] = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
    if not texts:
        sys.exit(f"{folder} holds no text that could be read")
    return texts


def _split(text: str, form: str, extraction: Extraction) -> Sequence[SplitRegion]:
    """Return the regions of a file and their sentences, as an ingest makes them. The text of such a file is its own."""
    if form != "rst":
        return split(text, format=form)
    extract = extraction.extract(text.encode(), form=form, label="a file")
    return split_regions(text, extract.regions or ()) if extract.text == text else ()


def _sampled(version: Version, chooser: random.Random, most: int, extraction: Extraction) -> list[ReceiptQuote]:
    """Return sentences of a version, drawn evenly from all of its sentences, as receipts would hold them."""
    doc_ids = chooser.sample(version.ids(), min(len(version.texts), most))
    places: list[tuple[str, Span]] = []
    for doc_id in doc_ids:
        text = version.texts[doc_id]
        form = ENDINGS[Path(doc_id).suffix.lower()]
        spans = [
            span
            for region, spans in _split(text, form, extraction)
            if region.kind.evidence
            for span in spans
            if len(span) >= LEAST_LENGTH
        ]
        places += [(doc_id, span) for span in chooser.sample(spans, min(len(spans), 20))]
    return [_quote(version, doc_id, span) for doc_id, span in chooser.sample(places, min(len(places), most))]


def _quote(version: Version, doc_id: str, span: Span) -> ReceiptQuote:
    text = version.texts[doc_id]
    place = QuotedPlace(
        span, text[span.start : span.end], text[max(0, span.start - 32) : span.start], text[span.end : span.end + 32]
    )
    return ReceiptQuote(
        receipt=version.name,
        number=1,
        question="",
        doc_id=doc_id,
        source_sha256=version.source_sha256(doc_id),
        text_sha256=sha256(text.encode()).hexdigest(),
        section=(),
        place=place,
    )


# The judge. It shares no code with the anchoring: its normal form is made with `split` and plain loops.


def normal_forms(text: str) -> set[str]:
    """Return the forms that a text may be compared in: every hyphen at a line break dropped, or every one kept."""
    without_soft = "".join(
        character
        for at, character in enumerate(text)
        if not (character == "\xad" and text[at - 1 : at].isalpha() and text[at + 1 : at + 2].strip()[:1].isalpha())
    )
    forms = set()
    for replacement in ("", "-"):
        words: list[str] = []
        lines = without_soft.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").split("\n")
        for line in lines:
            parts = line.split()
            breaks = words and words[-1][-1:] in "-\u2010" and words[-1][-2:-1].isalpha()
            if breaks and parts and parts[0][:1].isalpha():
                words[-1] = words[-1][:-1] + replacement + parts[0]
                parts = parts[1:]
            words += parts
        forms.add(" ".join(words))
    return forms


def is_right(version: Version, quoted: AnchoredQuote, place: AnchoredPlace) -> bool:
    text = version.texts[place.doc_id or ""]
    quote = quoted.quote.place
    found = text[place.span.start : place.span.end]
    if found != place.text or place.normalised != (found != quote.text):
        return False
    if found == quote.text:
        return _unextended(text, place.span, quote) and _is_nearest(text, place.span, quote)
    return bool(normal_forms(found) & normal_forms(quote.text))


def _is_nearest(text: str, span: Span, quote: QuotedPlace) -> bool:
    """Return whether no other place of the same characters has the old context as well; the old place is its own.

    A whole side counts more than parts of both, as docs/anchoring.md says.
    """
    if span == quote.span:
        return True
    others = [found.start() for found in re.finditer(f"(?={re.escape(quote.text)})", text)]
    shared = {start: _shared(text, start, quote) for start in others if _unextended(text, _span(start, quote), quote)}
    return all(there < shared[span.start] for start, there in shared.items() if start != span.start)


def _span(start: int, quote: QuotedPlace) -> Span:
    return Span(start, start + len(quote.text))


def _shared(text: str, start: int, quote: QuotedPlace) -> tuple[int, int]:
    """Return how many sides of a place have all that stood beside the quote, and how many visible characters do."""
    before, after = text[:start][-200:], text[start + len(quote.text) :][:200]
    sides = (("".join(quote.before.split())[::-1], before[::-1]), ("".join(quote.after.split()), after))
    equal = [(_equal(old, "".join(new.split())), len(old)) for old, new in sides]
    return sum(0 < length == there for there, length in equal), sum(there for there, _ in equal)


def _equal(old: str, new: str) -> int:
    return next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(old))


def _unextended(text: str, span: Span, quote: QuotedPlace) -> bool:
    """Return whether no digit, letter or sign joins the slice that did not join the quote."""
    before, after = text[span.start - 1 : span.start] if span.start else "", text[span.end : span.end + 1]
    joins = [
        (before, quote.text[0], quote.before[-1:]),
        (after, quote.text[-1], quote.after[:1]),
    ]
    return all(there == then or not _joins(there, edge) for there, edge, then in joins)


def _joins(neighbour: str, edge: str) -> bool:
    return neighbour != "" and ((neighbour.isalnum() and edge.isalnum()) or (neighbour in "-+−" and edge.isdigit()))


def survives(version: Version, quote: ReceiptQuote) -> bool:
    """Return whether the words of a quote occur in its document, or in any when that is gone."""
    words = " ".join(quote.place.text.split())
    own = version.texts.get(quote.doc_id)
    texts = [own] if own is not None else version.texts.values()
    pattern = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
    return any(pattern.search(" ".join(text.split())) for text in texts)


def _summary(anchored: Sequence[tuple[Version, AnchoredQuote]]) -> None:
    held = {AnchorOutcome.EXACT, AnchorOutcome.MOVED}
    print(f"\n{len(anchored)} citations")
    for outcome in AnchorOutcome:
        chosen = [(version, one) for version, one in anchored if one.anchor.outcome is outcome]
        line = f"{outcome.value:<11} {len(chosen):>6}"
        if outcome in held and chosen:
            wrong = [one for version, one in chosen if not is_right(version, one, one.anchor.places[0])]
            right = len(chosen) - len(wrong)
            for one in wrong:
                place = one.anchor.places[0]
                print(f"WRONG: {one.quote.doc_id} {one.quote.place} is now {place.doc_id} {place.span}")
            normalised = sum(one.anchor.places[0].normalised for _, one in chosen)
            line += f"   right {right} ({right / len(chosen):.2%}), normalised {normalised}"
        print(line)
    surviving = [one for version, one in anchored if survives(version, one.quote)]
    kept = sum(one.anchor.outcome in held for one in surviving)
    said = Counter(one.anchor.outcome.value for one in surviving if one.anchor.outcome not in held)
    share = kept / max(1, len(surviving))
    tied = sum(
        sum(place.agreeing == 2 for place in one.anchor.places) > 1
        for one in surviving
        if one.anchor.outcome is AnchorOutcome.AMBIGUOUS
    )
    print(f"surviving   {len(surviving):>6}   anchored again {kept} ({share:.2%}), else {dict(said)}")
    print(f"            of the ambiguous, {tied} stand in several places with both neighbours unchanged")


def _speed(histories: Sequence[Sequence[Path]], chooser: random.Random) -> None:
    """Print the milliseconds of the processor for a citation in a text of a million characters."""
    joined = [[_joined(folder) for folder in history[:2]] for history in histories]
    old, new = max(joined, key=lambda texts: len(texts[1]))
    other = next((texts[0] for texts in joined if texts[0] != old), old)
    found = {name: _places(text, chooser) for name, text in (("as they were", old), ("of others", other))}
    started = time.process_time()
    prepared = PreparedText(new)
    anchor(found["of others"][0], prepared)
    print(f"\n{len(new):,} characters are prepared in {1000 * (time.process_time() - started):.0f} ms")
    for name, quotes in found.items():
        taken, outcomes = [], Counter[str]()
        for quote in quotes:
            started = time.process_time()
            outcomes[anchor(quote, prepared).outcome.value] += 1
            taken.append(1000 * (time.process_time() - started))
        cuts = statistics.quantiles(taken, n=20)
        mean = statistics.mean(taken)
        print(f"{name:<13} mean {mean:.2f} ms, p50 {cuts[9]:.2f} ms, p95 {cuts[18]:.2f} ms  {dict(outcomes)}")


def _places(text: str, chooser: random.Random) -> list[QuotedPlace]:
    start = max(0, len(text) // 2 - 100_000)
    part = text[start : start + 200_000]
    spans = [span for _, spans in split(part, format="text") for span in spans if len(span) >= LEAST_LENGTH]
    version = Version("", {"all": text})
    chosen = chooser.sample(spans, min(500, len(spans)))
    return [_quote(version, "all", Span(start + span.start, start + span.end)).place for span in chosen]


def _joined(folder: Path) -> str:
    return "\n\n".join(_texts(folder).values())[:SIZE]


def _shown(version: Version, one: AnchoredQuote) -> dict[str, Any]:
    own = version.texts.get(one.quote.doc_id)
    return {
        "version": version.name,
        "doc_id": one.quote.doc_id,
        "there": own is not None,
        "outcome": one.anchor.outcome.value,
        "survives": survives(version, one.quote),
        "quote": one.quote.place.text,
        "before": one.quote.place.before,
        "after": one.quote.place.after,
        "score": one.anchor.score,
        "places": [[place.doc_id, place.span.start, place.text, place.agreeing] for place in one.anchor.places],
    }


if __name__ == "__main__":
    raise SystemExit(main())
