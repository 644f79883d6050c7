"""Evaluations as JSON, and judgements read back from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quoth.errors import QuothError
from quoth.evaluation.bootstrap import LEVEL, RESAMPLES, SEED
from quoth.evaluation.evaluate import Evaluation, Figure
from quoth.evaluation.questions import Labelled, labelled
from quoth.evaluation.run import Exactness, Judged, Origin, Quoted
from quoth.evaluation.stages import Stages
from quoth.questions import UnreadableLine, read_questions
from quoth.types import Filters, Span

FORMAT = "quoth-evaluation-1"


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """The whole evaluation: what `--json` prints and `--save` writes."""
    items = [one.labelled for one in evaluation.judged]
    return {
        "format": FORMAT,
        "questions": len(items),
        "answerable": sum(item.answerable for item in items),
        "unanswerable": sum(not item.answerable for item in items),
        "without_result": sum(one.fault is not None for one in evaluation.judged),
        "made_by": [asdict(one) for one in origins(evaluation)],
        "bootstrap": {
            "resamples": RESAMPLES,
            "seed": SEED,
            "level": LEVEL,
            "grouped_by": evaluation.grouped_by,
            "groups": evaluation.groups,
        },
        "notes": list(evaluation.notes),
        "measures": {
            one.key: {"group": one.group, "title": one.title, "better": one.better or None, "counted": one.counted}
            | figure_json(one.figure)
            for one in evaluation.measures
        },
        "absent": dict(evaluation.absent),
        "risk_coverage": [{"coverage": one.coverage} | figure_json(one.risk) for one in evaluation.curve],
        "reliability": [
            {"from": one.low, "to": one.high, "count": one.count, "confidence": one.confidence} | figure_json(one.right)
            for one in evaluation.reliability
        ],
        "results": [judged_json(one) for one in evaluation.judged],
    }


def origins(evaluation: Evaluation) -> list[Origin]:
    """The different origins of the results; more than one means that the run mixes indexes or settings."""
    found = {one.origin for one in evaluation.judged if one.origin is not None}
    return sorted(found, key=lambda one: (one.profile, one.index, one.settings, one.calibrated))


def figure_json(figure: Figure) -> dict[str, float | None]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}


def judged_json(one: Judged) -> dict[str, Any]:
    """One question with its label and what came of it; enough to measure it again."""
    return {
        **_labelled_json(one.labelled),
        "abstained": one.abstained,
        "confidence": one.confidence,
        "right": one.right,
        "reason": one.reason,
        "detail": one.detail,
        "fault": one.fault,
        "quotes": [
            {"doc_id": quote.doc_id, "start": quote.span.start, "end": quote.span.end, "text": quote.text}
            | {"score": quote.score, "tags": dict(quote.tags)}
            for quote in one.quotes
        ],
        "exactness": asdict(one.exactness) if one.exactness else None,
        "redundancy": list(one.redundancy) if one.redundancy else None,
        "stages": asdict(one.stages) if one.stages else None,
        "origin": asdict(one.origin) if one.origin else None,
    }


def _labelled_json(item: Labelled) -> dict[str, Any]:
    """In the format of a question set."""
    return {
        "id": item.question.id,
        "question": item.question.text,
        "answerable": item.answerable,
        "gold": [
            {"doc_id": gold.doc_id, "start": gold.span.start, "end": gold.span.end, "text": gold.text}
            | {"alternatives": [{"start": span.start, "end": span.end} for span in gold.alternatives]}
            for gold in item.gold
        ],
        "gold_mode": item.gold_mode,
        "filters": _filters_json(item.question.filters),
    }


def _filters_json(filters: Filters) -> dict[str, Any]:
    return {
        "doc_id": list(filters.doc_ids),
        "tags": {facet: list(values) for facet, values in filters.tags.items()},
        "document_type": list(filters.document_types),
        "is_binding": filters.is_binding,
    }


def is_saved(path: Path) -> bool:
    """Whether a file begins as an evaluation does; a file that cannot be read does not."""
    try:
        with path.open("rb") as file:
            return file.read(200).lstrip().startswith(f'{{"format": "{FORMAT}"'.encode())
    except OSError:
        return False


def read_saved(path: Path) -> tuple[Judged, ...]:
    """The judgements of a file that `--save` or `--json` wrote."""
    try:
        content = json.loads(path.read_bytes())
        return tuple(_judged(one) for one in content["results"])
    except OSError as error:
        raise QuothError(f"cannot read {path}: {error.strerror}", hint=_HINT) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise QuothError(f"{path} is no complete evaluation ({why})", hint=_HINT) from error


_HINT = "Give a file that quoth eval wrote with --save or --json."


def _judged(content: Mapping[str, Any]) -> Judged:
    question = next(read_questions([json.dumps(content)]))
    if isinstance(question, UnreadableLine):
        raise TypeError(question.why)
    exactness, redundancy, stages, origin = (content[k] for k in ("exactness", "redundancy", "stages", "origin"))
    return Judged(
        labelled=labelled(question, content),
        abstained=content["abstained"],
        confidence=float(content["confidence"]),
        right=content["right"],
        quotes=tuple(
            Quoted(one["doc_id"], Span(one["start"], one["end"]), one["text"], one["score"], one["tags"])
            for one in content["quotes"]
        ),
        reason=content["reason"],
        detail=content["detail"],
        fault=content["fault"],
        exactness=Exactness(**exactness) if exactness else None,
        redundancy=(redundancy[0], redundancy[1]) if redundancy else None,
        stages=_stages(stages) if stages else None,
        origin=Origin(**origin) if origin else None,
    )


def _stages(content: Mapping[str, Any]) -> Stages:
    ranks = {name: tuple(found) for name, found in content["ranks"].items()}
    return Stages(ranks, content["boosted"], content["unboosted"], content["pairs_gained"])
