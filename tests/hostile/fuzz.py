"""Feed the extractors and the splitter spoiled files, and check what must hold of whatever comes out.

    python tests/hostile/fuzz.py --minutes 10 --format pdf --format docx --seed 1
    python tests/hostile/fuzz.py --format pdf --seed 1 --number 42      # only that input: write it and say what happens

Each input is refused with a reason, or gives an extract whose regions are in order, apart and lossless, whose
sentences slice the text exactly, and which is the same when it is read again. Anything else is a finding: the input
is written to `--findings` with what went wrong. So is an exception that no extractor foresaw, a crash of a library or
a file that takes too long, though the run survives them all. The exit code is 1 when there are findings.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

from fuzz_inputs import make
from fuzz_seeds import FORMATS
from invariants import broken
from quoth.documents.files import SourceFile
from quoth.documents.worker.pool import Extraction
from quoth.documents.worker.process import pack
from quoth.domain.profile import load_profile
from quoth.errors import UnreadableFile
from quoth.settings import IngestSettings

SECONDS = 20.0
MEMORY_MB = 2_048
EACH_KIND = 3
"""Inputs that are kept of each kind of finding."""
_ENDINGS = {"markdown": "md", "text": "txt", "asciidoc": "adoc", "latex": "tex"}
_ACCIDENT = re.compile(r"it cannot be read: |it crashed|reading it took|it needs more memory|it is nested too deeply")


@dataclass
class Tally:
    taken: int = 0
    refused: int = 0
    findings: Counter[str] = field(default_factory=Counter)


def main() -> int:
    options = _options()
    tallies = {form: Tally() for form in options.format}
    options.findings.mkdir(parents=True, exist_ok=True)
    with Extraction(IngestSettings(seconds=SECONDS, memory_mb=MEMORY_MB, workers=1)) as extraction:
        for form, tally in tallies.items():
            if options.number is not None:
                _try(extraction, form, options.seed, options.number, tally, options.findings)
                continue
            end = time.monotonic() + 60 * options.minutes / len(tallies)
            number = 0
            while time.monotonic() < end:
                _try(extraction, form, options.seed, number, tally, options.findings)
                number += 1
    for form, tally in tallies.items():
        print(f"{form}: {tally.taken + tally.refused} inputs, {tally.taken} taken, {tally.refused} refused")
        for kind, count in tally.findings.most_common():
            print(f"  {count} x {kind}")
    return int(any(tally.findings for tally in tallies.values()))


def _try(extraction: Extraction, form: str, seed: int, number: int, tally: Tally, folder: Path) -> None:
    data = make(form, Random(f"{seed}:{form}:{number}"))
    name = f"{form}-{seed}-{number}.{_ENDINGS.get(form, form)}"
    wrong = list(_findings(extraction, data, form, name, tally))
    for why in wrong:
        kind = re.sub(r"\d+", "#", why)[:100]
        tally.findings[kind] += 1
        if tally.findings[kind] <= EACH_KIND:
            (folder / name).write_bytes(data)
            with (folder / "findings.txt").open("a", encoding="utf-8") as file:
                file.write(f"{name}: {why}\n")
            print(f"{name}: {why}", flush=True)


def _findings(extraction: Extraction, data: bytes, form: str, name: str, tally: Tally) -> Iterator[str]:
    try:
        extract, _ = extraction.read(data, form=form, label=name)
    except UnreadableFile as error:
        tally.refused += 1
        if _ACCIDENT.search(str(error)):
            yield str(error).removeprefix(f"{name}: ")
        elif not error.hint:
            yield f"refused without a hint: {error}"
        return
    except Exception as error:
        yield f"raised {type(error).__name__}: {error}"
        return
    tally.taken += 1
    file = SourceFile(name, Path(name), Path(), form)
    try:
        again, _ = extraction.read(data, form=form, label=name)
        if pack(again) != pack(extract):
            yield "reading it again gave something else"
        with _time_limit(SECONDS):
            yield from broken(extract, file, _PROFILE)
    except Exception as error:
        yield f"then raised {type(error).__name__}: {error}"


_PROFILE = load_profile("general")


class _TooSlow(Exception):
    pass


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TooSlow(f"splitting it took more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=10, help="for all formats together (default: 10)")
    parser.add_argument("--format", action="append", choices=FORMATS, help="again for more (default: all but rtf)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, help="only this input")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="a folder for what was found")
    options = parser.parse_args()
    options.format = options.format or [form for form in FORMATS if form != "rtf"]
    return options


if __name__ == "__main__":
    sys.exit(main())
