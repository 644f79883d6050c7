"""HTTP errors: a status and a body of one shape, never a stack trace, nor what concerns only the operator.

The MCP server uses them too, so that they need Starlette but not FastAPI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from quoth import errors
from quoth.errors import QuothError
from quoth.http.response_types import ErrorDetailJson, ErrorJson
from quoth.output.json_types import JsonObject, to_json
from quoth.output.render import json_line
from quoth.output.source_slices import DocumentChanged

CLIENT_GONE = 499
"""The status in the log and the metrics of a request whose client has closed the connection."""
_SEE_LOG = "See the log of the service for this request."


class HttpFault(HTTPException):
    """An error with its HTTP status. A subclass of the framework's own error, which its body parsing lets through."""

    def __init__(
        self, status: int, code: str, message: str, *, hint: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail=message, headers=dict(headers or {}))
        self.code = code
        self.error = ErrorDetailJson(code, message, hint)

    def json(self) -> dict[str, Any]:
        return to_json(ErrorJson(self.error))

    def response(self) -> Response:
        return json_response(self.json(), self.status_code, self.headers)


def json_response(
    value: Mapping[str, Any] | JsonObject, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(json_line(value), status, headers=headers, media_type="application/json")


def gone() -> HttpFault:
    return HttpFault(CLIENT_GONE, "gone", "the client is gone", hint="")


def unforeseen(request_id: str | None) -> HttpFault:
    hint = f"Tell the operator of the service the request id {request_id}."
    return HttpFault(500, "internal", "something went wrong", hint=hint)


def busy(seconds: int) -> HttpFault:
    message, hint = "the service has more to do than it can", f"Try again in {seconds} s."
    return HttpFault(503, "busy", message, hint=hint, headers={"Retry-After": str(seconds)})


def too_slow(seconds: float) -> HttpFault:
    hint = "Ask something shorter or narrower, or raise service.seconds."
    return HttpFault(504, "timeout", f"it took longer than {seconds:g} s", hint=hint)


def no_document(doc_id: str) -> HttpFault:
    hint = "GET /documents lists the ids."
    return HttpFault(404, "no-document", f"the index holds no document '{doc_id[:200]}'", hint=hint)


def invalid_body(errors: Sequence[Mapping[str, Any]], *, hint: str) -> HttpFault:
    """Say where a request is wrong without repeating its content, which may not even be text."""
    where = ".".join(str(name) for name in errors[0]["loc"] if name != "body")
    message = f"{where}: {errors[0]['msg']}" if where else str(errors[0]["msg"])
    return HttpFault(422, "body", message[:500], hint=hint)


def client_error(error: QuothError) -> ErrorDetailJson:
    """Return the text for clients on the network; messages about the index and settings would name local folders."""
    match error:
        case errors.QuestionError() | errors.CorpusError():
            return full_error(error)
        case errors.NoIndex():
            message, hint = "there is no index yet", "Upload a document, or ingest a folder."
        case errors.IndexBusy():
            message, hint = "the index is being written to by another process", "Try again in a while."
        case errors.ShardMissing():
            message, hint = f"{error.shard} of the index cannot be asked now", "Try again in a while."
        case errors.LabelsUnsupported():
            message, hint = (
                "this index cannot be limited to what you may see",
                "Ask for a key that sees every document.",
            )
        case errors.JobsUnavailable():
            message, hint = "the database of uploads cannot be used now", _SEE_LOG
        case errors.IndexFault():
            message, hint = "the index cannot be used now", _SEE_LOG
        case _:
            message, hint = "the service is not set up for this", _SEE_LOG
    return ErrorDetailJson(error.code, message, hint)


def full_error(error: QuothError) -> ErrorDetailJson:
    """Return the whole text, for the operator."""
    return ErrorDetailJson(error.code, str(error), error.hint)


_STATUS: tuple[tuple[type[QuothError], int], ...] = (  # the first match counts
    (DocumentChanged, 409),
    (errors.QuestionError, 422),
    (errors.CorpusError, 404),
    (errors.IndexUnwritable, 507),
    (errors.IndexFault, 503),
    (errors.ProviderFault, 502),
    (errors.ClusterFault, 503),
    (errors.KeyFault, 503),
    (errors.MissingExtra, 501),
)


def as_fault(error: QuothError) -> HttpFault:
    """Return the HTTP error for an error of Quoth, with the text that clients may see."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    text = client_error(error)
    headers = {"Retry-After": "5"} if status == 503 else {}
    return HttpFault(status, text.code, text.message, hint=text.hint, headers=headers)
