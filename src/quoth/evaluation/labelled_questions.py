"""Question sets with gold: what is asked, whether it can be answered, and which characters answer it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoth.errors import QuestionError
from quoth.questions import UnreadableLine, read_questions
from quoth.types import Question, Span
from quoth.verify import TextOf

MODES = ("any", "all")


@dataclass(frozen=True, slots=True)
class Gold:
    """A place that answers. `alternatives` are other places in the same document that say the same."""

    doc_id: str
    span: Span
    text: str
    alternatives: tuple[Span, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        return (self.span, *self.alternatives)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question with its label. Mode `any`: one gold is enough; `all`: recall counts each of them.

    An answerable question has gold, an unanswerable one has none.
    """

    question: Question
    answerable: bool
    gold: tuple[Gold, ...]
    gold_mode: str


def read_labelled(path: Path) -> tuple[Labelled, ...]:
    """The questions of a JSONL file in its order; `QuestionError` names the line that is wrong or repeats an id."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except OSError as error:
        raise QuestionError(f"cannot read {path}: {error.strerror}", hint="Give a JSONL file of questions.") from error
    except UnicodeDecodeError as error:
        raise QuestionError(f"{path} is not UTF-8: {error.reason}", hint="Save the file as UTF-8.") from error
    items: dict[str, Labelled] = {}
    for number, item in _items(path, lines):
        if item.question.id in items:
            raise _wrong(path, number, f"the id '{item.question.id}' is used before")
        items[item.question.id] = item
    if not items:
        raise QuestionError(f"{path} holds no question", hint=_FORMAT)
    return tuple(items.values())


_FORMAT = 'A line is {"id", "question", "answerable", "gold": [{"doc_id", "start", "end", "text"}], "gold_mode"}.'


def _items(path: Path, lines: list[str]) -> Iterator[tuple[int, Labelled]]:
    numbered = ((number, line.removeprefix("\ufeff").strip()) for number, line in enumerate(lines, 1))
    kept = ((number, line) for number, line in numbered if line)
    for (number, line), question in zip(kept, read_questions(lines), strict=True):
        if not line.startswith("{"):
            raise _wrong(path, number, "it is no JSON object, so it has no label")
        if isinstance(question, UnreadableLine):
            raise _wrong(path, number, question.why)
        try:
            item = labelled(question, json.loads(line))
        except ValueError as error:
            raise _wrong(path, number, str(error)) from error
        yield number, item


def _wrong(path: Path, number: int, why: str) -> QuestionError:
    return QuestionError(f"{path}, line {number}: {why}", hint=_FORMAT)


def labelled(question: Question, content: Mapping[str, Any]) -> Labelled:
    """The question with the label that an object holds; `ValueError` when it is incomplete or contradicts itself."""
    answerable = content.get("answerable")
    if not isinstance(answerable, bool):
        raise ValueError('"answerable" must be true or false')
    given = content.get("gold") or []
    if not isinstance(given, list):
        raise ValueError('"gold" must be a list')
    if answerable != bool(given):
        raise ValueError("it is answerable and has no gold" if answerable else "it is not answerable and has gold")
    mode = content.get("gold_mode") or MODES[0]
    if mode not in MODES:
        raise ValueError(f'"gold_mode" must be {" or ".join(MODES)}')
    return Labelled(question, answerable, tuple(map(_gold, given)), mode)


def gold_problems(items: Sequence[Labelled], text_of: TextOf) -> tuple[str, ...]:
    """What tells that the gold belongs to other documents than these; with such gold every figure is too low."""
    gold = sorted((one.doc_id, one.span, one.text) for item in items for one in item.gold)
    unknown = sorted({doc_id for doc_id, _, _ in gold if text_of(doc_id) is None})
    moved = [
        doc_id
        for doc_id, span, text in gold
        if (source := text_of(doc_id)) is not None and source[span.start : span.end] != text
    ]
    problems = []
    if unknown:
        problems.append(f"the index lacks {len(unknown)} documents that hold gold, such as {unknown[0]}")
    if moved:
        problems.append(f"{len(moved)} gold texts are not at their offsets in the index, such as one in {moved[0]}")
    return tuple(problems)


def _gold(content: object) -> Gold:
    if not isinstance(content, dict):
        raise ValueError('an entry of "gold" must be an object')
    doc_id, text = content.get("doc_id"), content.get("text")
    if not isinstance(doc_id, str) or not isinstance(text, str):
        raise ValueError('gold needs a "doc_id" and its "text"')
    others = content.get("alternatives") or []
    if not isinstance(others, list):
        raise ValueError('"alternatives" must be a list')
    return Gold(doc_id, _span(content), text, tuple(map(_span, others)))


def _span(content: object) -> Span:
    start, end = (content.get("start"), content.get("end")) if isinstance(content, dict) else (None, None)
    if type(start) is not int or type(end) is not int:  # a boolean is no offset
        raise ValueError('gold needs "start" and "end", whole numbers of code points')
    return Span(start, end)
