"""Measure the default settings in several languages, and questions in one language on documents in another.

    python tools/languages.py [PAIR ...] [--root ../shared/eval/languages] [--english ../shared/train/xquad_en]

A pair is `de`, or `de:es` for German questions on Spanish documents. The folders of `--root` hold the same articles
and the same questions in translation, so the gold of one language answers the question of another. Of the English
articles only some paragraphs are there: `en` and pairs with it have fewer questions. The reader in the package has seen
these English paragraphs in training, so figures of `en` itself are no measure of it.

A hit is a quote that overlaps gold, over all answerable questions: an abstention is a miss. False answers are over the
unanswerable questions. AUROC is how well the confidence tells questions whose best evidence overlaps gold from others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quoth.evaluation.judgements import touches_gold
from quoth.evaluation.labelled_questions import LabelledQuestion, labelled
from quoth.evaluation.measures import auroc
from quoth.library import Quoth, ingest_paths
from quoth.overrides import Overrides
from quoth.search.question_files import question_of
from quoth.types import Abstention

SHARED = Path(__file__).resolve().parents[2] / "shared"
PAIRS = ("de", "es", "tr", "ru", "zh", "de:en", "tr:en", "de:es")
ENGLISH = "en"
BETWEEN = "\n\n"
"""What stands between two paragraphs of an English article."""
COLUMNS = ("hit", "hit@1", "answered", "false answers", "AUROC", "best is gold", "gold found", "ms")
"""Of the answerable: for how many the best sentence overlaps gold, quoted or not, or any candidate of the search."""


@dataclass(frozen=True)
class Trial:
    """What became of a question. `hits` says of each quote whether it overlaps gold; `found` counts all
    candidates, `rank` those that were judged."""

    id: str
    answerable: bool
    abstained: str
    confidence: float
    hits: tuple[bool, ...]
    nearest: bool
    found: bool
    rank: int | None
    degraded: tuple[str, ...]
    features: Mapping[str, float]
    seconds: float


def main() -> int:
    options = _options()
    print(f"| questions : documents | questions | {' | '.join(COLUMNS)} | ingest, s | sentences |")
    print("|---|---|" + "---|" * (len(COLUMNS) + 2))
    with tempfile.TemporaryDirectory() as scratch:
        for pair in options.pairs:
            asked, _, documents = pair.partition(":")
            _measure(asked, documents or asked, options, options.indexes or Path(scratch))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", default=list(PAIRS))
    parser.add_argument("--root", type=Path, default=SHARED / "eval" / "languages")
    parser.add_argument("--english", type=Path, default=SHARED / "train" / "xquad_en")
    parser.add_argument("--indexes", type=Path, help="keep the indexes here (default: made anew)")
    parser.add_argument("--set", dest="assignments", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--limit", type=int, help="only about so many questions, of all kinds")
    parser.add_argument("--save", type=Path, help="a folder for what became of each question")
    return parser.parse_args()


def _measure(asked: str, documents: str, options: argparse.Namespace, indexes: Path) -> None:
    given = Overrides({}, {}, dict(one.split("=", 1) for one in options.assignments))
    corpus = _corpus(documents, options, indexes)
    begin = time.perf_counter()
    info = ingest_paths([corpus], indexes / documents, profile="general", overrides=given).info
    ingested = time.perf_counter() - begin
    items = questions(asked, documents, options)
    items = items[:: max(1, len(items) // options.limit)] if options.limit else items
    quoth = Quoth.open(indexes / documents, settings=given.flags)
    quoth.explain(items[0].question)  # loads the models
    trials = [_trial(item, quoth) for item in items]
    cells = " | ".join(f"{figure:.3f}" for figure in figures(trials))
    name = asked if asked == documents else f"{asked} : {documents}"
    print(f"| {name} | {len(trials)} | {cells} | {ingested:.1f} | {info.sentences} |", flush=True)
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(vars(trial)) for trial in trials]
        (options.save / f"{asked}-{documents}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def questions(asked: str, documents: str, options: argparse.Namespace) -> list[LabelledQuestion]:
    """Return the questions of one language with the gold of another, as far as both have them."""
    texts, golds = (_lines(language, options) for language in (asked, documents))
    lines = (
        golds[key] | {"question": texts[key]["question"], "id": key}
        for key in golds
        if texts.get(key, {}).get("question")
    )
    return [labelled(question_of(line, default_id=""), line) for line in lines]


def _lines(language: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the labelled questions of a language by the id that they have in every language."""
    if language == ENGLISH:
        return dict(_english_lines(options))
    content = (options.root / language / "questions.jsonl").read_text(encoding="utf-8")
    lines = map(json.loads, content.splitlines())
    return {line["id"].partition("-")[2]: line for line in lines}


def _english_lines(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the questions that the other languages have too: of articles that are left out nothing is answerable."""
    starts, others = _paragraph_starts(options.english / "docs"), _lines(PAIRS[0], options)
    known = {path.name for path in (options.root / PAIRS[0] / "docs").iterdir()}
    for key, other in others.items():
        if not other["answerable"]:  # asked in another language of the English articles
            yield key, {"id": key, "question": "", "answerable": False, "gold": []}
    for line in map(json.loads, (options.english / "questions.jsonl").read_text(encoding="utf-8").splitlines()):
        key = line["id"].removeprefix("xquad-en-")
        if key not in others:
            continue
        if not others[key]["answerable"]:
            yield key, {"id": key, "question": line["question"], "answerable": False, "gold": []}
        elif all(_article(gold["doc_id"]) in known for gold in line["gold"]):
            gold = [_moved(gold, starts[gold["doc_id"]]) for gold in line["gold"]]
            yield key, {"id": key, "question": line["question"], "answerable": True, "gold": gold}


def _moved(gold: dict[str, Any], by: int) -> dict[str, Any]:
    return gold | {"doc_id": _article(gold["doc_id"]), "start": gold["start"] + by, "end": gold["end"] + by}


def _article(paragraph: str) -> str:
    """Return the name of the article of a paragraph such as `a07_p02.txt`, as the other languages have it."""
    return f"article_{paragraph[1:3]}.txt"


def _paragraph_starts(folder: Path) -> dict[str, int]:
    """Return where each paragraph begins in its article."""
    starts, lengths = {}, Counter[str]()
    for path in sorted(folder.glob("*.txt")):
        starts[path.name] = lengths[_article(path.name)]
        lengths[_article(path.name)] += len(_text(path)) + len(BETWEEN)
    return starts


def _corpus(language: str, options: argparse.Namespace, scratch: Path) -> Path:
    """Return the folder of documents; the English articles are put together from their paragraphs."""
    if language != ENGLISH:
        return Path(options.root / language / "docs")
    known = {path.name for path in (options.root / PAIRS[0] / "docs").iterdir()}
    folder = scratch / "english articles"
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, list[str]] = {}
    for path in sorted((options.english / "docs").glob("*.txt")):
        texts.setdefault(_article(path.name), []).append(_text(path))
    for name in known & texts.keys():
        (folder / name).write_bytes(BETWEEN.join(texts[name]).encode())
    return folder


def _text(path: Path) -> str:
    return path.read_bytes().decode()


def _trial(item: LabelledQuestion, quoth: Quoth) -> Trial:
    begin = time.perf_counter()
    one = quoth.explain(item.question)
    seconds = time.perf_counter() - begin
    outcome, trace = one.outcome, one.trace
    abstained = outcome.objection.reason.value if isinstance(outcome, Abstention) else ""
    hits = [touches_gold(item, quoted.sentence) for quoted in trace.selection.evidence]
    return Trial(
        id=item.question.id,
        answerable=item.answerable,
        abstained=abstained,
        confidence=outcome.confidence,
        hits=tuple(hits),
        nearest=bool(trace.ranked) and touches_gold(item, trace.ranked[0].sentence),
        found=any(touches_gold(item, ranked.sentence) for ranked in trace.fused),
        rank=next((at for at, ranked in enumerate(trace.ranked, 1) if touches_gold(item, ranked.sentence)), None),
        degraded=outcome.notes.degraded,
        features=dict(trace.confidence.features),
        seconds=seconds,
    )


def figures(trials: Sequence[Trial]) -> list[float]:
    """Return the figures of `COLUMNS`."""
    answerable, others = ([trial for trial in trials if trial.answerable is kind] for kind in (True, False))
    answered = [trial for trial in answerable if not trial.abstained]
    confidence = np.array([trial.confidence for trial in trials])
    right = np.array([trial.nearest for trial in trials])
    return [
        share(any(trial.hits) for trial in answered) * len(answered) / max(1, len(answerable)),
        share(trial.hits[0] for trial in answered) * len(answered) / max(1, len(answerable)),
        len(answered) / max(1, len(answerable)),
        share(not trial.abstained for trial in others),
        float(auroc(confidence, right, np.ones((1, len(trials))))[0]),
        share(trial.nearest for trial in answerable),
        share(trial.found for trial in answerable),
        1000 * float(np.median([trial.seconds for trial in trials])),
    ]


def share(values: Iterable[bool]) -> float:
    """Return the share of true values; 0 of none."""
    listed = list(values)
    return sum(listed) / max(1, len(listed))


if __name__ == "__main__":
    sys.exit(main())
