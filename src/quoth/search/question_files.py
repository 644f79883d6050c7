"""Read questions from a text file (one per line) or JSONL; an unreadable line does not stop the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quoth.errors import QuestionError
from quoth.types import NO_FILTERS, Filters, Question, checked_day, checked_language, checked_region, checked_years

_OWN_NAMES = frozenset(
    {"tags", "document_type", "is_binding", "doc_id", "as_of", "regions", "author", "year", "doi", "language"}
)


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    number: int
    why: str


def read_questions(lines: Iterable[str]) -> Iterator[Question | UnreadableLine]:
    """Yield the question or the error of each line that is not blank; JSONL when the first of them starts with `{`."""
    is_json: bool | None = None
    for number, raw in enumerate(lines, 1):
        line = raw.removeprefix("\ufeff").strip()
        if line:
            is_json = line.startswith("{") if is_json is None else is_json
            yield _from_json(number, line) if is_json else Question(str(number), line, NO_FILTERS)


def question_of(content: Mapping[str, Any], *, default_id: str) -> Question:
    """Read a question from a JSON object; raise `ValueError` with the reason when it is invalid."""
    text, given = content.get("question"), content.get("id")
    if not isinstance(text, str):
        raise ValueError('it has no "question" text')
    previous = _texts(content.get("previous"), "previous")
    return Question(default_id if given is None else str(given), text, _filters(content), previous)


def _from_json(number: int, line: str) -> Question | UnreadableLine:
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        return UnreadableLine(number, f"it is not JSON: {error.msg} at column {error.colno}")
    except RecursionError:
        return UnreadableLine(number, "it is nested too deeply")
    except ValueError:
        return UnreadableLine(number, "it holds a number that is too long")
    try:
        return question_of(content if isinstance(content, dict) else {}, default_id=str(number))
    except ValueError as error:
        return UnreadableLine(number, str(error))


def _filters(content: Mapping[str, Any]) -> Filters:
    given = content.get("filters") or {}
    if not isinstance(given, dict):
        raise ValueError('"filters" must be an object')
    tags = given.get("tags") or {}
    if not isinstance(tags, dict):
        raise ValueError('"filters.tags" must be an object')
    # Any other name is a facet of the profile: {"crop": "canola"} is short for {"tags": {"crop": "canola"}}.
    tags = tags | {key: value for key, value in given.items() if key not in _OWN_NAMES}
    binding = given.get("is_binding")
    if binding is not None and not isinstance(binding, bool):
        raise ValueError('"filters.is_binding" must be true or false')
    return Filters(
        doc_ids=_texts(content.get("doc_scope"), "doc_scope") + _texts(given.get("doc_id"), "filters.doc_id"),
        tags={facet: _texts(values, f"filters.{facet}") for facet, values in tags.items()},
        document_types=_texts(given.get("document_type"), "filters.document_type"),
        is_binding=binding,
        as_of=_checked("as_of", given.get("as_of"), checked_day),
        regions=_each(_texts(given.get("regions"), "filters.regions"), checked_region, "regions"),
        authors=_texts(given.get("author"), "filters.author"),
        years=_checked("year", given.get("year"), checked_years),
        dois=_texts(given.get("doi"), "filters.doi"),
        languages=_each(_texts(given.get("language"), "filters.language"), checked_language, "language"),
    )


def _checked(name: str, value: object, check: Callable[[object], str]) -> str | None:
    try:
        return None if value is None else check(value)
    except QuestionError as error:
        raise ValueError(f'"filters.{name}": {error}. {error.hint}') from error


def _each(values: tuple[str, ...], check: Callable[[str], str], name: str) -> tuple[str, ...]:
    try:
        return tuple(map(check, values))
    except QuestionError as error:
        raise ValueError(f'"filters.{name}": {error}. {error.hint}') from error


def _texts(value: object, name: str) -> tuple[str, ...]:
    values = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) for item in values):
        raise ValueError(f'"{name}" must be a text or a list of texts')
    return tuple(values)
