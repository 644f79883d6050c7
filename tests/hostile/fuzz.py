"""Send damaged input through every door of Quoth, and check what must hold of whatever comes out.

    python tests/hostile/fuzz.py --count 100000 --seed 1              # shared among all doors
    python tests/hostile/fuzz.py --count 5000 --seed 1 --door pdf --door docx
    python tests/hostile/fuzz.py --seed 1 --door pdf --number 42      # only that input, and what is wrong with it

An input is refused with a reason, or what comes of it holds: quotes are exact, splitting is lossless, the same file
gives the same again, and nothing takes too long or too much memory. Anything else is a finding: the input is written
to `--findings` with what went wrong. The same seed gives the same inputs; a run that was interrupted goes on where it
was. The exit code is 1 when there are findings.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fuzz_door import Door, limit_memory
from fuzz_doors import text_doors
from fuzz_files import LIMITS, ending, file_doors
from fuzz_seeds import FORMATS
from quoth.documents.worker.pool import Extraction

EACH_KIND = 3
"""Inputs that are kept of each kind of finding."""
_CHUNK = 200
"""Inputs of one door before another one has its turn, and before what was done is noted."""
NOT_BY_DEFAULT = frozenset({"rtf"})
"""Doors that are tried where they are named: a program of others reads their files, at a second each."""


@dataclass
class Tally:
    """What was done at a door: `done` inputs, of which some were refused, and findings by kind."""

    done: int = 0
    refused: int = 0
    findings: dict[str, int] = field(default_factory=dict)


class Run:
    """One run with one seed. What was done at each door is kept in a file, so that another run goes on from there."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._seed = seed
        self._folder = folder
        self._notes = folder / f"seed-{seed}"
        self._notes.mkdir(parents=True, exist_ok=True)

    def tally(self, door: str) -> Tally:
        path = self._notes / f"{door}.json"
        return Tally(**json.loads(path.read_bytes())) if path.is_file() else Tally()

    def note(self, door: str, tally: Tally) -> None:
        new = self._notes / f"{door}.json.new"
        new.write_text(json.dumps(asdict(tally)), encoding="utf-8")
        new.replace(self._notes / f"{door}.json")

    def try_one(self, door: Door, number: int, tally: Tally) -> None:
        random = Random(f"{self._seed}:{door.name}:{number}")
        try:
            tried = door.try_one(random)
            data, wrong = tried.data, tried.wrong
            tally.refused += not tried.taken
        except Exception as error:
            data, wrong = b"", (f"raised {type(error).__name__}: {error}",)
        tally.done += 1
        for why in wrong:
            self._keep(door.name, number, data, why, tally)

    def _keep(self, door: str, number: int, data: bytes, why: str, tally: Tally) -> None:
        kind = re.sub(r"\d+", "#", why)[:100]
        tally.findings[kind] = tally.findings.get(kind, 0) + 1
        if tally.findings[kind] <= EACH_KIND:
            name = f"{door}-{self._seed}-{number}.{ending(door)}"
            (self._folder / name).write_bytes(data)
            with (self._folder / "findings.txt").open("a", encoding="utf-8") as file:
                file.write(f"{name}: {why}\n")
            sys.stderr.write(f"{name}: {why}\n")


def shares(count: int, doors: Sequence[Door]) -> Mapping[str, int]:
    """Return how many inputs each door gets of `count`; what is cheap to try gets more."""
    whole = sum(door.share for door in doors)
    given = {door.name: count * door.share // whole for door in doors}
    for door in doors[: count - sum(given.values())]:
        given[door.name] += 1
    return given


def fuzz(run: Run, doors: Sequence[Door], count: int) -> Mapping[str, Tally]:
    """Try inputs at the doors in turn until `count` were tried with this seed, earlier runs included."""
    wanted, tallies = shares(count, doors), {door.name: run.tally(door.name) for door in doors}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("inputs", total=sum(wanted.values()))
        for door, numbers in _turns(doors, wanted, {name: tally.done for name, tally in tallies.items()}):
            tally = tallies[door.name]
            for number in numbers:
                run.try_one(door, number, tally)
            run.note(door.name, tally)
            done = sum(min(tally.done, wanted[name]) for name, tally in tallies.items())
            progress.update(bar, completed=done, description=door.name)
    return tallies


def _turns(doors: Sequence[Door], wanted: Mapping[str, int], done: dict[str, int]) -> Iterator[tuple[Door, range]]:
    """Yield the doors with the numbers that come next; a door with a greater share has longer turns."""
    while any(done[name] < wanted[name] for name in done):
        for door in doors:
            first = done[door.name]
            last = min(wanted[door.name], first + max(10, _CHUNK * door.share // 20))
            if first < last:
                yield door, range(first, last)
                done[door.name] = last


def main() -> int:
    options = _options()
    os.environ.setdefault("PYTHONHASHSEED", "0")
    with ExitStack() as stack:
        extraction = stack.enter_context(Extraction(LIMITS))
        every: list[Door] = [*file_doors(extraction), *text_doors(stack)]
        named = options.door or [door.name for door in every if door.name not in NOT_BY_DEFAULT]
        if unknown := set(named) - {door.name for door in every}:
            sys.stderr.write(f"there is no door {min(unknown)}: there are {', '.join(door.name for door in every)}\n")
            return 2
        doors = [door for door in every if door.name in named]
        run = Run(options.seed, options.findings)
        limit_memory()
        if options.number is not None:
            tallies: Mapping[str, Tally] = {door.name: Tally() for door in doors}
            for door in doors:
                run.try_one(door, options.number, tallies[door.name])
        else:
            tallies = fuzz(run, doors, options.count)
    return _report(tallies)


def _report(tallies: Mapping[str, Tally]) -> int:
    for name, tally in tallies.items():
        print(f"{name}: {tally.done} inputs, {tally.done - tally.refused} taken, {tally.refused} refused")
        for kind, count in Counter(tally.findings).most_common():
            print(f"  {count} x {kind}")
    print(f"{sum(tally.done for tally in tallies.values())} inputs through {len(tallies)} doors")
    return int(any(tally.findings for tally in tallies.values()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=10_000, help="inputs, of all doors together (default: 10000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--door", action="append", help=f"again for more (default: all): {', '.join(FORMATS)}, …")
    parser.add_argument("--number", type=int, help="only this input")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="a folder for what was found")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
