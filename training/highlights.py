"""Choose which words of a quote stand out: token F1 on held-out documents, for each rule.

    python training/highlights.py --work DIR [--model FOLDER] [SET ...]

Reads what `prepare.py` wrote. Used are held-out questions whose gold is a short span of its sentence, each set counting
the same. Prints for each rule the F1 (nothing marked counts as 0), the F1 where words are marked, and how often they
are; then the figures of every set for the rule in the package. `quoth eval` measures the same on answers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean

from jsonl import read

from quoth.answer.highlights import RULE, HighlightRule, answering_words
from quoth.evaluation.highlight_scores import token_f1
from quoth.models.cross_encoder import CrossEncoder
from quoth.models.shipped_models import MODELS
from quoth.types import Quote, RegionKind, Sentence, SentenceInContext, Span, TokenMark

SETS = ("xquad_en", "squad2_rhine", "disflqa_squad2", "tatqa")
MOST = 400
"""Sentences of each set."""
SHORT = 0.5
SURE, NEAR, RIVAL = (-2.0, -1.5, -1.0, -0.5, 0.0), (0.5, 1.0, 1.5, 2.0), (0.25, 0.5, 1.0)

Case = tuple[str, Sentence, tuple[TokenMark, ...], str]
"""The question, the sentence, its tokens and the words of the gold."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=MODELS, help="a folder with reader.onnx; default: the package's")
    options = parser.parse_args()
    encoder = CrossEncoder(options.model, threads=1)
    cases = {name: list(cases_of(options.work / "data" / f"{name}.jsonl", encoder)) for name in options.sets}
    print("sure  near  rival    F1  where marked  marked")
    for rule in (HighlightRule(*levels) for levels in product(SURE, NEAR, RIVAL)):
        figures = [scores(of_set, rule) for of_set in cases.values()]
        f1, given, marked = (mean(column) for column in zip(*figures, strict=True))
        print(f"{rule.sure:4}  {rule.near:4}  {rule.rival:5}  {f1:.3f}         {given:.3f}    {marked:.2f}")
    print(f"\n{RULE}")
    for name, of_set in cases.items():
        f1, given, marked = scores(of_set, RULE)
        whole = mean(token_f1(sentence.text, gold) for _, sentence, _, gold in of_set)
        print(
            f"{name:16} {len(of_set):4} sentences, F1 {f1:.3f}, where marked {given:.3f}, marked {marked:.2f}; "
            f"of whole sentences {whole:.3f}"
        )
    return 0


def cases_of(path: Path, encoder: CrossEncoder) -> Iterator[Case]:
    groups = (group for group in read(path) if group["split"] == "held_out" and group["answerable"])
    found = 0
    for group in groups:
        for candidate in group["candidates"]:
            text, answer = candidate["text"], candidate["answer"]
            if found == MOST or not answer or answer[1] - answer[0] > SHORT * len(text):
                continue
            found += 1
            context = SentenceInContext(text, candidate["heading"], candidate["before"])
            sentence = Sentence("", Quote(Span(0, len(text)), text), RegionKind.PARAGRAPH, (), None, None, None, {})
            (marks,) = encoder.mark(group["question"], [context])
            yield group["question"], sentence, marks, text[slice(*answer)]


def scores(cases: Sequence[Case], rule: HighlightRule) -> tuple[float, float, float]:
    """Return the mean F1, the F1 where words are marked, and the share of sentences in which they are."""
    each = []
    for question, sentence, marks, gold in cases:
        spans = answering_words(sentence, marks, question, rule=rule)
        each.append((bool(spans), token_f1(" ".join(sentence.text[span.start : span.end] for span in spans), gold)))
    marked = [f1 for is_marked, f1 in each if is_marked]
    return mean(f1 for _, f1 in each), mean(marked or [0.0]), len(marked) / len(each)


if __name__ == "__main__":
    sys.exit(main())
