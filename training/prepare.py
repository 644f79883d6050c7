"""Turn the question sets of `../shared/train` into groups of (question, candidate sentences with labels).

    python training/prepare.py --work DIR [--root ../shared/train] [SET ...]

Each document set is read into an index of its own, so that candidates are found exactly as they are when a question
is asked; words alone find them, since embedding 200,000 sentences would take longer than it tells. A group is one
question with its best candidates; gold that retrieval missed is added. Groups are written to DIR/data/<set>.jsonl. A
set whose questions make sense alone gives more groups: asked of all its documents, and of all but the right one. Every
split is by document and by question text: see `split_of`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonl import read

from quoth.library import Quoth, ingest_paths
from quoth.overrides import Overrides
from quoth.search.reading import in_context
from quoth.types import Filters, Question, Sentence

CANDIDATES = 12
HELD_OUT = 0.2
"""The share of documents that the model never sees: the confidence is fitted on their questions."""

DOCUMENT_SETS = {  # how many questions of each are used at most
    "doqa": 5176,
    "selqa": 3480,
    "tatqa": 2347,
    "fairytaleqa": 4000,
    "covidqa": 1045,
    "pubmedqa_pqal": 1995,
    "qasper_paragraphs": 1175,
    "quotesum_dev": 91,
    "medquad": 2500,
    "disflqa_squad2": 1151,
    "squad2_rhine": 498,
    "xquad_en": 1231,
    "cuad_other": 5000,
}
PAIR_SETS = {
    "iirc_pairs": 5200,
    "scitail": 3000,
    "foolmetwice": 2600,
    "qamr": 3500,
    "adversarialqa_passages": 1500,
    "strategyqa_facts": 1000,
}
STANDALONE = ("covidqa", "medquad", "pubmedqa_pqal", "selqa", "xquad_en")
"""Sets whose questions name what they are about, so that they can be asked of many documents."""
MANY_DOCUMENTS = 3
"""A question asked of more documents than this is a template: it is split by its own text as well."""


@dataclass(frozen=True)
class Row:
    """One line of a `questions.jsonl`."""

    id: str
    question: str
    answerable: bool
    scope: tuple[str, ...]
    gold: tuple[tuple[str, int, int], ...]
    weak: bool
    """The gold is a whole section: not each of its sentences answers the question."""
    made: bool
    """Unanswerable by construction, not by a person's judgement."""


def main() -> int:
    options = _options()
    (options.work / "data").mkdir(parents=True, exist_ok=True)
    for name in options.sets or [*DOCUMENT_SETS, *PAIR_SETS]:
        source = options.root / name
        if not source.is_dir():
            print(f"{source} is not there: pass the folder that holds the sets with --root", file=sys.stderr)
            return 1
        groups = pair_groups(source) if name in PAIR_SETS else document_groups(source, options.work)
        counts = write(groups, options.work / "data" / f"{name}.jsonl")
        print(f"{name}: {dict(counts)}", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[1].parent / "shared" / "train"
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--root", type=Path, default=default)
    parser.add_argument("--work", type=Path, required=True)
    return parser.parse_args()


def document_groups(source: Path, work: Path) -> Iterator[dict[str, Any]]:
    rows = chosen(list(read_rows(source / "questions.jsonl")), DOCUMENT_SETS[source.name])
    splits = split_of(rows)
    rows = [row for row in rows if row.id in splits]
    corpus = work / "docs" / source.name
    copy_documents(source / "docs", corpus, {doc for row in rows for doc in row.scope})
    quoth = words_index(corpus, work / "indexes" / source.name)
    for row in rows:
        yield {"split": splits[row.id], **group(row, quoth, scope=row.scope)}
        if source.name in STANDALONE and row.answerable:
            kind = "open" if unit("open", row.id) < 0.5 else "away"
            yield {"split": splits[row.id], **group(row, quoth, scope=(), kind=kind)}


def words_index(corpus: Path, index: Path) -> Quoth:
    """Read documents into an index that words alone search, and open it to see all that it finds."""
    words_alone = {"embedding.model_name": "hash", "retrieval.mode": "lexical", "rerank.kind": "none"}
    ingest_paths([corpus], index, profile="general", overrides=Overrides({}, {}, words_alone))
    settings = {**words_alone, "decision.abstain": False, "rerank.topk": 3 * CANDIDATES}
    return Quoth.open(index, settings=settings)


def read_rows(path: Path) -> Iterator[Row]:
    for line in read(path):
        raw = line
        yield Row(
            id=str(raw["id"]),
            question=raw["question"] if raw.get("standalone", True) else f"{raw['history'][-1]} {raw['question']}",
            answerable=raw["answerable"],
            scope=tuple(raw["doc_scope"]),
            gold=tuple((one["doc_id"], one["start"], one["end"]) for one in raw["gold"]),
            weak=raw.get("gold_granularity") == "section" or path.parent.name == "medquad",
            made="negative_kind" in raw,
        )


def chosen(rows: list[Row], most: int) -> list[Row]:
    """At most `most` rows: by document, so that few documents give many questions; a follow-up needs its history."""
    by_document = sorted(rows, key=lambda row: (unit("choose", row.scope[0]), row.id))
    return by_document[:most]


def split_of(rows: list[Row]) -> dict[str, str]:
    """`train` or `held_out` for each row id; a row that would put its text or a document on both sides is left out."""
    asked_of: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        asked_of[normal(row.question)].update(row.scope)
    texts: dict[str, str] = {}
    splits: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: (not row.answerable, row.id)):
        text = normal(row.question)
        sides = {side("document", doc) for doc in row.scope}
        if len(asked_of[text]) > MANY_DOCUMENTS:
            sides.add(side("question", text))
        elif text in texts:
            sides.add(texts[text])
        if len(sides) == 1:
            splits[row.id] = texts[text] = sides.pop()
    return splits


def side(what: str, key: str) -> str:
    return "held_out" if unit(what, key) < HELD_OUT else "train"


def unit(what: str, key: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(f"{what}:{key}".encode()).digest()[:6]) / 2**48


def normal(text: str) -> str:
    return " ".join(text.casefold().split())


def copy_documents(source: Path, target: Path, ids: Iterable[str]) -> None:
    for doc_id in ids:
        place = target / doc_id
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / doc_id, place)


def group(row: Row, quoth: Quoth, *, scope: tuple[str, ...], kind: str = "scoped") -> dict[str, Any]:
    """Return a question with its candidates in these documents; without those of its own when `kind` is "away"."""
    filters = Filters(doc_ids=scope, tags={}, document_types=(), is_binding=None, as_of=None)
    found = [ranked.sentence for ranked in quoth.explain(Question(row.id, row.question, filters)).trace.ranked]
    answerable = row.answerable and kind != "away"
    if kind == "away":
        found = [sentence for sentence in found if sentence.doc_id not in row.scope]
    gold = [sentence for sentence in found[:CANDIDATES] if touches(sentence, row.gold)]
    if answerable and not gold:
        gold = [
            sentence
            for doc_id in dict.fromkeys(doc_id for doc_id, _, _ in row.gold)
            for sentence in quoth.sentences(doc_id)
            if sentence.kind.evidence and touches(sentence, row.gold)
        ]
    others = [sentence for sentence in found[:CANDIDATES] if not touches(sentence, row.gold)]
    if len(others) < CANDIDATES:
        others += more_of(scope, quoth, row, seen={sentence.id for sentence in found})[: CANDIDATES - len(others)]
    chosen_gold = (gold[:1] if row.weak else gold[:3]) if answerable else []
    return {
        "set": row.id.split("-")[0],
        "id": row.id if kind == "scoped" else f"{row.id}-{kind}",
        "question": row.question,
        "scope": row.scope,
        "answerable": answerable,
        "made": row.made,
        "candidates": [
            *(candidate(sentence, quoth, gold=row.gold) for sentence in chosen_gold),
            *(candidate(sentence, quoth, gold=()) for sentence in others),
        ],
    }


def more_of(scope: tuple[str, ...], quoth: Quoth, row: Row, *, seen: set[str]) -> list[Sentence]:
    """Return other sentences of these documents, in an order left to chance: meaning would find some of them too."""
    more = [
        sentence
        for doc_id in scope
        for sentence in quoth.sentences(doc_id)
        if sentence.kind.evidence and sentence.id not in seen and not touches(sentence, row.gold)
    ]
    return sorted(more, key=lambda sentence: unit(row.id, sentence.id))


def touches(sentence: Sentence, gold: tuple[tuple[str, int, int], ...]) -> bool:
    span = sentence.quote.span
    return any(doc == sentence.doc_id and start < span.end and span.start < end for doc, start, end in gold)


def candidate(sentence: Sentence, quoth: Quoth, *, gold: tuple[tuple[str, int, int], ...]) -> dict[str, Any]:
    with quoth._store.read() as reader:
        (beside,) = reader.neighbours([sentence])
    context = in_context(sentence, beside)
    return {
        "text": context.text,
        "heading": context.heading,
        "before": context.before,
        "label": int(bool(gold)),
        "answer": answering_words(sentence, gold),
    }


def answering_words(sentence: Sentence, gold: tuple[tuple[str, int, int], ...]) -> tuple[int, int] | None:
    """Return the span of the gold in the sentence's search text, or None when the gold is about all of it."""
    span = sentence.quote.span
    inside = [(max(start, span.start), min(end, span.end)) for doc, start, end in gold if doc == sentence.doc_id]
    short = [(start, end) for start, end in inside if 0 < end - start < 0.8 * len(span)]
    if not short:
        return None
    start, end = short[0]
    words = sentence.text[start - span.start : end - span.start]
    at = sentence.search_text.find(words, len(sentence.search_text) - len(sentence.text))
    return (at, at + len(words)) if at >= 0 else None


def pair_groups(source: Path) -> Iterator[dict[str, Any]]:
    by_question: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in read(source / "pairs.jsonl"):
        raw = line
        by_question[raw["question"]].append(raw)
    questions = sorted(by_question, key=lambda text: unit("choose", text))[: PAIR_SETS[source.name]]
    for number, text in enumerate(questions):
        pairs = by_question[text]
        yield {
            "split": side("document", pairs[0]["group"]),
            "set": source.name,
            "id": f"{source.name}-{number}",
            "question": text,
            "scope": [],
            "answerable": any(pair["label"] for pair in pairs),
            "made": True,
            "candidates": [pair_candidate(pair) for pair in pairs[:CANDIDATES]],
        }


def pair_candidate(pair: dict[str, Any]) -> dict[str, Any]:
    text, words = pair["sentence"], pair.get("answer") or ""
    at = text.find(words) if words and pair["label"] else -1
    answer = (at, at + len(words)) if at >= 0 else None
    return {"text": text, "heading": "", "before": "", "label": pair["label"], "answer": answer}


def write(groups: Iterable[dict[str, Any]], path: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    with path.open("w", encoding="utf-8") as file:
        for one in groups:
            file.write(json.dumps(one, ensure_ascii=False) + "\n")
            counts[one["split"]] += 1
            counts["answerable"] += one["answerable"]
            counts["pairs"] += len(one["candidates"])
    return counts


if __name__ == "__main__":
    sys.exit(main())
