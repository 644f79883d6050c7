"""Sentences of the whole document that the reader takes for answers to written questions, judged one by one.

    python training/judged.py --work DIR --propose FILE
    python training/judged.py --work DIR [--root ../shared/train]

What was written on a passage (`written.py`) is asked of its whole document here. Nobody knew whether the rest of the
document answers it. The first form writes questions with the sentences outside their passage that the reader in the
package likes best, if it likes any. They were judged by reading, into
`judged.jsonl`: `[start, end, 1]` for a sentence that answers the question, or decides the statement either way, and
`[start, end, 0]` for one that does not. The second form makes groups of them: DIR/data/<set>.judged.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonl import read
from prepare import candidate, copy_documents, side, touches, unit, words_index, write
from written import SOURCE, Written, read_written

from quoth.library import Quoth
from quoth.models.cross_encoder import CrossEncoder
from quoth.models.shipped_models import MODELS
from quoth.types import Filters, Question, Sentence, SentenceInContext

JUDGED = Path(__file__).with_name("judged.jsonl")
DEPTH, PROPOSED, FROM_PASSAGE = 14, 3, 3
ASKED_A_SET = {"cuad_other": 1400}
"""How many of the written texts of a set are asked; of the other sets `ASKED`."""
ASKED = 400
LIKED = -2.0
"""Log odds of the reader. A sentence that it likes less teaches little."""


@dataclass(frozen=True)
class Asked:
    """A written question with its whole document."""

    written: Written
    quoth: Quoth

    def found(self) -> list[Sentence]:
        filters = Filters((self.written.doc_id,), {}, (), None, None)
        ranked = self.quoth.explain(Question("-", self.written.text, filters)).trace.ranked
        return [one.sentence for one in ranked[:DEPTH]]

    def outside(self) -> list[Sentence]:
        return [sentence for sentence in self.found() if not self.written.passage.holds(sentence.quote.span)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "train")
    parser.add_argument("--written", type=Path, default=SOURCE)
    parser.add_argument("--source", type=Path, default=JUDGED)
    parser.add_argument("--propose", type=Path, help="write what to judge to this file")
    options = parser.parse_args()
    of_set: dict[str, list[Written]] = defaultdict(list)
    for one in read_written(options.written):
        if not options.sets or one.set in options.sets:
            of_set[one.set].append(one)
    if options.propose:
        lines = [
            line for name, written in of_set.items() for line in proposals(opened(name, some(name, written), options))
        ]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        options.propose.write_text(text, encoding="utf-8")
        print(f"{len(lines)} questions")
        return 0
    judged = {(line["set"], line["doc"], line["text"]): line["judged"] for line in read(options.source)}
    for name, written in of_set.items():
        wanted = [one for one in written if (name, one.doc_id, one.text) in judged]
        if not wanted:
            continue
        found = opened(name, wanted, options)
        groups = (group(one, judged[name, one.written.doc_id, one.written.text]) for one in found)
        counts = write(groups, options.work / "data" / f"{name}.judged.jsonl")
        print(f"{name}: {dict(counts)}", flush=True)
    return 0


def some(name: str, written: Iterable[Written]) -> list[Written]:
    """Return some of what was written on a set, the same in every run."""
    chosen = sorted(written, key=lambda one: (unit("judge", one.doc_id + one.text), one.text))
    return chosen[: ASKED_A_SET.get(name, ASKED)]


def opened(name: str, written: Iterable[Written], options: argparse.Namespace) -> Iterator[Asked]:
    written = list(written)
    corpus = options.work / "docs" / name
    copy_documents(options.root / name / "docs", corpus, {one.doc_id for one in written})
    quoth = words_index(corpus, options.work / "indexes" / name)
    for one in written:
        yield Asked(one, quoth)


def proposals(asked: Iterable[Asked]) -> Iterator[dict[str, Any]]:
    """Yield each question with the sentences outside its passage that the reader likes best, if it likes any."""
    reader = CrossEncoder(MODELS, threads=os.cpu_count() or 1)
    for one in asked:
        texts = [(sentence, candidate(sentence, one.quoth, gold=())) for sentence in one.outside()]
        contexts = [SentenceInContext(text["text"], text["heading"], text["before"]) for _, text in texts]
        scores = reader.read(one.written.text, contexts)
        best = sorted(range(len(texts)), key=lambda at: (-scores[at], at))[:PROPOSED]
        liked = [at for at in best if scores[at] > LIKED]
        if liked:
            yield {
                "set": one.written.set,
                "doc": one.written.doc_id,
                "text": one.written.text,
                "sentences": [_shown(*texts[at]) for at in liked],
            }


def _shown(sentence: Sentence, text: dict[str, Any]) -> dict[str, Any]:
    shown = {name: text[name] for name in ("heading", "before", "text") if text[name]}
    return {"at": [sentence.quote.span.start, sentence.quote.span.end], **shown}


def group(asked: Asked, judged: list[list[int]]) -> dict[str, Any]:
    """Return a question with the judged sentences of its document, and some of the passage that it was written on."""
    written, quoth = asked.written, asked.quoth
    answers = tuple((written.doc_id, start, end) for start, end, answers in judged if answers)
    gold = (*written.gold, *answers)
    places = {(start, end) for start, end, _ in judged}
    sentences = [each for each in quoth.sentences(written.doc_id) if each.kind.evidence]
    known = [each for each in sentences if (each.quote.span.start, each.quote.span.end) in places]
    inside = [each for each in sentences if written.passage.holds(each.quote.span)]
    right = [each for each in [*inside, *known] if touches(each, gold)]
    ranked = {each.id: place for place, each in enumerate(asked.found())}
    near = sorted(inside, key=lambda each: (ranked.get(each.id, DEPTH), each.id))
    wrong = [each for each in [*known, *near[:FROM_PASSAGE]] if not touches(each, gold)]
    return {
        "split": side("document", written.doc_id),
        "set": written.set,
        "id": f"{written.doc_id}-{unit('judged', written.text):.12f}",
        "question": written.text,
        "scope": [written.doc_id],
        "gold": gold,
        "answerable": bool(gold),
        "made": True,
        "candidates": [
            *(candidate(each, quoth, gold=gold) for each in right[:3]),
            *(candidate(each, quoth, gold=()) for each in wrong),
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
