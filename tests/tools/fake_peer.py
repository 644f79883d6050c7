"""A tool for the tests of `make compare`: finds lines by a word, and claims a wrong place if told to."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "bench" / "peers"))
from peer import Reply, Text, Unavailable, read, run


class FakeTool:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index

    def check(self) -> None:
        if not self.index.parent.is_dir():
            raise Unavailable("there is no folder for its index")

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        self.index.mkdir(exist_ok=True)
        lines = [[name, line] for name in documents for line in read(folder / name).splitlines()]
        (self.index / "lines.json").write_text(json.dumps([str(folder), lines]), encoding="utf-8")
        return len(lines)

    def open(self) -> None:
        print("a library may print what it likes")  # noqa: T201 - what this tests
        folder, self.lines = json.loads(read(self.index / "lines.json"))
        self.folder = Path(folder)

    def ask(self, question: str) -> Reply:
        if "crash" in question:
            raise ValueError("the fake tool was told to fail")
        words = question.lower().strip("?").split()
        found = [(name, line) for name, line in self.lines if any(word in line.lower().split() for word in words)]
        starts = [read(self.folder / name).index(line) for name, line in found]
        wrong = 1 if "wrong" in question else 0
        texts = [
            Text(line, name, start + wrong, start + wrong + len(line), 1.0)
            for (name, line), start in zip(found, starts, strict=True)
        ]
        return Reply(texts, [], float(len(texts)))


if __name__ == "__main__":
    raise SystemExit(run(FakeTool))
