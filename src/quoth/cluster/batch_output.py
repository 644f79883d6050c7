"""The options of a batch on a cluster, and its file of answers, which is compared with the questions and appended to.

A run that was killed leaves whole lines, and perhaps the beginning of a line, which the next run cuts off.

A line of answers names its question, but not the question's filters. If there are any, a file beside it does:

    run.jsonl.filters   [line, digest of the filters], a line of JSON for each question that has filters

It is written before the answers, and stays: a run that goes on with a changed filter must not keep the old answer.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Self

from quoth.errors import QuestionError, QuothError
from quoth.machine import replaced_file, usual_mode
from quoth.overrides import Overrides
from quoth.search.question_files import UnreadableLine
from quoth.types import NO_FILTERS, Filters, Question

_BEGINNING = b'{"question_id": '
_ELSEWHERE = "Choose another file with -o, or remove this one to answer all questions anew."


class Placement(StrEnum):
    """Where the index is opened: all of it in each process, or each shard in one process that the others call."""

    AUTO = "auto"
    WHOLE = "whole"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How to answer the questions. `workers` None: as many as the cluster has CPUs at the time.

    A chunk of questions whose process dies is answered again, at most `retries` times.
    """

    index: str
    overrides: Overrides
    address: str | None
    workers: int | None
    placement: Placement
    retries: int


@dataclass(frozen=True, slots=True)
class AnswerOrigin:
    """What every answer carries: the digests of the index and of the settings that it was made with."""

    index: str
    settings: str


@dataclass(frozen=True, slots=True)
class BatchReport:
    """`kept` answers were in the file before, `answered` were added; `problems` are in the order of the questions."""

    kept: int
    answered: int
    problems: tuple[str, ...]


class StandardOutput:
    """Standard output as it was when this was made: it may be redirected while the cluster works."""

    def __init__(self) -> None:
        self._stream = sys.stdout

    def write(self, answered: Sequence[tuple[Question, str]]) -> None:
        self._stream.write("".join(line for _, line in answered))
        self._stream.flush()


class FiltersFile:
    """The filters of the answers, in a file beside them. Only the run that has locked the answers writes it."""

    def __init__(self, answers: Path) -> None:
        self._path = answers.with_name(f"{answers.name}.filters")

    def read(self) -> dict[int, str]:
        """Return digests by line number. A torn last line belongs to answers that were never written."""
        with self._faults_named():
            content = self._path.read_bytes() if self._path.exists() else b""
            return {int(line): str(digest) for line, digest in map(json.loads, content.split(b"\n")[:-1])}

    def truncate(self, lines: int) -> None:
        """Keep the digests of the first `lines` answers; remove the file if there are none."""
        kept = [json.dumps(digest) + "\n" for digest in self.read().items() if digest[0] <= lines]
        with self._faults_named():
            if kept:
                with replaced_file(self._path) as file:
                    os.fchmod(file.fileno(), usual_mode())
                    file.write("".join(kept).encode())
            else:
                self._path.unlink(missing_ok=True)

    def append(self, questions: Iterable[Question], *, after: int) -> None:
        """Add the digests of questions whose answers follow the first `after` lines."""
        digests = ((number, digest_of(question.filters)) for number, question in enumerate(questions, after + 1))
        if lines := [json.dumps(digest) + "\n" for digest in digests if digest[1]]:
            with self._faults_named(), self._path.open("ab") as file:
                file.write("".join(lines).encode())

    @contextmanager
    def _faults_named(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not what was written"
            raise QuothError(
                f"{self._path}, which belongs to the answers, cannot be used: {why}", hint=_ELSEWHERE
            ) from error


def digest_of(filters: Filters) -> str:
    """Return a digest that tells filters apart; empty if there are none."""
    if filters == NO_FILTERS:
        return ""
    return hashlib.sha256(json.dumps(asdict(filters), sort_keys=True).encode()).hexdigest()[:16]


class AnswerFile:
    """A file of answers, locked against other runs. It is not made or changed before `write` or `finish`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.filters = FiltersFile(path)
        self._written = 0
        """How many answers it holds; they end at the byte `_end`."""
        self._end = 0
        self._ready = False
        self._file: BinaryIO | None = None
        if path.exists():
            self._file = self._opened(os.O_RDWR)
        else:
            _check_can_be_made(path)

    def lines(self) -> Iterator[bytes]:
        """Yield the whole lines that the file holds; raise `QuothError` if more follows than the start of an answer."""
        if self._file is None or not self._regular:
            return
        for line in self._file:
            if not line.endswith(b"\n"):
                if not (line.startswith(_BEGINNING) or _BEGINNING.startswith(line)):
                    raise QuothError(f"{self.path} ends with something that is no answer of Quoth's", hint=_ELSEWHERE)
                return
            self._written += 1
            self._end += len(line)
            yield line

    def write(self, answered: Sequence[tuple[Question, str]]) -> None:
        """Append answers. The caller must have read `lines` to its end first."""
        file = self._prepared()
        if self._regular:
            self.filters.append([question for question, _ in answered], after=self._written)
        file.write("".join(line for _, line in answered).encode("utf-8"))
        file.flush()  # anyone who looks at the file, or resumes, finds whole lines
        self._written += len(answered)

    def finish(self) -> None:
        """Make the file if there is none, and cut off a torn line."""
        self._prepared()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def _prepared(self) -> BinaryIO:
        """Return the file, open behind its last whole line."""
        if self._file is None:
            self._file = self._opened(os.O_RDWR | os.O_CREAT | os.O_EXCL)
        if self._regular and not self._ready:
            self.filters.truncate(self._written)
            self._file.seek(self._end)
            self._file.truncate()
        self._ready = True
        return self._file

    def _opened(self, flags: int) -> BinaryIO:
        try:
            descriptor = os.open(self.path, flags | os.O_CLOEXEC, 0o666)
        except FileExistsError as error:
            raise self._busy() from error
        except OSError as error:
            raise QuothError(
                f"cannot write {self.path}: {error.strerror}", hint="Choose another file with -o."
            ) from error
        self._regular = stat.S_ISREG(os.fstat(descriptor).st_mode)  # not a pipe or device
        file: BinaryIO = os.fdopen(descriptor, "r+b" if self._regular else "wb")
        try:
            if self._regular:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise self._busy() from error
        return file

    def _busy(self) -> QuothError:
        return QuothError(f"another run is writing {self.path}", hint="Wait for it, or choose another file with -o.")


def skip_answered(
    questions: Iterator[Question | UnreadableLine],
    file: AnswerFile,
    *,
    origin: AnswerOrigin,
    check: Callable[[Question], None],
) -> BatchReport:
    """Consume the `questions` that the lines of `file` answer; the next question is the first without an answer.

    `check` raises `QuestionError` for a question that cannot be asked, and so has no line. Raises `QuothError` when the
    lines answer other questions or filters, or come from another index or other settings.
    """
    answers, problems = 0, []
    filters, place = file.filters.read(), str(file.path)
    for number, line in enumerate(file.lines(), 1):
        answered = _parse_line(line, number, origin=origin, place=place)
        for question in questions:
            if isinstance(question, UnreadableLine):
                problems.append(f"line {question.number}: {question.why}")
            elif (question.id, question.text, digest_of(question.filters)) == (*answered, filters.get(number, "")):
                answers += 1
                break
            else:
                try:
                    check(question)
                except QuestionError as error:
                    problems.append(f"question {question.id}: {error}")
                else:
                    raise _mismatch(question, answered, number, place)
        else:
            raise QuothError(
                f"{place} holds more answers than there are questions: line {number} is about question {answered[0]}",
                hint=_ELSEWHERE,
            )
    return BatchReport(answers, 0, tuple(problems))


def _mismatch(question: Question, answered: tuple[str, str], number: int, place: str) -> QuothError:
    why = (
        f"{place} does not hold the answers to these questions: line {number} is about question "
        f"{answered[0]}, and it should be about question {question.id}"
    )
    if (question.id, question.text) == answered:
        why = f"line {number} of {place} answers question {question.id} with other filters than it has now"
    return QuothError(why, hint=_ELSEWHERE)


def _parse_line(line: bytes, number: int, *, origin: AnswerOrigin, place: str) -> tuple[str, str]:
    """Return the id and the text of the question that a line answers."""
    try:
        content = json.loads(line)
        question, notes = (content["question_id"], content["question"]), content["run_notes"]
        index, settings = notes["index"], notes["settings"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise QuothError(f"line {number} of {place} is no answer of Quoth's", hint=_ELSEWHERE) from error
    if index != origin.index:
        raise QuothError(f"the answers in {place} are from another index, or from before it changed", hint=_ELSEWHERE)
    if settings != origin.settings:
        raise QuothError(f"the answers in {place} were made with other settings", hint=_ELSEWHERE)
    return question


def _check_can_be_made(path: Path) -> None:
    """Raise `QuothError` before any work is done for a file that cannot be made."""
    why = None
    if path.is_symlink():
        why = "it is a link that leads nowhere"
    elif not path.parent.is_dir():
        why = f"there is no folder {path.parent}"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        why = "no right to write into its folder"
    if why is not None:
        raise QuothError(f"cannot write {path}: {why}", hint="Choose another file with -o.")
