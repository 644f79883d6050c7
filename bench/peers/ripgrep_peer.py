"""ripgrep, for exact words.

Why so: it is what people type before they install anything. The question's words of four letters or more are searched
as whole words without case, all in one call; the lines that hold most of them come first. ripgrep reports byte
offsets, and they are judged as bytes. There is no index and no threshold: any line with one of the words is returned.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from peer import Reply, Text, run

RG = Path(sys.executable).parent / "rg"


class Ripgrep:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index

    def check(self) -> None: ...

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        self.index.mkdir(parents=True, exist_ok=True)
        (self.index / "folder.txt").write_text(str(folder), encoding="utf-8")
        return 0  # nothing is indexed

    def open(self) -> None:
        self.folder = Path((self.index / "folder.txt").read_text(encoding="utf-8"))

    def ask(self, question: str) -> Reply:
        words = sorted({word.lower() for word in re.findall(r"\w{4,}", question)})
        if not words:
            return Reply([], [], 0.0)
        patterns = [part for word in words for part in ("-e", word)]
        command = [str(RG), "--json", "--fixed-strings", "--ignore-case", "--word-regexp", *patterns, "."]
        ran = subprocess.run(command, cwd=self.folder, capture_output=True, check=False)
        found = []
        for event in map(json.loads, ran.stdout.splitlines()):
            if event["type"] == "match":
                line, start = event["data"]["lines"]["text"].rstrip("\r\n"), event["data"]["absolute_offset"]
                name = event["data"]["path"]["text"].removeprefix("./")
                share = len({one["match"]["text"].lower() for one in event["data"]["submatches"]}) / len(words)
                found.append(Text(line, name, start, start + len(line.encode()), share, unit="byte"))
        found.sort(key=lambda text: (-(text.score or 0), text.document or "", text.start))
        return Reply(found[:6], [], found[0].score if found else 0.0)


if __name__ == "__main__":
    raise SystemExit(run(Ripgrep))
