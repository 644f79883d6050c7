"""Question sets with gold, and how far quotes overlap it. Spans are half-open, in code points of one document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from quoth.answer.verification import TextOf
from quoth.errors import QuestionError
from quoth.language.identification import language_of
from quoth.protocols import Progress
from quoth.search.language_pairs import ENGLISH
from quoth.search.question_files import UnreadableLine, read_questions
from quoth.types import Question, Span

if TYPE_CHECKING:
    from quoth.library import Quoth

MODES = ("any", "all")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Gold:
    """A span that answers a question. `alternatives` are spans of the same document that say the same."""

    doc_id: str
    span: Span
    text: str
    alternatives: tuple[Span, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        return (self.span, *self.alternatives)


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with its label. Mode `any`: one gold is enough; `all`: recall counts each of them.

    An answerable question has gold, an unanswerable one has none.
    """

    question: Question
    answerable: bool
    gold: tuple[Gold, ...]
    gold_mode: str


def read_labelled(path: Path) -> tuple[LabelledQuestion, ...]:
    """Read a JSONL file of labelled questions, in its order.

    Raise `QuestionError` with the number of a line that is invalid or repeats an id.
    """
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except OSError as error:
        raise QuestionError(f"cannot read {path}: {error.strerror}", hint="Give a JSONL file of questions.") from error
    except UnicodeDecodeError as error:
        raise QuestionError(f"{path} is not UTF-8: {error.reason}", hint="Save the file as UTF-8.") from error
    items: dict[str, LabelledQuestion] = {}
    for number, item in _items(path, lines):
        if item.question.id in items:
            raise _wrong(path, number, f"the id '{item.question.id}' is used before")
        items[item.question.id] = item
    if not items:
        raise QuestionError(f"{path} holds no question", hint=_FORMAT)
    return tuple(items.values())


_FORMAT = 'A line is {"id", "question", "answerable", "gold": [{"doc_id", "start", "end", "text"}], "gold_mode"}.'


def _items(path: Path, lines: list[str]) -> Iterator[tuple[int, LabelledQuestion]]:
    numbered = ((number, line.removeprefix("\ufeff").strip()) for number, line in enumerate(lines, 1))
    filled = ((number, line) for number, line in numbered if line)
    for (number, line), question in zip(filled, read_questions(lines), strict=True):
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


def labelled(question: Question, content: Mapping[str, Any]) -> LabelledQuestion:
    """Attach the label in `content` to the question; `ValueError` when it is incomplete or contradicts itself."""
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
    return LabelledQuestion(question, answerable, tuple(map(_gold, given)), mode)


def asked_language(items: Sequence[LabelledQuestion], quoth: Quoth) -> str | None:
    """Return the language of most questions where the engine judges it otherwise than English, else None."""
    languages = quoth.info.languages
    usual = next(iter(languages), ENGLISH)
    counts = Counter(language_of(item.question.text, languages) or usual for item in items)
    most = min(counts, key=lambda language: (-counts[language], language))
    return most if most != ENGLISH and quoth.engine().language_fits else None


def same_words(item: LabelledQuestion) -> str:
    """Return the text of a question, without regard to case and white space."""
    return " ".join(item.question.text.casefold().split())


def linked_groups(keys: Sequence[Sequence[str]]) -> list[str]:
    """Return a group for each item, given its keys: items that share one, directly or through others, are together."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            key = parent[key]
        return key

    for several in keys:
        for key in several:
            parent[root(key)] = root(several[0])
    return [root(several[0]) for several in keys]


def gold_problems(items: Sequence[LabelledQuestion], text_of: TextOf) -> tuple[str, ...]:
    """Return signs that the gold was labelled on other versions of the documents: then every figure is too low."""
    gold = sorted((gold.doc_id, gold.span, gold.text) for item in items for gold in item.gold)
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


def reporting(items: Sequence[_T], what: str, progress: Progress | None) -> Iterator[_T]:
    """Yield the items, and report each as done when the next is asked for."""
    for done, item in enumerate(items, 1):
        yield item
        if progress is not None:
            progress(what, done, len(items))


DocumentSpan: TypeAlias = tuple[str, Span]
"""A document id and a span of its text."""


def touches(place: DocumentSpan, gold: Gold) -> bool:
    """Return whether the span shares a character with the gold or one of its alternatives."""
    doc_id, span = place
    return doc_id == gold.doc_id and any(own.overlaps(span) for own in gold.spans)


def first_ranks(places: Sequence[DocumentSpan], gold: Sequence[Gold]) -> tuple[int | None, ...]:
    """Return for each gold the rank, from 1, of the first span that touches it; None when none does."""
    return tuple(next((rank for rank, place in enumerate(places, 1) if touches(place, own)), None) for own in gold)


def recall(ranks: Sequence[int | None], item: LabelledQuestion, *, at: int | None = None) -> float:
    """Return the share of gold within the first `at` ranks; in mode `any`, 1 if any gold is. 0 without gold."""
    found = [rank is not None and (at is None or rank <= at) for rank in ranks]
    if item.gold_mode == "any" or not found:
        return float(any(found))
    return sum(found) / len(found)


def character_scores(places: Sequence[DocumentSpan], item: LabelledQuestion) -> tuple[float, float, float]:
    """Return precision, recall and F1 in characters; all 0 when nothing is quoted or there is no gold.

    A character counts once however often it is quoted. Recall takes of each gold the alternative that is quoted best;
    with mode `any` it is the best of any gold, with `all` the share of all their characters.
    """
    quoted = _merged(places)
    golden = _merged((gold.doc_id, span) for gold in item.gold for span in gold.spans)
    if not quoted or not golden:
        return 0.0, 0.0, 0.0
    precision = _shared(quoted, golden) / sum(len(span) for _, span in quoted)
    covered = [max((_covered(gold.doc_id, span, quoted) for span in gold.spans), key=_share) for gold in item.gold]
    if item.gold_mode == "any":
        found = max(map(_share, covered))
    else:
        found = sum(shared for shared, _ in covered) / sum(length for _, length in covered)
    both = precision + found
    return precision, found, 2 * precision * found / both if both else 0.0


def _merged(places: Iterable[DocumentSpan]) -> list[DocumentSpan]:
    """Merge overlapping spans."""
    merged: list[DocumentSpan] = []
    for doc_id, span in sorted(places):
        if merged and merged[-1][0] == doc_id and span.start <= merged[-1][1].end:
            before = merged.pop()[1]
            merged.append((doc_id, Span(before.start, max(before.end, span.end))))
        else:
            merged.append((doc_id, span))
    return merged


def _shared(spans: Sequence[DocumentSpan], others: Sequence[DocumentSpan]) -> int:
    """Count the characters that two lists of disjoint spans share."""
    return sum(
        max(0, min(span.end, other.end) - max(span.start, other.start))
        for doc_id, span in spans
        for other_id, other in others
        if doc_id == other_id
    )


def _covered(doc_id: str, span: Span, quoted: Sequence[DocumentSpan]) -> tuple[int, int]:
    return _shared([(doc_id, span)], quoted), len(span)


def _share(covered: tuple[int, int]) -> float:
    return covered[0] / covered[1]
