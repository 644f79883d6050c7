"""Compare rerankers on question sets with gold spans, and put the table into docs/evidence.md.

    python tools/evidence.py [SET ...] [--root ../shared/eval] [--indexes DIR] [--write]

Every set is asked once with each `rerank.kind`, with abstention off, so that ranking and confidence are compared on all
questions. The measures and their intervals are those of `quoth eval`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from quoth.evaluation.evaluate import Estimate, evaluate
from quoth.evaluation.judgements import judge_each
from quoth.evaluation.labelled_questions import read_labelled
from quoth.library import Quoth, ingest_paths
from quoth.overrides import Overrides

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence.md"
PROFILES = {"agriculture": "agriculture", "irrigation": "agriculture"}
KINDS = ("cosine", "none", "evidence")
SHOWN = {
    "hit@1": "hit@1",
    "hit@6": "hit@6",
    "auroc": "AUROC",
    "coverage@20%": "coverage at 20% risk",
}
BEGIN, END = "<!-- measured:begin evidence -->", "<!-- measured:end -->"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["agriculture", "irrigation", "contracts", "nda", "encyclopedia"])
    parser.add_argument("--root", type=Path, default=ROOT.parent / "shared" / "eval")
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-measure")
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence.md")
    options = parser.parse_args()
    lines = ["| set | rerank | " + " | ".join(SHOWN.values()) + " |", "|---|---" + "|---" * len(SHOWN) + "|"]
    for name in options.sets:
        folder = options.root / name
        if not (folder / "questions.jsonl").is_file():
            print(f"{folder} has no questions.jsonl: pass the folder that holds the sets with --root", file=sys.stderr)
            return 1
        profile = PROFILES.get(name, "general")
        ingest_paths([folder / "docs"], options.indexes / name, profile=profile, overrides=Overrides({}, {}, {}))
        for kind in KINDS:
            lines.append(row(name, kind, folder, options.indexes))
            print(lines[-1], flush=True)
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        table = "\n".join(lines)
        PAGE.write_text(f"{text[:start]}\n\n{table}\n\n{text[end:]}", encoding="utf-8")
    return 0


def row(name: str, kind: str, folder: Path, indexes: Path) -> str:
    quoth = Quoth.open(indexes / name, settings={"rerank.kind": kind, "decision.abstain": False})
    judged = judge_each(quoth, read_labelled(folder / "questions.jsonl"), progress=None)
    found = {measured.key: measured.figure for measured in evaluate(judged, notes=()).measures}
    return f"| {name} | {kind} | " + " | ".join(cell(found[key]) for key in SHOWN) + " |"


def cell(figure: Estimate) -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "-"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


if __name__ == "__main__":
    sys.exit(main())
