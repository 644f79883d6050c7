"""Measure `quoth find` beside ripgrep on the same texts: the scan alone, and whole commands.

    python tools/find_speed.py DIR... [--copies 6]

The documents are ingested with the stand-in for a model, `--copies` times under other names, and their canonical texts
are written to files for ripgrep. For each pattern, both count the matches in each document. Times are milliseconds of
the processor, all threads together, the best of several rounds taken in turn: what else the machine does counts less
than on a clock. Ripgrep counts lines, Quoth matches.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from quoth import Quoth
from quoth.search.find_matches import find_matches
from quoth.search.patterns import compile_pattern
from quoth.types import NO_FILTERS

SETTINGS = {"embedding.model_name": "hash", "rerank.kind": "late"}
_NEAR = r"\bsoil(\W+\w+){0,4}\W+water\b|\bwater(\W+\w+){0,4}\W+soil\b"
PATTERNS: tuple[tuple[str, list[str], list[str]], ...] = (
    ("a word", ["soil"], ["-iw", "soil"]),
    ("a rare word", ["terraforming"], ["-iw", "terraforming"]),
    ("a common word", ["the"], ["-iw", "the"]),
    ("a phrase", ["the soil"], ["-iwU", r"the\s+soil"]),
    ("case counts", ["Soil", "--case"], ["-w", "Soil"]),
    ("a word with accents", ["Öztürk"], ["-iw", "Öztürk"]),
    ("an expression", [r"[0-9]+\s*kg", "--regex"], ["-iU", r"[0-9]+\s*kg"]),
    ("words near each other", ["soil", "water", "--near", "5"], ["-iU", _NEAR]),
)  # fmt: skip
"""What is looked for, the arguments of `quoth find`, and those of ripgrep."""


def main() -> int:
    options = _options()
    rg = shutil.which("rg")
    if rg is None:
        sys.stderr.write("error: ripgrep is not installed\nhint: apt-get install ripgrep\n")
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        index, texts = Path(scratch, "index"), Path(scratch, "texts")
        _copy(options.directories, Path(scratch, "corpus"), copies=options.copies)
        quoth = Quoth.build(Path(scratch, "corpus"), index=index, settings=SETTINGS)
        size = _write_texts(quoth, texts)
        sys.stdout.write(f"{len(quoth.documents()):,} documents, {size / 1e6:.1f} MB of canonical text\n\n")
        sys.stdout.write(
            "| pattern | matches | scan (ms) | GB/s | whole command (ms) | rg (ms) | scan/rg | whole/rg |\n"
        )
        sys.stdout.write("|---|---|---|---|---|---|---|---|\n")
        for name, given, for_rg in PATTERNS:
            found = 0

            def scan(given: Sequence[str] = given) -> None:
                nonlocal found
                found = _count(quoth, given)

            command = [str(Path(sys.executable).with_name("quoth")), "find", *given, "--count", "--index", str(index)]
            rounds = _in_turn([scan, _run(command), _run([rg, "-c", *for_rg, str(texts)])], rounds=options.rounds)
            alone, whole, beside = (1000 * best for best in rounds)
            speed = size / alone / 1e6
            sys.stdout.write(
                f"| {name} | {found:,} | {alone:.0f} | {speed:.2f} | {whole:.0f} | {beside:.0f} | {alone / beside:.1f} "
                f"| {whole / beside:.1f} |\n"
            )
            sys.stdout.flush()
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--copies", type=int, default=1, help="how often to ingest each document")
    parser.add_argument("--rounds", type=int, default=5, help="how often to measure each")
    return parser.parse_args()


def _copy(directories: Sequence[Path], corpus: Path, *, copies: int) -> None:
    for copy in range(copies):
        for folder in directories:
            # A trailing `docs` says nothing, and two folders may end with it.
            shutil.copytree(folder, corpus / str(copy) / "-".join(folder.resolve().parts[-2:]))


def _write_texts(quoth: Quoth, texts: Path) -> int:
    """Write the canonical text of each document to a file; return how many bytes there are."""
    size = 0
    for info in quoth.documents():
        document = quoth.document(info.id)
        if document is not None:
            data = document.text.encode("utf-8")
            path = texts / f"{info.id}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            size += path.write_bytes(data)
    return size


def _count(quoth: Quoth, given: Sequence[str]) -> int:
    """Count matches as `quoth find --count` does, without the start of a process."""
    words = [word for word in given if not word.startswith("--")]
    near = int(words.pop()) if "--near" in given else None
    pattern = compile_pattern(" ".join(words), regex="--regex" in given, near=near, case="--case" in given)
    with quoth.reading() as reader:
        return sum(found.count for found in find_matches(pattern, NO_FILTERS, reader=reader))


def _run(command: Sequence[str]) -> Callable[[], object]:
    environment = {**os.environ, **{f"QUOTH_{key.upper().replace('.', '_')}": value for key, value in SETTINGS.items()}}
    environment["PYTHONDONTWRITEBYTECODE"] = ""  # an installed package is not compiled again for each command

    def run() -> None:
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if ran.returncode not in {0, 1} or "error" in ran.stderr:  # ripgrep ends with 1 when it finds nothing
            raise SystemExit(f"{' '.join(command)}: {ran.stderr}")

    return run


def _processor_seconds() -> float:
    """Return what this process and the commands that it ran have used so far."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _in_turn(work: Sequence[Callable[[], object]], *, rounds: int) -> list[float]:
    """Return the seconds of the fastest round of each."""
    best = [float("inf")] * len(work)
    for _ in range(rounds):
        for number, one in enumerate(work):
            started = _processor_seconds()
            one()
            best[number] = min(best[number], _processor_seconds() - started)
    return best


if __name__ == "__main__":
    sys.exit(main())
