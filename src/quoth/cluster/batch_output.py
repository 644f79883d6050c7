"""The file of answers: what it holds already is compared with the questions, and what follows is put behind it.

A run that was killed leaves whole lines, and perhaps the beginning of one, which is cut off.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol

from quoth.cluster.batch_filters import ELSEWHERE, FiltersFile, digest_of
from quoth.errors import QuestionError, QuothError
from quoth.questions import UnreadableLine
from quoth.types import Question

_BEGINNING = b'{"question_id": '


@dataclass(frozen=True, slots=True)
class Origin:
    """What every answer carries: the digests of the index and of the settings that it was made with."""

    index: str
    settings: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file of answers held: so many answers, and what was wrong with the questions between them."""

    answers: int
    problems: tuple[str, ...]


class Output(Protocol):
    """Where answers go to, a chunk of whole lines at a time, each with its question."""

    def write(self, answered: Sequence[tuple[Question, str]]) -> None: ...


class StandardOutput:
    """That of when this was made."""

    def __init__(self) -> None:
        self._stream = sys.stdout

    def write(self, answered: Sequence[tuple[Question, str]]) -> None:
        self._stream.write("".join(line for _, line in answered))
        self._stream.flush()


class AnswerFile:
    """One run writes it at a time. Nothing in it is changed, and it is not made, before `write` or `finish`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._cut: int | None = None
        self._filters = FiltersFile(path)
        self._written = 0
        if not path.exists():
            _check_can_be_made(path)
        else:
            self._file = self._opened(os.O_RDWR)
            try:
                if path.is_file():
                    self._cut = _end_of_lines(self._file, path)
            except BaseException:
                self._file.close()
                raise

    def lines(self) -> Iterator[bytes]:
        """The whole lines that it holds."""
        if self._file is not None and self._cut:
            self._file.seek(0)
            self._written = 0
            while self._file.tell() < self._cut:
                line = self._file.readline()
                self._written += 1
                yield line

    def filters(self) -> Mapping[int, str]:
        """The digests of the filters that its answers were asked with, by line; see `digest_of`."""
        return self._filters.read()

    def write(self, answered: Sequence[tuple[Question, str]]) -> None:
        """`lines` was read to its end before."""
        file = self._ready()
        if self._regular:
            self._filters.add([question for question, _ in answered], behind=self._written)
        file.write("".join(line for _, line in answered).encode("utf-8"))
        file.flush()  # whoever looks at the file, or resumes, finds whole lines
        self._written += len(answered)

    def finish(self) -> None:
        """There is such a file, even if it is empty, and no torn line in it."""
        self._ready()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> AnswerFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self) -> BinaryIO:
        if self._file is None:
            self._file = self._opened(os.O_RDWR | os.O_CREAT | os.O_EXCL)
            self._filters.keep(0)
        if self._cut is not None:
            self._filters.keep(self._written)
            self._file.seek(self._cut)
            self._file.truncate()
            self._cut = None
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
        self._regular = stat.S_ISREG(os.fstat(descriptor).st_mode)  # and no pipe or device
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


def pass_over(
    asked: Iterator[Question | UnreadableLine],
    lines: Iterable[bytes],
    *,
    filters: Mapping[int, str],
    origin: Origin,
    check: Callable[[Question], None],
    place: str,
) -> Kept:
    """Take from `asked` what has its answer in these lines; the next one is the first that has none.

    `filters` are the digests of those that the lines were asked with. `check` raises `QuestionError` for a question
    that cannot be asked, and so has no line. `QuothError` where the lines are of other questions or filters, another
    index, or other settings.
    """
    answers, problems = 0, []
    for number, line in enumerate(lines, 1):
        answered = _read(line, number, origin=origin, place=place)
        for one in asked:
            if isinstance(one, UnreadableLine):
                problems.append(unreadable(one))
            elif (one.id, one.text, digest_of(one.filters)) == (*answered, filters.get(number, "")):
                answers += 1
                break
            else:
                try:
                    check(one)
                except QuestionError as error:
                    problems.append(unaskable(one, str(error)))
                else:
                    raise _other(one, answered, number, place)
        else:
            raise QuothError(
                f"{place} holds more answers than there are questions: line {number} is about question {answered[0]}",
                hint=ELSEWHERE,
            )
    return Kept(answers, tuple(problems))


def _other(asked: Question, answered: tuple[str, str], number: int, place: str) -> QuothError:
    if (asked.id, asked.text) == answered:
        return QuothError(
            f"line {number} of {place} answers question {asked.id} with other filters than it has now",
            hint=ELSEWHERE,
        )
    return QuothError(
        f"{place} does not hold the answers to these questions: line {number} is about question "
        f"{answered[0]}, and it should be about question {asked.id}",
        hint=ELSEWHERE,
    )


def unreadable(line: UnreadableLine) -> str:
    return f"line {line.number}: {line.why}"


def unaskable(question: Question, why: str) -> str:
    return f"question {question.id}: {why}"


def _read(line: bytes, number: int, *, origin: Origin, place: str) -> tuple[str, str]:
    """The id and the text of the question that a line answers."""
    try:
        content = json.loads(line)
        asked, notes = (content["question_id"], content["question"]), content["run_notes"]
        found = Origin(notes["index"], notes["settings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise QuothError(f"line {number} of {place} is no answer of Quoth's", hint=ELSEWHERE) from error
    if found.index != origin.index:
        raise QuothError(f"the answers in {place} are from another index, or from before it changed", hint=ELSEWHERE)
    if found.settings != origin.settings:
        raise QuothError(f"the answers in {place} were made with other settings", hint=ELSEWHERE)
    return asked


def _check_can_be_made(path: Path) -> None:
    """Before anything is begun for it."""
    why = None
    if path.is_symlink():
        why = "it is a link that leads nowhere"
    elif not path.parent.is_dir():
        why = f"there is no folder {path.parent}"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        why = "no right to write into its folder"
    if why is not None:
        raise QuothError(f"cannot write {path}: {why}", hint="Choose another file with -o.")


def _end_of_lines(file: BinaryIO, path: Path) -> int:
    """Where the last whole line ends. What is behind it is cut, so it must be the beginning of an answer."""
    end, rest = file.seek(0, os.SEEK_END), b""
    while end > 0 and b"\n" not in rest:
        start = max(0, end - 65_536)
        file.seek(start)
        rest, end = file.read(end - start) + rest, start
    torn = rest[rest.rfind(b"\n") + 1 :]
    if not (torn.startswith(_BEGINNING) or _BEGINNING.startswith(torn)):
        raise QuothError(f"{path} ends with something that is no answer of Quoth's", hint=ELSEWHERE)
    return end + len(rest) - len(torn)
