"""The filters that answers were asked with, in a file beside them.

A line of answers tells which question it answers, but not the filters that it was asked with. Where there are any, a
file beside it does:

    run.jsonl.filters   [line, digest of the filters], a line of JSON for each question that has some

It is written before the answers are, and stays: who changes a filter and goes on must not keep the old answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from quoth.errors import QuothError
from quoth.types import NO_FILTERS, Filters, Question

ELSEWHERE = "Choose another file with -o, or remove this one to answer all questions anew."


class FiltersFile:
    """The file beside the answers. Whoever writes that has the lock of the answers."""

    def __init__(self, answers: Path) -> None:
        self._path = answers.with_name(f"{answers.name}.filters")

    def read(self) -> dict[int, str]:
        """What is behind the last whole line was of answers that were never written."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unusable(str(error.strerror)) from error
        try:
            return {int(line): str(digest) for line, digest in map(json.loads, content.split(b"\n")[:-1])}
        except (ValueError, TypeError) as error:
            raise self._unusable("it is not what was written") from error

    def keep(self, lines: int) -> None:
        """Only what is told of so many answers."""
        told = self.read()
        kept = {line: digest for line, digest in told.items() if line <= lines}
        try:
            if not kept:
                self._path.unlink(missing_ok=True)
            else:
                aside = self._path.with_name(f"{self._path.name}.new")
                aside.write_bytes(_told(kept.items()))
                aside.replace(self._path)
        except OSError as error:
            raise self._unusable(str(error.strerror)) from error

    def add(self, questions: Iterable[Question], *, behind: int) -> None:
        told = [(number, digest_of(one.filters)) for number, one in enumerate(questions, behind + 1)]
        some = [(number, digest) for number, digest in told if digest]
        if not some:
            return
        try:
            with self._path.open("ab") as file:
                file.write(_told(some))
        except OSError as error:
            raise self._unusable(str(error.strerror)) from error

    def _unusable(self, why: str) -> QuothError:
        return QuothError(f"{self._path}, which belongs to the answers, cannot be used: {why}", hint=ELSEWHERE)


def _told(some: Iterable[tuple[int, str]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in some).encode()


def digest_of(filters: Filters) -> str:
    """What tells filters apart; empty where there are none."""
    if filters == NO_FILTERS:
        return ""
    return hashlib.sha256(json.dumps(asdict(filters), sort_keys=True).encode()).hexdigest()[:16]
