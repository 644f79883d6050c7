"""What clients are told when something goes wrong: a status, and always the same shape. Never a stack trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException

from quoth.errors import (
    ClusterFault,
    CorpusError,
    IndexBusy,
    IndexFault,
    IndexMismatch,
    IndexUnwritable,
    KeyFault,
    MissingExtra,
    NoIndex,
    OffsetMismatch,
    ProviderFault,
    QuestionError,
    QuothError,
    SettingsError,
)
from quoth.interfaces.guard.words import client_words


class HttpFault(HTTPException):
    """An error with its status. It is one of the framework's own so that it comes through its body parsing."""

    def __init__(
        self, status: int, code: str, message: str, *, hint: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail=message, headers=dict(headers or {}))
        self.code = code
        self.hint = hint


def error_json(code: str, message: str, hint: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "hint": hint}}


GONE = 499
"""The client has closed the connection: nobody reads it, but the log and the metrics tell it from a failure."""


def gone() -> HttpFault:
    return HttpFault(GONE, "gone", "the client is gone", hint="")


def unforeseen(request_id: str | None) -> HttpFault:
    hint = f"Tell the operator of the service the request id {request_id}."
    return HttpFault(500, "internal", "something went wrong", hint=hint)


def busy(seconds: int) -> HttpFault:
    return HttpFault(
        503,
        "busy",
        "the service has more to do than it can",
        hint=f"Try again in {seconds} s.",
        headers={"Retry-After": str(seconds)},
    )


def too_slow(seconds: float) -> HttpFault:
    hint = "Ask something shorter or narrower, or raise service.seconds."
    return HttpFault(504, "timeout", f"it took longer than {seconds:g} s", hint=hint)


def no_document(doc_id: str) -> HttpFault:
    hint = "GET /documents lists the ids."
    return HttpFault(404, "no-document", f"the index holds no document '{doc_id[:200]}'", hint=hint)


_STATUS: tuple[tuple[type[QuothError], int], ...] = (  # the first that fits
    (QuestionError, 422),
    (CorpusError, 404),
    (NoIndex, 503),
    (IndexBusy, 503),
    (IndexUnwritable, 507),
    (IndexMismatch, 503),
    (IndexFault, 503),
    (ProviderFault, 502),
    (ClusterFault, 503),
    (KeyFault, 503),
    (MissingExtra, 501),
    (SettingsError, 500),
    (OffsetMismatch, 500),
)


def as_fault(error: QuothError) -> HttpFault:
    """An error of the program as one of HTTP. What concerns the operator alone is kept from clients."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    code, message, hint = client_words(error)
    return HttpFault(status, code, message, hint=hint, headers={"Retry-After": "5"} if status == 503 else {})
