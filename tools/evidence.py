"""Compare rerankers and presets on question sets with gold spans, and put the tables into docs/evidence.md.

    python tools/evidence.py [SET ...] [--root ../shared/eval] [--indexes DIR] [--limit N] [--write]

Every question is asked with each `rerank.kind` with abstention off, so that ranking and confidence are compared on all
questions; and with each preset of `decision.answer`, to see what is answered. The measures and their intervals are
those of `quoth eval`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quoth.evaluation.evaluate import Estimate, evaluate
from quoth.evaluation.judgements import Judgement, judge_each
from quoth.evaluation.labelled_questions import LabelledQuestion, read_labelled
from quoth.library import Quoth, ingest_paths
from quoth.overrides import Overrides

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence.md"
PROFILES = {"agriculture": "agriculture", "irrigation": "agriculture"}
KINDS = {kind: {"rerank.kind": kind, "decision.abstain": False} for kind in ("cosine", "none", "late", "reader")}
PRESETS = {
    "late": {"rerank.kind": "late"},
    **{f"reader, {preset}": {"decision.answer": preset} for preset in ("careful", "balanced", "eager")},
}
RANKING = {"hit@1": "hit@1", "hit@6": "hit@6", "auroc": "AUROC", "coverage@20%": "coverage at 20% risk"}
DECISIONS = {
    "answer_rate_answerable": "answered, of the answerable",
    "false_answer_rate": "answered, of the unanswerable",
    "answer_risk": "wrong, of the answers",
    "quote_precision": "quotes that touch gold",
    "answer_quote_precision": "`answer` quotes that touch gold",
    "ece": "calibration error",
}
TABLES: dict[str, tuple[Mapping[str, Mapping[str, Any]], Mapping[str, str]]] = {
    "evidence": (KINDS, RANKING),
    "decisions": (PRESETS, DECISIONS),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["agriculture", "irrigation", "contracts", "nda", "encyclopedia"])
    parser.add_argument("--root", type=Path, default=ROOT.parent / "shared" / "eval")
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-measure")
    parser.add_argument("--limit", type=int, help="only so many questions of each set, spread over it")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/evidence.md")
    options = parser.parse_args()
    tables = {
        name: ["| set | rerank | " + " | ".join(shown.values()) + " |", "|---|---" + "|---" * len(shown) + "|"]
        for name, (_, shown) in TABLES.items()
    }
    for name in options.sets:
        folder = options.root / name
        if not (folder / "questions.jsonl").is_file():
            print(f"{folder} has no questions.jsonl: pass the folder that holds the sets with --root", file=sys.stderr)
            return 1
        index = options.indexes / name
        ingest_paths([folder / "docs"], index, profile=PROFILES.get(name, "general"), overrides=Overrides({}, {}, {}))
        items = read_labelled(folder / "questions.jsonl")
        asked = items[:: max(1, len(items) // options.limit)] if options.limit else items
        for table, (variants, shown) in TABLES.items():
            for variant, judged in ask_each(index, asked, variants).items():
                tables[table].append(row(name, variant, judged, shown))
                print(tables[table][-1], flush=True)
    if options.write:
        for table, lines in tables.items():
            write(table, lines)
    return 0


def ask_each(
    index: Path, items: Sequence[LabelledQuestion], variants: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[Judgement]]:
    """Return the judged answers by the name of each variant of the settings.

    One question after the other, because the reader remembers what it read lately.
    """
    opened = {name: Quoth.open(index, settings=dict(settings)) for name, settings in variants.items()}
    judged: dict[str, list[Judgement]] = {name: [] for name in opened}
    for item in items:
        for name, quoth in opened.items():
            judged[name] += judge_each(quoth, [item], progress=None)
    return judged


def row(name: str, variant: str, judged: Sequence[Judgement], shown: Mapping[str, str]) -> str:
    found = {measured.key: measured.figure for measured in evaluate(judged, notes=()).measures}
    return f"| {name} | {variant} | " + " | ".join(cell(found[key]) for key in shown) + " |"


def cell(figure: Estimate) -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "-"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def write(table: str, lines: Sequence[str]) -> None:
    begin, end = f"<!-- measured:begin {table} -->", "<!-- measured:end -->"
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(begin) + len(begin)
    rest = text[text.index(end, start) :]
    PAGE.write_text("\n".join([text[:start], "", *lines, "", rest]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
