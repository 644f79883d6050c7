"""An inspection as JSON, and as a page: one HTML file that loads nothing else and runs no script.

The template `inspection.html` escapes all that it is given, and the policy of the page forbids everything but its own
style.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from typing import Any

from quoth.output.document_json_types import InspectedDocumentJson, ProblemJson
from quoth.output.json_types import to_json
from quoth.types import InspectedDocument, Inspection, Problem, ProblemKind, Refused, RegionKind, Severity

SEVERITIES = {
    Severity.MISSING: "Content is missing",
    Severity.DOUBTFUL: "Content looks wrong",
    Severity.NOTE: "Good to know",
}
_DECIMALS = 4


def problems_of(inspection: Inspection) -> list[tuple[str, Problem]]:
    """Return every problem with the document or file that it is about: the worst first, then by name."""
    found = [(refused.path, _refused_problem(refused)) for refused in inspection.refused]
    found += [(document.info.id, problem) for document in inspection.documents for problem in document.problems]
    return sorted(found, key=lambda pair: (pair[1].severity.rank, pair[0]))


def _refused_problem(refused: Refused) -> Problem:
    kept = "; the index keeps what it held of it before" if refused.kept else ""
    return Problem(ProblemKind.REFUSED, Severity.MISSING, (), f"refused: {refused.why}{kept}", refused.hint)


def page_ranges(pages: Sequence[int]) -> str:
    """Write page numbers, which are in order, for people: `page 4`, `pages 1-3, 7`; empty without any."""
    runs = [[page for _, page in run] for _, run in groupby(enumerate(pages), key=lambda pair: pair[1] - pair[0])]
    named = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{'page' if len(pages) == 1 else 'pages'} {named}" if named else ""


def left_out_words(left_out: Mapping[RegionKind, int]) -> str:
    """Write what is left out for people: `references 1,204 characters, page furniture 96`; empty without any."""
    most_first = sorted(left_out.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{kind.value.replace('_', ' ')} {count:,}" for kind, count in most_first)


def inspection_json(inspection: Inspection) -> Iterator[dict[str, Any]]:
    """Yield an object for each refused file, and for each document that has a problem; ordered by id."""
    documents = {document.info.id: document for document in inspection.documents}
    problems: dict[str, list[Problem]] = {}
    for doc_id, problem in problems_of(inspection):
        problems.setdefault(doc_id, []).append(problem)
    for doc_id in sorted(problems):
        yield to_json(_inspected_json(doc_id, documents.get(doc_id), problems[doc_id]))


def _inspected_json(
    doc_id: str, document: InspectedDocument | None, problems: Sequence[Problem]
) -> InspectedDocumentJson:
    listed = [ProblemJson.of(problem) for problem in problems]
    if document is None:
        figures: dict[str, Any] = dict.fromkeys(InspectedDocumentJson.__struct_fields__)
        return InspectedDocumentJson(**figures | {"doc_id": doc_id, "in_index": False, "problems": listed})
    share = document.evidence_share
    return InspectedDocumentJson.of(
        document,
        document.info,
        document.info.metadata,
        doc_id=doc_id,
        in_index=True,
        pages=document.info.pages or None,
        evidence_share=None if share is None else round(share, _DECIMALS),
        left_out={kind.value: count for kind, count in document.left_out.items()},
        problems=listed,
    )


def inspection_html(inspection: Inspection, *, title: str, run: Sequence[str]) -> str:
    """Return the page, problems first. `run` tells what the ingest before it did, a sentence each.

    The same values give the same bytes.
    """
    from jinja2 import Environment, StrictUndefined  # only a report needs it
    from markupsafe import Markup

    page, style = (files("quoth.output").joinpath(f"inspection.{kind}").read_text("utf-8") for kind in ("html", "css"))
    problems = problems_of(inspection)
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return template.from_string(page).render(
        title=title,
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=f"sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}",
        inspection=inspection,
        run=run,
        counted=[(SEVERITIES[level], sum(one.severity is level for _, one in problems)) for level in Severity],
        groups=[
            (level.value, SEVERITIES[level], [pair for pair in problems if pair[1].severity is level])
            for level in Severity
        ],
        page_ranges=page_ranges,
        left_out_words=left_out_words,
    )
