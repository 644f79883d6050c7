"""The questions that `batch` and `cluster batch` are given: a file, or standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, TextIO

import typer

from quoth.errors import QuothError

QuestionsArgument = Annotated[str, typer.Argument(help="Text (one question a line) or JSONL; - for standard input.")]


def lines_of(source: str) -> TextIO:
    """Lines as UTF-8; a byte that is not is kept as a lone surrogate, so that only its own line suffers."""
    if source == "-":
        return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        return Path(source).open(encoding="utf-8", errors="surrogateescape", newline="\n")
    except OSError as error:
        raise QuothError(f"cannot read {source}: {error.strerror}", hint="Give a file with questions.") from error


def line_count(source: str) -> int:
    """How many questions a file holds, for the progress bar; 0 for a pipe, which cannot be read twice."""
    if not Path(source).is_file():
        return 0
    with lines_of(source) as lines:
        return sum(1 for line in lines if line.strip())


def check_output(path: Path, *, questions: str) -> None:
    """The questions are never overwritten by their answers."""
    if path.exists() and Path(questions).exists() and path.samefile(questions):
        raise QuothError(f"{path} holds the questions", hint="Choose another file with -o.")
