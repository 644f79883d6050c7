"""Measure `quoth retrieve` on question sets with gold spans, and put the tables into docs/retrieval.md.

    python tools/retrieval.py [SET ...] [--root ../shared/eval] [--indexes DIR] [--write]

Each set is retrieved four times: by full text alone, by vectors alone, by both, and by both with the evidence reranker.
Recall counts the gold spans that the first 5 and 8 passages touch, and those in the context of 4,000 tokens. The status
and the times are those of the last. The sample corpus `examples/governance` is measured first; nothing is cached.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from quoth.evaluation.labelled_questions import read_labelled
from quoth.evaluation.retrieval_trials import RetrievalTrial, recall_json, statuses_json, try_each
from quoth.library import Quoth, ingest_paths
from quoth.overrides import NO_OVERRIDES
from quoth.types import Status

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "retrieval.md"
SAMPLE = ROOT / "examples" / "governance"
VARIANTS: Mapping[str, Mapping[str, object]] = {
    "full text": {"retrieval.mode": "lexical", "rerank.kind": "none"},
    "vector": {"retrieval.mode": "dense", "rerank.kind": "none"},
    "hybrid": {"rerank.kind": "none"},
    "hybrid + late": {"rerank.kind": "late"},
}
RECALL = {"recall_at_5": "5 passages", "recall_at_8": "8 passages", "recall_in_context": "4,000 tokens"}
STAGES = ("analyse", "search", "passages", "rerank", "choose", "context")
PROFILES = {"agriculture": "agriculture", "irrigation": "agriculture"}


def main() -> int:
    options = _options()
    folders = [SAMPLE, *(options.root / name for name in options.sets)]
    for folder in folders:
        if not (folder / "questions.jsonl").is_file():
            print(f"{folder} has no questions.jsonl: pass the folder that holds the sets with --root", file=sys.stderr)
            return 1
    measured = {folder.name: dict(_measure(folder, options)) for folder in folders}
    tables = {
        "retrieval-recall": _recall_table(measured),
        "retrieval-status": _status_table(measured),
        "retrieval-times": _times_table(measured),
    }
    for table in tables.values():
        print("\n" + table)
    if options.write:
        _write(tables)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["contracts", "nda"])
    parser.add_argument("--root", type=Path, default=ROOT.parent / "shared" / "eval")
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-measure")
    parser.add_argument("--limit", type=int, help="only so many questions of each set")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/retrieval.md")
    return parser.parse_args()


def _measure(folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, tuple[RetrievalTrial, ...]]]:
    index = options.indexes / folder.name
    sample = folder == SAMPLE
    profile = "governance" if sample else PROFILES.get(folder.name, "general")
    ingest_paths([folder if sample else folder / "docs"], index, profile=profile, overrides=NO_OVERRIDES)
    items = read_labelled(folder / "questions.jsonl")[: options.limit]
    for name, values in VARIANTS.items():
        print(f"{folder.name}: {name}, {len(items)} questions", file=sys.stderr, flush=True)
        yield name, try_each(Quoth.open(index, settings={"cache.memory_mb": 0, **values}), items, progress=None)


def _recall_table(measured: Mapping[str, Mapping[str, Sequence[RetrievalTrial]]]) -> str:
    lines = [f"| set | search | {' | '.join(RECALL.values())} | mean reciprocal rank |", "|---|---|---|---|---|---|"]
    for name, variants in measured.items():
        for variant, trials in variants.items():
            figures = recall_json(trials)
            cells = [f"{figures[key]:.3f}" for key in (*RECALL, "reciprocal_rank")]
            lines.append(f"| {name} | {variant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _status_table(measured: Mapping[str, Mapping[str, Sequence[RetrievalTrial]]]) -> str:
    lines = [f"| set | questions | {' | '.join(Status)} |", "|---|---|---|---|---|"]
    for name, variants in measured.items():
        for kind, counts in statuses_json(variants["hybrid + late"]).items():
            total = sum(counts.values())
            cells = [f"{count} ({count / total:.0%})" if total else "0" for count in counts.values()]
            lines.append(f"| {name} | {total} {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _times_table(measured: Mapping[str, Mapping[str, Sequence[RetrievalTrial]]]) -> str:
    times = {name: _times(variants["hybrid + late"]) for name, variants in measured.items()}
    stages = next(iter(times.values()))
    lines = [f"| set | {' | '.join(stages)} |", "|---" * (1 + len(stages)) + "|"]
    for name, found in times.items():
        cells = [f"{one['p50']:.1f} / {one['p95']:.1f}" for one in found.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _times(trials: Sequence[RetrievalTrial]) -> dict[str, dict[str, float]]:
    """The median and the 95th percentile of each stage and of the total, in milliseconds."""
    columns = {stage: [trial.seconds.get(stage, 0.0) for trial in trials] for stage in STAGES}
    columns["total"] = [sum(trial.seconds.values()) for trial in trials]
    return {
        stage: {f"p{part}": 1000 * float(np.quantile(values, part / 100)) for part in (50, 95)}
        for stage, values in columns.items()
    }


def _write(tables: Mapping[str, str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- measured:begin {name} -->", f"<!-- measured:end {name} -->"
        start, stop = text.index(begin) + len(begin), text.index(end)
        text = f"{text[:start]}\n\n{table}\n\n{text[stop:]}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
