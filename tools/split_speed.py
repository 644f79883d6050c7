"""Measure the splitter: megabytes of UTF-8 per CPU second, best of three, per directory and together.

python tools/split_speed.py DIR...
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from quoth.documents.sentences import split


def best_seconds(texts: Sequence[tuple[str, str]], *, rounds: int) -> float:
    """Return the CPU seconds of the fastest of several rounds over `(text, format)` pairs."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        for text, name in texts:
            split(text, format=name)
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR")
    total_bytes, total_seconds = 0, 0.0
    for folder in parser.parse_args().directories:
        paths = sorted(path for path in folder.rglob("*") if path.suffix in {".md", ".txt"})
        raw = [path.read_bytes() for path in paths]
        texts = [
            (data.decode("utf-8"), "markdown" if path.suffix == ".md" else "text")
            for path, data in zip(paths, raw, strict=True)
        ]
        size, seconds = sum(map(len, raw)), best_seconds(texts, rounds=3)
        total_bytes, total_seconds = total_bytes + size, total_seconds + seconds
        sys.stdout.write(f"{size / 1e6 / seconds:6.1f} MB/s  {size / 1e6:6.2f} MB  {folder}\n")
    if total_seconds:
        sys.stdout.write(f"{total_bytes / 1e6 / total_seconds:6.1f} MB/s  {total_bytes / 1e6:6.2f} MB  together\n")
    return 0 if total_bytes else 1


if __name__ == "__main__":
    sys.exit(main())
