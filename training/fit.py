"""Fit the few weights of the evidence models on questions about documents that the cross-encoder never saw.

    python training/fit.py --work DIR [--root ../shared/train] [--late]

Asks the held-out questions through the engine itself: of their own document, as they were labelled, also as statements,
with one thing changed and with a word that was never heard of; and, where they make sense alone, of all held-out
documents together, with and without their own (then nothing answers them). Writes
src/quoth/models/shipped/evidence.json: how far a sentence supports an answer, and how far the best one answers the
question. A weight of the wrong sign is left out. The order of the sentences that the reader judges is not fitted here:
see `READER_SHARE`. The weights of late interaction alone stay as they are without `--late`: tools/relevance_scale.py
has to be run after them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from asked import CHANGED, UNHEARD, Asked, Item
from folds import Judge, by_domain
from jsonl import read
from prepare import DOCUMENT_SETS, Row, copy_documents, read_rows, unit

from quoth.answer.confidence import answer_features
from quoth.evaluation.fitting import fit, newton
from quoth.language.rarity import TELLING, rarity
from quoth.library import Quoth, ingest_paths
from quoth.overrides import Overrides
from quoth.search.logistic import ANSWER_SIGNS, SENTENCE_SIGNS, Logistic, logistic
from quoth.types import Filters, Question, Ranked

MODELS = Path(__file__).resolve().parents[1] / "src/quoth/models/shipped"
STANDALONE = ("covidqa", "medquad", "pubmedqa_pqal", "selqa", "tatqa", "xquad_en")
"""Sets whose questions name what they are about, so that they can be asked of many documents."""
DOUBTS = ("unknown", "unused", "unstated", "unspoken", "opposed")
WORDS = ("absent", "apart")
"""What the words of a question tell where the reader is left aside."""
KNOWN = {  # by what the engine has to go by: features of a sentence, and of the answer
    "late": (("late", "lexical"), ("support", "gap", "agreement", "coverage", "missing", *DOUBTS)),
    "reader": (("late", "lexical", "reader"), ("support", "gap", "agreement", "coverage", "missing", *DOUBTS)),
    "reader_alone": (("lexical", "reader"), ("support", "gap", "agreement", "missing", *DOUBTS)),
}
READER_SHARE = 0.5
"""What a logit of the reader counts for beside a log odds of late interaction.

Fitted here it would be far more: the reader has seen questions of these kinds, and begins with weights that have seen
some of these very documents. On eleven sets of other kinds this share orders best. On five sets half of it orders a
little better (hit@1 .855 for .844), but then more questions are answered whose opposite stands in the evidence.
"""
UNLABELLED = 0.17
"""How often a sentence answers that is not gold.

9 of 54 best sentences of answerable questions, with a confidence between .3 and .7, that were read by a person.
"""
RIDGE = 3.0
MOST_A_SET, MOST_CHANGED = 200, 40
"""Questions, and of each set as many statements and as many of each kind of change. A few weights need no more."""
WORD = re.compile(r"[^\W\d_]{4,}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "train")
    parser.add_argument("--late", action="store_true", help="fit late interaction alone as well")
    options = parser.parse_args()
    items = list(held_out(options.root, options.work))
    index = options.work / "indexes" / "held_out"
    ingest_paths([options.work / "held_out"], index, profile="general", overrides=Overrides({}, {}, {}))
    asked = ask(index, items)
    path = MODELS / "evidence.json"
    fitted = {name: fit_pair(asked, *known) for name, known in KNOWN.items() if name != "late" or options.late}
    content = json.dumps(json.loads(path.read_bytes()) | fitted, indent=1, default=asdict) + "\n"
    path.write_text(content, encoding="utf-8")
    folds = json.dumps(by_domain(asked, fit_judge), indent=1)
    (options.work / "folds.json").write_text(folds + "\n", encoding="utf-8")
    print(f"{len(items)} questions; {content}by domain: {folds}")
    return 0


def held_out(root: Path, work: Path) -> Iterator[Item]:
    rows = {name: held_out_rows(root, work, name) for name in DOCUMENT_SETS}
    for name in DOCUMENT_SETS:
        items = [item(name, row, scope=row.scope, form="scoped") for row in rows[name]]
        items += [one for form in CHANGED for one in changed(root, work, name, form)]
        documents = {doc.removeprefix(f"{name}/") for one in items for doc in one.question.filters.doc_ids}
        copy_documents(root / name / "docs", work / "held_out" / name, documents)
        yield from items
        yield from unheard(name, rows)
    others = sorted(
        path.relative_to(work / "held_out").as_posix() for path in (work / "held_out").rglob("*") if path.is_file()
    )
    for name in STANDALONE:
        for row in filter(lambda row: row.answerable, rows[name]):
            chance = unit("open", row.id)
            if chance < 0.3:
                yield item(name, row, scope=(), form="open")
            elif chance < 0.5:
                own = {f"{name}/{doc}" for doc, _, _ in row.gold} | {f"{name}/{doc}" for doc in row.scope}
                away = tuple(doc for doc in others if doc not in own)
                filters = Filters(away, {}, (), None, None)
                yield Item(name, Question(f"{row.id}-away", row.question, filters), ())


def held_out_rows(root: Path, work: Path, name: str) -> list[Row]:
    """Return at most `MOST_A_SET` questions about held-out documents, the same in every run."""
    splits = {line["id"]: line["split"] for line in read(work / "data" / f"{name}.jsonl")}
    rows = (row for row in read_rows(root / name / "questions.jsonl") if splits.get(row.id) == "held_out")
    return sorted(rows, key=lambda row: unit("fit", row.id))[:MOST_A_SET]


def changed(root: Path, work: Path, name: str, form: str) -> Iterator[Item]:
    """Yield held-out questions in another form, as `statements.py` and its companions wrote them."""
    path = work / "data" / f"{name}.{form}.jsonl"
    lines = [line for line in read(path) if line["split"] == "held_out"] if path.is_file() else []
    # What a passage leaves open may be answered by the rest of its document, which nobody has read.
    lines = [line for line in lines if line.get("whole", True)]
    rows = {row.id: row for row in read_rows(root / name / "questions.jsonl")}
    for line in sorted(lines, key=lambda line: unit(form, line["id"] + line["question"]))[:MOST_CHANGED]:
        if form in ("clauses", "written", "judged"):
            gold = tuple((doc, start, end) for doc, start, end in line["gold"])
            row = Row(line["id"], line["question"], line["answerable"], tuple(line["scope"]), gold, False, True)
            yield item(name, row, scope=row.scope, form=form)
            continue
        asked = rows.get(line["id"])  # None for a question that was asked of all documents, which has an id of its own
        if asked and asked.scope:
            gold = asked.gold if line["answerable"] else ()
            yield item(name, replace(asked, question=line["question"], gold=gold), scope=asked.scope, form=form)


def unheard(name: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Item]:
    """Yield questions in which a rare word of another set stands for one of their words: nothing answers them."""
    others = (row.question for other, asked in rows.items() if other != name for row in asked)
    strange = sorted({word for question in others for word in WORD.findall(question) if rarity(word) >= TELLING})
    answerable = (row for row in rows[name] if row.answerable and row.scope)
    for row in sorted(answerable, key=lambda row: unit(UNHEARD, row.id))[:MOST_CHANGED]:
        if own := [word for word in WORD.findall(row.question) if rarity(word) > 0]:
            word, new = own[int(unit("word", row.id) * len(own))], strange[int(unit("new", row.id) * len(strange))]
            question = re.sub(rf"\b{word}\b", new, row.question)
            yield item(name, replace(row, question=question, gold=()), scope=row.scope, form=UNHEARD)


def item(name: str, row: Row, *, scope: Sequence[str], form: str) -> Item:
    filters = Filters(tuple(f"{name}/{doc}" for doc in scope), {}, (), None, None)
    gold = tuple((f"{name}/{doc}", start, end) for doc, start, end in row.gold)
    return Item(name, Question(f"{row.id}-{form}", row.question, filters), gold)


def ask(index: Path, items: Sequence[Item]) -> list[Asked]:
    quoth = Quoth.open(index, settings={"decision.abstain": False, "rerank.kind": "reader"})
    sizes = Counter(one.set for one in items)
    asked = (Asked(one, quoth.explain(one.question).trace, MOST_A_SET / sizes[one.set]) for one in items)
    return [one for one in asked if one.trace.ranked]


def fit_pair(asked: Sequence[Asked], sentence: Sequence[str], answer: Sequence[str]) -> dict[str, Logistic]:
    """Fit the model for sentences by these features, and on its log odds the model for answers."""
    of_sentences = sentence_model(asked, sentence)
    if {"late", "reader"} <= set(sentence):
        late = sentence_model(asked, [name for name in sentence if name != "reader"])
        of_sentences = scaled(asked, Logistic(late.intercept, {**late.weights, "reader": READER_SHARE}))
    return {"sentence": of_sentences, "answer": answer_model(asked, answer, of_sentences)}


def sentence_model(asked: Sequence[Asked], names: Sequence[str]) -> Logistic:
    return fit_sentences(asked, lambda known: {name: known[name] for name in names}, SENTENCE_SIGNS)


def scaled(asked: Sequence[Asked], order: Logistic) -> Logistic:
    """Return a model with the order of another, whose probabilities hold."""
    scale = fit_sentences(asked, lambda known: {"log_odds": order.log_odds(known)}, {"log_odds": 1})
    slope = scale.weights["log_odds"]
    weights = {name: round(slope * weight, 4) for name, weight in order.weights.items()}
    return Logistic(round(scale.intercept + slope * order.intercept, 4), weights)


def fit_sentences(
    asked: Sequence[Asked], features_of: Callable[[Mapping[str, float]], dict[str, float]], signs: Mapping[str, int]
) -> Logistic:
    """Each question counts the same, whatever the number of its candidates."""
    rows = [
        (features_of(ranked.support.features), one.right(ranked), one.share / len(one.trace.ranked))
        for one in asked
        for ranked in one.trace.ranked
        if ranked.support
    ]
    features, labels, shares = zip(*rows, strict=True)
    return fit(features, labels, shares=shares, signs=signs, ridge=RIDGE, prior=None)


def answer_model(asked: Sequence[Asked], names: Sequence[str], of_sentences: Logistic, best: int = 1) -> Logistic:
    """Fit to all forms of questions; then let the probabilities hold for those that people asked."""
    rows, chances = [], []
    for one in asked:
        features, right = features_of(one, of_sentences, best)
        rows.append({name: features[name] for name in names})
        chances.append(1.0 if right else UNLABELLED if one.item.gold else 0.0)
    shares = np.array([one.share for one in asked])
    model = fit(rows, chances, shares=shares.tolist(), signs=ANSWER_SIGNS, ridge=RIDGE, prior=None)
    of_people = np.array([one.of_people for one in asked])
    odds = np.array([model.log_odds(features) for features in rows])[of_people]
    (shift,) = newton(
        np.ones((len(odds), 1)),
        np.array(chances)[of_people],
        shares=shares[of_people],
        ridge=np.zeros(1),
        towards=np.zeros(1),
        offset=odds,
    )
    return replace(model, intercept=round(model.intercept + float(shift), 4))


def features_of(one: Asked, of_sentences: Logistic, best: int = 1) -> tuple[dict[str, float], bool]:
    """Return the features of an answer under a model for sentences, and whether one of the `best` is right."""
    judged = [judged_by(of_sentences, ranked) for ranked in one.trace.ranked]
    features = answer_features(judged, one.trace.analysis, one.trace.encoded)
    known = one.trace.confidence.features
    features |= {name: known[name] for name in (*DOUBTS, *WORDS) if name in known}
    likeliest = sorted(judged, key=lambda ranked: -ranked.relevance)[:best]
    return features, any(map(one.right, likeliest))


def fit_judge(asked: Sequence[Asked]) -> Judge:
    """Fit the models for questions that the reader judges, and return what they make of a question."""
    models = fit_pair(asked, *KNOWN["reader"])

    def judge(one: Asked) -> tuple[float, bool]:
        features, right = features_of(one, models["sentence"])
        return logistic(models["answer"].log_odds(features)), right

    return judge


def judged_by(model: Logistic, ranked: Ranked) -> Ranked:
    if ranked.support is None:
        raise ValueError(f"{ranked.sentence.id} was not read")
    log_odds = model.log_odds(ranked.support.features)
    return replace(ranked, relevance=logistic(log_odds), support=replace(ranked.support, log_odds=log_odds))


if __name__ == "__main__":
    sys.exit(main())
