"""Figures from what a tool returned: is it really in the file, at the place it says, whole, and the right text?"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from quoth.evaluation.labelled_questions import LabelledQuestion
from quoth.evaluation.measures import auroc

Figures: TypeAlias = dict[str, float | None]
Place: TypeAlias = tuple[str, int, int]

_OPENING = "\"'([“‘«-*•#>|_`~ \t"
_CLOSING = "\"')]”’»*_`~"
_STOPS = ".!?…"


@dataclass(frozen=True, slots=True)
class Returned:
    """A text that a tool returned: its length, the place it is really at, and whether the claims about it hold."""

    length: int
    claimed: bool
    exact: bool
    place: Place | None
    whole: bool


def examine(text: Mapping[str, Any], documents: Mapping[str, str]) -> Returned:
    """Compare a returned text with the file it names.

    It is exact when the file has this very text at the place claimed. A text that claims no place, or a wrong one, is
    looked for in its document, white space alone left free, so that it is not counted as a miss for that.
    """
    said, source = text["text"], documents.get(text["document"] or "", "")
    claimed = text["start"] is not None and text["end"] is not None
    exact = claimed and _slice(source, text) == said
    place = None
    if said.strip():
        start, end = _code_points(source, text) if exact else _found(source, said)
        place = (text["document"], start, end) if end > start else None
    return Returned(len(said), claimed, exact, place, place is not None and is_whole(source, place[1], place[2]))


def _slice(source: str, text: Mapping[str, Any]) -> str:
    if text["unit"] == "byte":
        return source.encode()[text["start"] : text["end"]].decode(errors="replace")
    return source[text["start"] : text["end"]]


def _code_points(source: str, text: Mapping[str, Any]) -> tuple[int, int]:
    if text["unit"] == "codepoint":
        return text["start"], text["end"]
    start = len(source.encode()[: text["start"]].decode())
    return start, start + len(text["text"])


def _found(source: str, said: str) -> tuple[int, int]:
    start = source.find(said)
    if start >= 0:
        return start, start + len(said)
    match = _loose(said).search(source)
    return match.span() if match else (0, 0)


@cache
def _loose(said: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, said.split())))


def is_whole(source: str, start: int, end: int) -> bool:
    """Say whether a slice begins and ends where sentences do, by a rule that no tool here uses to split.

    A sentence begins after a full stop and white space, or on a line of its own unless it goes on in lower case,
    which only an item of a list may; it ends the same way. Marks of lists, tables, headings and quotation do not count.
    """
    while start < end and source[start] in f"{_OPENING}\r\n":
        start += 1
    while end > start and source[end - 1].isspace():
        end -= 1
    if start >= end:
        return False
    before = source[:start].rstrip(_OPENING)
    marked = any(mark in source[len(before) : start] for mark in "-*•>|")
    begins = not before.strip() or (
        (marked or not source[start].islower())
        and (before[-1] in "\r\n" or (before != source[:start] and before.rstrip(_CLOSING)[-1:] in _STOPS))
    )
    after = source[end:].lstrip("| \t")
    line_ends = not after or after[0] in "\r\n"
    goes_on = after.lstrip()[:1].islower() and not re.match(r"[ \t]*\r?\n[ \t]*\r?\n", source[end:])
    stopped = source[start:end].rstrip(_CLOSING)[-1:] in _STOPS and (line_ends or after != source[end:])
    return begins and not goes_on and (stopped or line_ends)


def quality(
    replies: Sequence[Mapping[str, Any]], items: Sequence[LabelledQuestion], documents: Mapping[str, str]
) -> Figures:
    """Return the figures of one set; None where a figure does not exist for this tool."""
    answers = [[examine(text, documents) for text in reply["texts"]] for reply in replies]
    nearest = [[examine(text, documents) for text in reply["nearest"]] for reply in replies]
    golds = [{(gold.doc_id, span.start, span.end) for gold in item.gold for span in gold.spans} for item in items]
    ranked = [answer or held for answer, held in zip(answers, nearest, strict=True)]
    hits = [[_overlaps(text, gold) for text in texts] for texts, gold in zip(ranked, golds, strict=True)]
    returned = [text for answer in answers for text in answer]
    answerable = [place for place, item in enumerate(items) if item.answerable]
    others = [place for place, item in enumerate(items) if not item.answerable]
    given = [place for place, answer in enumerate(answers) if answer]
    return {
        "claimed": share(returned, lambda text: text.claimed),
        "exact": share(returned, lambda text: text.exact),
        "found": share(returned, lambda text: text.place is not None),
        "whole": share(returned, lambda text: text.whole),
        "hit@1": share(answerable, lambda place: any(hits[place][:1])),
        "hit": share(answerable, lambda place: any(hits[place])),
        "answered": share(answerable, lambda place: bool(answers[place])),
        "false": share(others, lambda place: bool(answers[place])),
        "right": share(given, lambda place: any(hits[place][:1])),
        "auroc": _auroc([reply["score"] for reply in replies], [item.answerable for item in items]),
        "texts": statistics.mean(len(answers[place]) for place in given) if given else None,
        "characters": statistics.mean(text.length for text in returned) if returned else None,
    }


def _overlaps(text: Returned, gold: set[Place]) -> bool:
    if text.place is None:
        return False
    document, start, end = text.place
    return any(name == document and first < end and start < last for name, first, last in gold)


def share(values: Sequence[Any], holds: Callable[[Any], bool]) -> float | None:
    return sum(map(holds, values)) / len(values) if values else None


def _auroc(scores: Sequence[float | None], answerable: Sequence[bool]) -> float | None:
    if any(score is None for score in scores) or len(set(answerable)) < 2:
        return None
    numbers = np.array(scores, dtype=np.float64)
    return float(auroc(numbers, np.array(answerable), np.ones((1, len(numbers))))[0])


def percentile(values: Sequence[float], share_of: float) -> float:
    """Return the value below which this share lies; 0.5 is the median."""
    return float(np.quantile(np.array(values), share_of))
