"""Questions with the sentences of their whole document that the reader itself takes for answers, to train on again.

    python training/mined.py --work DIR [--root ../shared/train] [SET ...]

Words find the first candidates of a long document, but the reader is wrong about others: those that it prefers. For
questions of DIR/data, as people asked them and as they were changed, the reader in the package judges the first
`DEPTH` sentences that words find. The `KEPT` wrong ones that it likes best stand beside the gold in
DIR/data/<set>.mined.jsonl. Unanswerable questions gain most: for them every such sentence is a mistake.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonl import read
from prepare import Row, candidate, read_rows, touches, unit, words_index, write

from quoth.library import Quoth
from quoth.models.cross_encoder import CrossEncoder
from quoth.models.shipped_models import MODELS
from quoth.types import Filters, Question, Sentence, SentenceInContext

DEPTH, KEPT = 12, 5
SURE = 2.0
"""Log odds of the reader. A sentence that is not gold and that it is surer of than this may well answer: gold is never
complete. It is left out where the document does answer, and kept where nothing does."""
MOST = {  # how many questions of each set, as people asked them; a sixth as many of each kind of change
    "cuad_other": 700,
    "disflqa_squad2": 500,
    "covidqa": 200,
    "doqa": 500,
    "fairytaleqa": 200,
    "squad2_rhine": 300,
    "xquad_en": 400,
    "selqa": 300,
    "tatqa": 250,
    "qasper_paragraphs": 200,
    "pubmedqa_pqal": 150,
}
CHANGED = ("statements", "swapped", "clauses")


@dataclass(frozen=True)
class Miner:
    """Finds the sentences of one set that the reader is wrong about."""

    quoth: Quoth
    reader: CrossEncoder
    rows: dict[str, Row]

    def group(self, line: dict[str, Any]) -> dict[str, Any]:
        kind = next((kind for kind in ("open", "away") if line["id"].endswith(f"-{kind}")), "")
        row = self.rows.get(line["id"].removesuffix(f"-{kind}"))
        own = row.gold if row else tuple((doc, start, end) for doc, start, end in line.get("gold", ()))
        found = self._found(line["question"], () if kind else tuple(line["scope"]))
        if kind == "away":
            found = [sentence for sentence in found if sentence.doc_id not in line["scope"]]
        gold = own if line["answerable"] else ()
        right = [sentence for sentence in found if touches(sentence, gold)]
        wrong = self._mistakes(line, [sentence for sentence in found if not touches(sentence, gold)])
        kept_gold = [one for one in line["candidates"] if one["label"]] if not right else []
        return {
            **line,
            "candidates": [
                *(candidate(sentence, self.quoth, gold=gold) for sentence in right[:3]),
                *kept_gold,
                *wrong,
            ],
        }

    def _found(self, question: str, scope: tuple[str, ...]) -> list[Sentence]:
        asked = Question("-", question, Filters(scope, {}, (), None, None))
        return [ranked.sentence for ranked in self.quoth.explain(asked).trace.ranked[:DEPTH]]

    def _mistakes(self, line: dict[str, Any], sentences: list[Sentence]) -> list[dict[str, Any]]:
        """Return the wrong candidates that the reader likes best, the best first."""
        texts = [candidate(sentence, self.quoth, gold=()) for sentence in sentences]
        contexts = [SentenceInContext(one["text"], one["heading"], one["before"]) for one in texts]
        scores = self.reader.read(line["question"], contexts)
        best = sorted(range(len(texts)), key=lambda at: (-scores[at], at))
        return [texts[at] for at in best if not (line["answerable"] and scores[at] > SURE)][:KEPT]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "train")
    options = parser.parse_args()
    reader = CrossEncoder(MODELS, threads=os.cpu_count() or 1)
    for name in options.sets or MOST:
        miner = Miner(
            words_index(options.work / "docs" / name, options.work / "indexes" / name),
            reader,
            {row.id: row for row in read_rows(options.root / name / "questions.jsonl")},
        )
        groups = (miner.group(line) for line in chosen(options.work / "data", name))
        counts = write(groups, options.work / "data" / f"{name}.mined.jsonl")
        print(f"{name}: {dict(counts)}", flush=True)
    return 0


def chosen(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the questions of a set, the same in every run, and some of each kind of change."""
    for stem, most in [(name, MOST[name]), *((f"{name}.{form}", MOST[name] // 6) for form in CHANGED)]:
        path = data / f"{stem}.jsonl"
        if path.is_file():
            yield from sorted(read(path), key=lambda line: unit("mine", f"{line['id']}{line['question']}"))[:most]


if __name__ == "__main__":
    sys.exit(main())
