"""Runs that are on disk: the lines of `quoth batch`, or an earlier evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quoth.errors import QuothError
from quoth.evaluation.questions import Labelled
from quoth.evaluation.run import Judged, faulty, is_right, judge_result
from quoth.evaluation.saved import is_saved, read_saved
from quoth.verify import TextOf

MISSING = "the run has no result for this question"


def judge_run(
    path: Path, items: Sequence[Labelled], *, text_of: TextOf | None
) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """Judge each question by its result in a run, and say which lines could not be used.

    A question without exactly one usable result is a fault. The order of the lines does not matter.
    """
    if is_saved(path):
        return _judge_saved(read_saved(path), items)
    results, problems = _read_lines(path)
    judged = []
    for item in items:
        own = results.pop(item.question.id, [])
        judged.append(_judge(item, own, text_of=text_of))
    if results:
        problems.append(f"{_some(results)} in the run: no such question is in the set")
    return tuple(judged), tuple(problems)


def _judge(item: Labelled, results: Sequence[dict[str, Any]], *, text_of: TextOf | None) -> Judged:
    if len(results) != 1:
        return faulty(item, f"the run has {len(results)} results for this question" if results else MISSING)
    if results[0].get("question", item.question.text) != item.question.text:
        return faulty(item, "the result under this id is for another question")
    return judge_result(item, results[0], text_of=text_of)


def _judge_saved(saved: Sequence[Judged], items: Sequence[Labelled]) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """With the labels of today. What the stages found is only known for the gold of then."""
    before = {one.labelled.question.id: one for one in saved}
    judged = []
    for item in items:
        one = before.pop(item.question.id, None)
        if one is None:
            judged.append(faulty(item, MISSING))
        elif one.labelled.question.text != item.question.text:
            judged.append(faulty(item, "the result under this id is for another question"))
        else:
            stages = one.stages if one.labelled.gold == item.gold else None
            judged.append(replace(one, labelled=item, stages=stages, right=is_right(item, one.quotes)))
    problems = (f"{_some(before)} in the run: no such question is in the set",) if before else ()
    return tuple(judged), problems


def _read_lines(path: Path) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """The results by question id, and what is wrong with the other lines."""
    try:
        lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except OSError as error:
        raise QuothError(
            f"cannot read {path}: {error.strerror}", hint="Give the file that quoth batch wrote."
        ) from error
    results: dict[str, list[dict[str, Any]]] = {}
    problems = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            result = json.loads(line)
        except (ValueError, RecursionError):
            result = None
        if isinstance(result, dict) and "question_id" in result:
            results.setdefault(str(result["question_id"]), []).append(result)
        else:
            problems.append(f"line {number} of the run is no result and was left out")
    if not results:
        raise QuothError(f"{path} holds no result", hint="Give the file that quoth batch or quoth eval --save wrote.")
    return results, problems


def _some(ids: Iterable[str]) -> str:
    """The first few names, in order."""
    ordered = sorted(ids)
    more = f" and {len(ordered) - 5} more" if len(ordered) > 5 else ""
    return ", ".join(ordered[:5]) + more
