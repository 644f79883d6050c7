"""Measure retrieval and each check of the decision on question sets with gold spans.

    python tools/measure.py [SET ...] [--root ../shared/eval] [--indexes DIR] [--modes hybrid lexical dense]

A set is a folder with `docs/` and `questions.jsonl`. Its index in `--indexes` is made or brought up to date first.
Retrieval is measured with abstention off: the share of answerable questions for which a quoted sentence overlaps gold.
A check's cost and worth are counted alone, as if it were the only one: how many answerable questions it would refuse,
and how many unanswerable ones. Every citation is sliced again from the files.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoth.library import Quoth, ingest_paths
from quoth.overrides import Overrides
from quoth.search.question_files import UnreadableLine, read_questions
from quoth.types import Answer, AskResult, Evidence, Question
from quoth.wiring import open_store

PROFILES = {"agriculture": "agriculture", "irrigation": "agriculture", "governance": "governance"}
HITS_AT = (1, 3, 6)


@dataclass(frozen=True)
class Item:
    question: Question
    answerable: bool
    gold: tuple[tuple[str, int, int], ...]


def main() -> int:
    options = _options()
    for name in options.sets:
        folder = options.root / name
        if not (folder / "questions.jsonl").is_file():
            print(f"{folder} has no questions.jsonl: pass the folder that holds the sets with --root", file=sys.stderr)
            return 1
        measure(folder, options)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[1].parent / "shared" / "eval"
    parser.add_argument("sets", nargs="*", default=["agriculture", "irrigation", "contracts", "nda", "encyclopedia"])
    parser.add_argument("--root", type=Path, default=default)
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-measure")
    parser.add_argument("--modes", nargs="+", default=["lexical", "dense", "hybrid"])
    parser.add_argument("--set", dest="assignments", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--profile", help="instead of the set's own")
    parser.add_argument("--limit", type=int, help="only so many questions")
    return parser.parse_args()


def measure(folder: Path, options: argparse.Namespace) -> None:
    index = options.indexes / folder.name
    profile = options.profile or PROFILES.get(folder.name, "general")
    documents = folder / "docs" if (folder / "docs").is_dir() else folder
    report = ingest_paths([documents], index, profile=profile, overrides=Overrides({}, {}, {}))
    items = list(read_items(folder / "questions.jsonl"))[: options.limit]
    answerable = sum(item.answerable for item in items)
    print(f"\n{folder.name}: {report.info.sentences} sentences, {answerable} answerable, {len(items) - answerable} not")
    given = dict(one.split("=", 1) for one in options.assignments)
    for mode in options.modes:
        asked = list(ask_all(index, items, {"retrieval.mode": mode, "decision.abstain": "false", **given}))
        print(f"  {mode:<8} " + retrieval_line(items, asked, documents))
    print_checks(items, list(ask_all(index, items, given)))


def read_items(path: Path) -> Iterator[Item]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for line, question in zip(lines, read_questions(lines), strict=True):
        if isinstance(question, UnreadableLine):
            raise SystemExit(f"{path}: {question}")
        content: dict[str, Any] = json.loads(line)
        yield Item(question, content["answerable"], tuple(_gold(content["gold"])))


def _gold(spans: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int, int]]:
    for span in spans:
        yield span["doc_id"], span["start"], span["end"]
        for other in span.get("alternatives", ()):
            yield span["doc_id"], other["start"], other["end"]


def ask_all(index: Path, items: Iterable[Item], settings: dict[str, str]) -> Iterator[AskResult]:
    overrides = Overrides({}, {}, {"embedding.threads": "1", **settings})
    quoth = Quoth(open_store(index, overrides.without_profile().store), overrides)
    for item in items:
        yield quoth.explain(item.question)


def retrieval_line(items: list[Item], asked: list[AskResult], documents: Path) -> str:
    hits: Counter[int] = Counter()
    quoted = exact = count = 0
    texts: dict[str, str] = {}
    for item, one in zip(items, asked, strict=True):
        evidence = one.trace.selection.evidence
        quoted += len(evidence)
        for citation in evidence:
            span = citation.sentence.quote.span
            doc_id = citation.sentence.doc_id
            if doc_id not in texts:
                texts[doc_id] = (documents / doc_id).read_bytes().decode()
            count += 1
            exact += texts[doc_id][span.start : span.end] == citation.sentence.text
        for at in HITS_AT:
            hits[at] += item.answerable and any(_overlaps(citation, item.gold) for citation in evidence[:at])
    answerable = max(1, sum(item.answerable for item in items))
    shares = "  ".join(f"hit@{at} {hits[at] / answerable:.3f}" for at in HITS_AT)
    return f"{shares}  sentences {quoted / max(1, len(items)):.1f}  exact {exact}/{count}"


def _overlaps(citation: Evidence, gold: Iterable[tuple[str, int, int]]) -> bool:
    span = citation.sentence.quote.span
    return any(
        doc_id == citation.sentence.doc_id and start < span.end and span.start < end for doc_id, start, end in gold
    )


def print_checks(items: list[Item], asked: list[AskResult]) -> None:
    totals = Counter(item.answerable for item in items)
    alone: Counter[tuple[str, bool]] = Counter()
    answered = Counter(
        item.answerable for item, one in zip(items, asked, strict=True) if isinstance(one.outcome, Answer)
    )
    right = sum(
        any(_overlaps(citation, item.gold) for citation in one.trace.selection.evidence)
        for item, one in zip(items, asked, strict=True)
        if item.answerable and isinstance(one.outcome, Answer)
    )
    for item, one in zip(items, asked, strict=True):
        alone.update((name, item.answerable) for name, objection in one.trace.objections if objection is not None)
    print(
        f"  answered: {answered[True]} of {totals[True]} answerable ({right} with gold), "
        f"{answered[False]} of {totals[False]} not"
    )
    for name, _ in asked[0].trace.objections if asked else ():
        wrongly, rightly = alone[name, True], alone[name, False]
        print(
            f"  {name:<21} refuses {wrongly:>4} answerable ({wrongly / max(1, totals[True]):.1%}), "
            f"{rightly:>4} unanswerable ({rightly / max(1, totals[False]):.1%})"
        )


if __name__ == "__main__":
    raise SystemExit(main())
