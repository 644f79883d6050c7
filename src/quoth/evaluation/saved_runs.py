"""Evaluations as JSON, and runs on disk: a saved evaluation, or the lines that `quoth batch` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from quoth.answer.verification import TextOf
from quoth.errors import QuothError
from quoth.evaluation.evaluate import LEVEL, RESAMPLES, SEED, Evaluation
from quoth.evaluation.judgements import Judgement, ResultOrigin, faulty, is_right, judge_result
from quoth.evaluation.labelled_questions import LabelledQuestion, labelled
from quoth.search.question_files import UnreadableLine, read_questions

FORMAT = "quoth-evaluation-1"
_RESULT: Mapping[str, Any] = {name: kind for name, kind in get_type_hints(Judgement).items() if name != "labelled"}
"""The types of the fields of a judgement, by name, without the question and its label."""


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the JSON object that `--json` prints and `--save` writes."""
    items = [judgement.labelled for judgement in evaluation.judged]
    return {
        "format": FORMAT,
        "questions": len(items),
        "answerable": sum(item.answerable for item in items),
        "unanswerable": sum(not item.answerable for item in items),
        "without_result": sum(judgement.fault is not None for judgement in evaluation.judged),
        "made_by": [asdict(origin) for origin in origins(evaluation)],
        "bootstrap": {
            "resamples": RESAMPLES,
            "seed": SEED,
            "level": LEVEL,
            "grouped_by": evaluation.grouped_by,
            "groups": evaluation.groups,
        },
        "notes": list(evaluation.notes),
        "measures": {
            metric.key: {
                "group": metric.group,
                "title": metric.title,
                "better": metric.better or None,
                "counted": metric.counted,
                **asdict(metric.figure),
            }
            for metric in evaluation.measures
        },
        "absent": dict(evaluation.absent),
        "risk_coverage": [{"coverage": coverage, **asdict(risk)} for coverage, risk in evaluation.curve],
        "reliability": [
            {
                "from": bin_.low,
                "to": bin_.high,
                "count": bin_.count,
                "confidence": bin_.confidence,
                **asdict(bin_.right),
            }
            for bin_ in evaluation.reliability
        ],
        "results": [judged_json(judgement) for judgement in evaluation.judged],
    }


def origins(evaluation: Evaluation) -> list[ResultOrigin]:
    """Return the distinct origins of the results; more than one means that the run mixes indexes or settings."""
    found = {judgement.origin for judgement in evaluation.judged if judgement.origin is not None}
    return sorted(found, key=lambda origin: (origin.profile, origin.index, origin.settings, origin.calibrated))


def judged_json(judgement: Judgement) -> dict[str, Any]:
    """Return a question with its label and result as JSON, complete enough to measure it again."""
    return {
        **_labelled_json(judgement.labelled),
        **{name: msgspec.to_builtins(getattr(judgement, name)) for name in _RESULT},
    }


def _labelled_json(item: LabelledQuestion) -> dict[str, Any]:
    """Return a question in the format of a question set."""
    filters = item.question.filters
    return {
        "id": item.question.id,
        "question": item.question.text,
        "answerable": item.answerable,
        "gold": [
            {
                "doc_id": gold.doc_id,
                **asdict(gold.span),
                "text": gold.text,
                "alternatives": list(map(asdict, gold.alternatives)),
            }
            for gold in item.gold
        ],
        "gold_mode": item.gold_mode,
        "filters": {
            "doc_id": list(filters.doc_ids),
            "tags": {facet: list(values) for facet, values in filters.tags.items()},
            "document_type": list(filters.document_types),
            "is_binding": filters.is_binding,
            "author": list(filters.authors),
            "year": filters.years,
            "doi": list(filters.dois),
            "language": list(filters.languages),
        },
    }


def is_saved(path: Path) -> bool:
    """Return whether a file begins like a saved evaluation; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(200).lstrip().startswith(f'{{"format": "{FORMAT}"'.encode())
    except OSError:
        return False


def read_saved(path: Path) -> tuple[Judgement, ...]:
    """Read the judgements from a file that `--save` or `--json` wrote."""
    try:
        content = json.loads(path.read_bytes())
        return tuple(_judged(result) for result in content["results"])
    except OSError as error:
        raise QuothError(f"cannot read {path}: {error.strerror}", hint=_HINT) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise QuothError(f"{path} is no complete evaluation ({why})", hint=_HINT) from error


_HINT = "Give a file that quoth eval wrote with --save or --json."


def _judged(content: Mapping[str, Any]) -> Judgement:
    question = next(read_questions([json.dumps(content)]))
    if isinstance(question, UnreadableLine):
        raise TypeError(question.why)
    return Judgement(
        labelled=labelled(question, content),
        **{name: msgspec.convert(content[name], kind) for name, kind in _RESULT.items()},
    )


MISSING = "the run has no result for this question"


def judge_run(
    path: Path, items: Sequence[LabelledQuestion], *, text_of: TextOf | None
) -> tuple[tuple[Judgement, ...], tuple[str, ...]]:
    """Judge each question by its result in a run; also return a message for each line that could not be used.

    A question without exactly one usable result is a fault. The order of the lines does not matter.
    """
    problems: list[str] = []
    results: Mapping[str, Sequence[Judgement | dict[str, Any]]]
    if is_saved(path):
        results = {judgement.labelled.question.id: [judgement] for judgement in read_saved(path)}
    else:
        results, problems = _read_lines(path)
    judged = tuple(_judge(item, results.get(item.question.id, ()), text_of=text_of) for item in items)
    if others := sorted(results.keys() - {item.question.id for item in items}):
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        problems.append(f"{', '.join(others[:5])}{more} in the run: no such question is in the set")
    return judged, tuple(problems)


def _judge(
    item: LabelledQuestion, results: Sequence[Judgement | dict[str, Any]], *, text_of: TextOf | None
) -> Judgement:
    """Judge a result by the current label. Saved stages are kept only where the gold has not changed."""
    if len(results) != 1:
        return faulty(item, f"the run has {len(results)} results for this question" if results else MISSING)
    result, text = results[0], item.question.text
    if text != (result.labelled.question.text if isinstance(result, Judgement) else result.get("question", text)):
        return faulty(item, "the result under this id is for another question")
    if isinstance(result, dict):
        return judge_result(item, result, text_of=text_of)
    stages = result.stages if result.labelled.gold == item.gold else None
    return replace(result, labelled=item, stages=stages, right=is_right(item, result.quotes))


def _read_lines(path: Path) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the results by question id, and a message for each line that is no result."""
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
