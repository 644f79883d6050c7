"""The route that finds words: /find."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from quoth.http.answer_routes import Served, as_question, note_question, plain
from quoth.http.http_faults import json_response
from quoth.http.request_bodies import FindBody
from quoth.http.response_types import gives
from quoth.output.match_json import FoundJson, found_json

router = APIRouter(tags=["questions"])


@router.post("/find", summary="Find words", responses={200: gives(FoundJson, "Where they stand.")})
async def find(request: Request, body: FindBody, service: Served) -> Response:
    """Every place where the documents hold these words, with section, page and exact offsets, and counts for each
    document. By default they are a phrase of whole words, whatever their case. All of the text is searched: headings,
    tables, bibliographies and footers too."""
    filters = plain(body.filters) if body.filters else {}
    question = as_question({"question": body.pattern, "filters": filters, "doc_scope": body.doc_scope})
    note_question(request, service, question)

    def work() -> dict[str, Any]:
        result = service.seen(request).find(
            body.pattern,
            regex=body.regex,
            near=body.near,
            case=body.case,
            filters=question.filters,
            most=body.max_matches,
            seconds=service.settings.seconds,
        )
        return found_json(body.pattern, result)

    return json_response(await service.run(request, work))
