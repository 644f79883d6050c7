"""`tests/hostile/fuzz.py`: the same seed gives the same inputs, a run goes on where it was, and findings are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from fuzz import Run, fuzz, shares
from fuzz_door import TooSlow, Tried, inexact, limited

PROGRAM = Path(__file__).parents[1] / "hostile" / "fuzz.py"
DOORS = ("question-files", "receipts", "anchors", "corpus.yaml", "keys")


def run(folder: Path, *arguments: str, doors: Sequence[str] = DOORS) -> list[str]:
    named = [part for door in doors for part in ("--door", door)]
    ran = subprocess.run(
        [sys.executable, PROGRAM, "--findings", folder, *arguments, *named],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.splitlines()


def test_every_input_through_some_doors_is_taken_or_refused_and_a_run_goes_on(tmp_path: Path) -> None:
    first = run(tmp_path, "--count", "200", "--seed", "5")
    more = run(tmp_path, "--count", "300", "--seed", "5")

    assert first[-1] == "200 inputs through 5 doors"
    assert more[-1] == "300 inputs through 5 doors"
    notes = {path.stem: json.loads(path.read_bytes()) for path in (tmp_path / "seed-5").iterdir()}
    assert set(notes) == set(DOORS)
    assert all(note["findings"] == {} and note["done"] > 0 for note in notes.values())
    assert notes["corpus.yaml"]["refused"] > 0
    assert notes["receipts"]["refused"] < notes["receipts"]["done"]


class Numbers:
    """A door that refuses odd numbers, and breaks at a certain one."""

    share = 3

    def __init__(self, name: str, *, broken: int = -1) -> None:
        self.name = name
        self.seen: list[int] = []
        self._broken = broken

    def try_one(self, random: Random) -> Tried:
        self.seen.append(random.randrange(10**9))
        if len(self.seen) == self._broken:
            raise ZeroDivisionError("by 0")
        odd = self.seen[-1] % 2
        return Tried(b"%d" % self.seen[-1], taken=not odd)


def test_inputs_depend_on_seed_door_and_number_alone(tmp_path: Path) -> None:
    whole, parts, other = Numbers("a"), Numbers("a"), Numbers("a")

    fuzz(Run(1, tmp_path / "whole"), [whole], 70)
    for count in (30, 70):
        fuzz(Run(1, tmp_path / "parts"), [parts], count)
    fuzz(Run(2, tmp_path / "other"), [other], 70)

    assert len(whole.seen) == 70
    assert whole.seen == parts.seen
    assert not set(whole.seen) & set(other.seen)


def test_a_finding_is_kept_with_its_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tally,) = fuzz(Run(1, tmp_path), [Numbers("a", broken=4)], 9).values()

    assert (tally.done, tally.findings) == (9, {"raised ZeroDivisionError: by #": 1})
    assert (tmp_path / "findings.txt").read_text() == "a-1-3.a: raised ZeroDivisionError: by 0\n"
    assert "a-1-3.a" in capsys.readouterr().err


def test_shares_add_up_to_the_count() -> None:
    cheap, dear = Numbers("cheap"), Numbers("dear")
    cheap.share = 8
    assert shares(100, [dear, cheap]) == {"dear": 28, "cheap": 72}


def test_a_quote_that_is_not_in_its_document_is_found_wherever_it_stands() -> None:
    texts = {"a.md": "Sow canola."}
    right = {"doc_id": "a.md", "start": 4, "end": 10, "text": "canola"}
    assert list(inexact({"answers": [right, {**right, "lead": None}]}, texts)) == []
    assert list(inexact([{"nearest": [{**right, "end": 9}]}], texts)) == ["a.md:4-9 is quoted as 'canola'"]


def test_what_takes_too_long_is_stopped() -> None:
    with pytest.raises(TooSlow, match=r"more than 0\.05 seconds"), limited(0.05):
        while True:
            pass
