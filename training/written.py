"""Questions and statements that were written one by one on passages of the training documents, as groups to train on.

    python training/written.py --work DIR [--root ../shared/train] [SET ...]

A line of `written.jsonl` is a passage `[start, end]` of a document, and what was asked about it: each text with the
sentences `[start, end]` that answer it, none where the passage leaves it open. About half of them are open although
their words stand in the passage. Only sentences of the passage are candidates, since nobody has judged the others.
Written to DIR/data/<set>.written.jsonl.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonl import read
from prepare import CANDIDATES, candidate, copy_documents, side, touches, unit, words_index, write

from quoth.library import Quoth
from quoth.types import Filters, Question, Sentence, Span

SOURCE = Path(__file__).with_name("written.jsonl")


@dataclass(frozen=True)
class Written:
    """A question or statement on a passage. `gold` are the spans that answer it, of the same document."""

    set: str
    doc_id: str
    passage: Span
    text: str
    gold: tuple[tuple[str, int, int], ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "train")
    parser.add_argument("--source", type=Path, default=SOURCE)
    options = parser.parse_args()
    of_set: dict[str, list[Written]] = defaultdict(list)
    for one in read_written(options.source):
        of_set[one.set].append(one)
    for name in options.sets or of_set:
        counts = write(
            groups(of_set[name], options.root / name, options.work), options.work / "data" / f"{name}.written.jsonl"
        )
        print(f"{name}: {dict(counts)}", flush=True)
    return 0


def read_written(path: Path) -> Iterator[Written]:
    for line in read(path):
        doc_id = line["doc"]
        for text, *spans in line["asked"]:
            gold = tuple((doc_id, start, end) for start, end in spans)
            yield Written(line["set"], doc_id, Span(*line["passage"]), text, gold)


def groups(written: Iterable[Written], source: Path, work: Path) -> Iterator[dict[str, Any]]:
    written = list(written)
    corpus = work / "docs" / source.name
    copy_documents(source / "docs", corpus, {one.doc_id for one in written})
    quoth = words_index(corpus, work / "indexes" / source.name)
    for one in written:
        yield group(one, quoth)


def group(one: Written, quoth: Quoth) -> dict[str, Any]:
    """Return a question with the sentences of its passage, those that search finds first in front."""
    inside = [each for each in quoth.sentences(one.doc_id) if one.passage.holds(each.quote.span) and each.kind.evidence]
    gold = [sentence for sentence in inside if touches(sentence, one.gold)]
    others = [sentence for sentence in by_rank(one, inside, quoth) if not touches(sentence, one.gold)]
    return {
        "split": side("document", one.doc_id),
        "set": one.set,
        "id": f"{one.doc_id}-{unit('written', one.text):.12f}",
        "question": one.text,
        "scope": [one.doc_id],
        "gold": one.gold,
        "answerable": bool(gold),
        "made": True,
        "whole": len(inside) == sum(sentence.kind.evidence for sentence in quoth.sentences(one.doc_id)),
        "candidates": [
            *(candidate(sentence, quoth, gold=one.gold) for sentence in gold[:3]),
            *(candidate(sentence, quoth, gold=()) for sentence in others[:CANDIDATES]),
        ],
    }


def by_rank(one: Written, inside: list[Sentence], quoth: Quoth) -> list[Sentence]:
    filters = Filters((one.doc_id,), {}, (), None, None)
    found = quoth.explain(Question("-", one.text, filters)).trace.ranked
    rank = {ranked.sentence.id: place for place, ranked in enumerate(found)}
    return sorted(inside, key=lambda sentence: rank.get(sentence.id, len(rank)))


if __name__ == "__main__":
    sys.exit(main())
