"""What it costs to change one sentence of a corpus, against reading it all: full ingest, edit, ingest again, ask.

    python tools/update_cost.py [DOCS] [--profile agriculture]

DOCS is copied first; without it, the documents of ../shared/eval/agriculture are taken (41,000 sentences, about ten
minutes). Both ingests run in one process with the model loaded, so that the ratio is that of the work.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from quoth import Answer, Quoth

DOCS = Path(__file__).resolve().parents[2] / "shared" / "eval" / "agriculture" / "docs"
ADDED = "The weighbridge of Larch Hollow opens at 06:45 in August."
QUESTION = "When does the weighbridge of Larch Hollow open in August?"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, nargs="?", default=DOCS)
    parser.add_argument("--profile", default="agriculture")
    options = parser.parse_args()
    if not options.docs.is_dir():
        print(f"{options.docs} is not there: give a folder of documents", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        corpus, index = Path(scratch, "docs"), Path(scratch, "index")
        shutil.copytree(options.docs, corpus)
        # One that keeps running all the while, as a service would; the warm-up takes the model out of both times.
        Quoth.build(_first(corpus), index=Path(scratch, "warm"), profile=options.profile)
        began = time.monotonic()
        service = Quoth.build(corpus, index=index, profile=options.profile)
        full = time.monotonic() - began
        service.ask(QUESTION)
        changed = _first(corpus)
        changed.write_bytes(changed.read_bytes() + f"\n\n{ADDED}\n".encode())
        began = time.monotonic()
        Quoth.build(corpus, index=index, profile=options.profile)
        outcome = service.ask(QUESTION)
        edit = time.monotonic() - began
        found = isinstance(outcome, Answer) and any(one.sentence.text == ADDED for one in outcome.citations)
        print(f"{service.info.sentences:,} sentences: full ingest {full:.1f} s")
        print(
            f"one sentence added, ingested and {'quoted' if found else 'NOT QUOTED'}: {edit:.1f} s, {edit / full:.2%}"
        )
    return 0 if found else 1


def _first(corpus: Path) -> Path:
    return min(path for path in corpus.rglob("*") if path.suffix in {".md", ".txt"})


if __name__ == "__main__":
    sys.exit(main())
