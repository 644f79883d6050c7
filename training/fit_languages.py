"""Fit what judges questions in other languages than English: features that mean the same in every language.

    python training/fit_languages.py --work DIR [--root ../shared/train] [--projection]

No question in another language is used: there are none to train on. English questions are asked with the reader left
aside, of documents of their own set, and made as hard as they would be in other languages: see `changed`. Of each set
a quarter of the documents is left out, so that nothing answers the questions about them. Writes three fits into
src/quoth/models/shipped/evidence_languages.json: `multilingual` (late interaction and cosine of the multilingual
encoder with the words), `multilingual_across` (without the words, which two languages do not share) and `words` (the
words alone, beside any other embedding model). `--projection` first fits the directions and ranges in which the
encoder's token vectors are stored.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from asked import Asked, Item
from fit import MODELS, WORDS, answer_model, sentence_model
from prepare import read_rows, unit

from quoth.answer import ask as engine_path
from quoth.library import Quoth, ingest_paths
from quoth.models.multilingual_graph import VERSION
from quoth.models.shipped_models import LEVELS
from quoth.models.weights import MULTILINGUAL, multilingual_package
from quoth.overrides import Overrides
from quoth.search.language_pairs import LanguagePair
from quoth.search.logistic import Logistic
from quoth.settings import EmbeddingSettings
from quoth.types import Filters, Question
from quoth.wiring import open_embedder

DOCUMENTS = {"selqa": 400, "pubmedqa_pqal": 300, "medquad": 160, "tatqa": 160, "quotesum_dev": 200}
"""Sets whose questions name what they are about, with the number of documents that are taken of each."""
LEFT_OUT = 0.25
QUOTED = 3
"""An answer is right when one of so many best sentences is: without the reader more of them are quoted."""
QUESTIONS = 220
UNKNOWN_FORMS, NOWHERE = {"multilingual": 0.35, "words": 0.2}, 0.6
"""How many words of a question are taken for ones in forms that full text does not know, and how many of these are used
in no other form either. Where words are all there is, fewer: a word that is nowhere must go on counting."""
LESS_ALIKE = 0.5
DIMENSIONS, SENTENCES, CUT = 96, 4_000, 0.005
FITS = {  # by what there is to go by: features of a sentence, and of the answer
    "multilingual": (("late", "cosine", "lexical"), ("support", "gap", "agreement", "coverage", *WORDS)),
    "multilingual_across": (("late", "cosine"), ("support", "gap", "agreement")),
    "words": (("lexical",), ("support", "gap", "agreement", *WORDS)),
}
SETTINGS = {"embedding.model_name": MULTILINGUAL, "decision.abstain": False, "cache.memory_mb": 0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "train")
    parser.add_argument("--projection", action="store_true")
    options = parser.parse_args()
    for name in DOCUMENTS:
        copy_corpus(options.root / name, options.work / "corpora" / name)
    if options.projection:
        fit_projection(options.work)
        return 0
    ask_as_in_another_language()
    asked = [one for name in DOCUMENTS for one in ask_set(options.root / name, options.work)]
    path = MODELS / "evidence_languages.json"
    fitted = {name: fit_pair(changed(asked, name), *known) for name, known in FITS.items()}
    content = json.dumps(json.loads(path.read_bytes()) | fitted, indent=1, default=asdict) + "\n"
    path.write_text(content, encoding="utf-8")
    print(f"{len(asked)} questions; {json.dumps(fitted, indent=1, default=asdict)}")
    return 0


def documents_of(source: Path) -> list[str]:
    """Return the names of the documents that are taken, the same in every run."""
    names = {doc for row in read_rows(source / "questions.jsonl") for doc in row.scope}
    return sorted(names, key=lambda name: unit("languages", name))[: DOCUMENTS[source.name]]


def is_left_out(document: str) -> bool:
    return unit("left out", document) < LEFT_OUT


def copy_corpus(source: Path, target: Path) -> None:
    for name in documents_of(source):
        if not is_left_out(name) and not (target / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / "docs" / name, target / name)


def fit_projection(work: Path) -> None:
    """Write the directions that keep most of the token vectors' products, and the range that 4 bits cover in each."""
    chance = random.Random(1)
    texts: list[str] = []
    for name in DOCUMENTS:
        plain = {"embedding.model_name": "hash", "retrieval.mode": "lexical"}
        index = work / "sentences" / name
        ingest_paths([work / "corpora" / name], index, profile="general", overrides=Overrides({}, {}, plain))
        quoth = Quoth.open(index, settings=plain)
        found = sorted({one.search_text for doc in quoth.documents() for one in quoth.sentences(doc.id)})
        texts += chance.sample(found, min(len(found), SENTENCES // len(DOCUMENTS)))
    embedder = open_embedder(EmbeddingSettings(model_name=MULTILINGUAL))
    vectors = np.concatenate([embedder.token_vectors(text) for text in texts])  # type: ignore[attr-defined]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values, directions = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    projection = directions[:, ::-1][:, :DIMENSIONS].astype(np.float32)
    reduced = vectors @ projection
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True)
    low, high = np.quantile(reduced, [CUT, 1 - CUT], axis=0).astype(np.float32)
    np.savez(
        MODELS / "token_projection_multilingual.npz",
        projection=projection,
        low=low,
        step=(high - low) / (LEVELS - 1),
        made_for=np.array(f"{multilingual_package().sha256}-v{VERSION}"),
        by_length=np.array(True),
    )
    kept = values[::-1][:DIMENSIONS].sum() / values.sum()
    print(f"{len(texts)} sentences, {len(vectors)} tokens; {DIMENSIONS} dimensions keep {kept:.1%}")


def ask_set(source: Path, work: Path) -> list[Asked]:
    index = work / "indexes" / source.name
    overrides = Overrides({}, {}, {name: str(value).lower() for name, value in SETTINGS.items()})
    ingest_paths([work / "corpora" / source.name], index, profile="general", overrides=overrides)
    quoth = Quoth.open(index, settings=SETTINGS)
    items = list(items_of(source))
    asked = (Asked(one, quoth.explain(one.question).trace, QUESTIONS / len(items)) for one in items)
    return [one for one in asked if one.trace.ranked]


def items_of(source: Path) -> Iterator[Item]:
    """Yield questions asked of all documents of their set; those about a document that is left out have no gold."""
    taken = set(documents_of(source))
    rows = (row for row in read_rows(source / "questions.jsonl") if row.answerable and set(row.scope) <= taken)
    for row in sorted(rows, key=lambda row: unit("languages", row.id))[:QUESTIONS]:
        away = {is_left_out(doc) for doc in row.scope}
        if len(away) == 1:
            yield Item(source.name, Question(row.id, row.question, Filters()), () if away == {True} else row.gold)


def changed(asked: Sequence[Asked], fit: str) -> list[Asked]:
    """Return what would have become of the questions in languages that are harder than English, the same in every run.

    Within a language the stemmers know fewer forms of a word than those of English. Between two languages a word is
    less like its counterpart than like itself.
    """
    chance = random.Random(1)
    if fit == "multilingual_across":
        return [less_alike(one, chance.random() * LESS_ALIKE) for one in asked]
    return [in_unknown_forms(one, UNKNOWN_FORMS[fit], chance) for one in asked]


def in_unknown_forms(one: Asked, share: float, chance: random.Random) -> Asked:
    """Return a question some of whose words full text does not know again; many of these then are nowhere at all."""
    trace, words = one.trace, max(1, len(one.trace.analysis.terms))
    lost = sum(chance.random() < share for _ in range(words)) / words
    known = trace.confidence.features
    absent, apart = (known[name] + (1 - known[name]) * lost for name in WORDS)
    absent = known["absent"] + (absent - known["absent"]) * NOWHERE
    confidence = replace(trace.confidence, features={**known, "absent": absent, "apart": apart})
    return with_feature(
        replace(one, trace=replace(trace, confidence=confidence)), "lexical", lambda value: value * (1 - lost)
    )


def less_alike(one: Asked, less: float) -> Asked:
    """Return a question of which late interaction is weaker, as far as it is more than that of the worst candidate."""
    least = min(ranked.support.features["late"] for ranked in one.trace.ranked if ranked.support)
    return with_feature(one, "late", lambda value: least + (value - least) * (1 - less))


def with_feature(one: Asked, name: str, change: Callable[[float], float]) -> Asked:
    ranked = tuple(
        replace(item, support=replace(support, features={**support.features, name: change(support.features[name])}))
        for item in one.trace.ranked
        if (support := item.support)
    )
    return replace(one, trace=replace(one.trace, ranked=ranked))


def fit_pair(asked: Sequence[Asked], sentence: Sequence[str], answer: Sequence[str]) -> dict[str, Logistic]:
    of_sentences = sentence_model(asked, sentence)
    return {"sentence": of_sentences, "answer": answer_model(asked, answer, of_sentences, best=QUOTED)}


def ask_as_in_another_language() -> None:
    """Let the engine take every question for one in a language that is not English, as its documents are."""
    for name in ("expected_pair", "found_pair"):
        setattr(engine_path, name, lambda *_: LanguagePair.SAME)


if __name__ == "__main__":
    sys.exit(main())
