"""Structured logs: one JSON object per line on standard error."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request being served, in its worker threads too."""
CORPUS: ContextVar[str | None] = ContextVar("corpus", default=None)
"""The corpus that is asked, or that a job is of; None in a service of a single index."""

LOG = logging.getLogger("quoth.service")

_LINE_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}
"""Characters that JSON allows unescaped, but that some log readers take for the end of a line."""


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            "process": record.process,
        }
        if (request := REQUEST_ID.get()) is not None:
            line["request_id"] = request
        if (corpus := CORPUS.get()) is not None:
            line["corpus"] = corpus
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        text = json.dumps(line, ensure_ascii=False, default=str).translate(_LINE_BREAKS)
        return text.encode("utf-8", "backslashreplace").decode()


def set_up(level: int = logging.INFO) -> None:
    """Write every log of this process and its libraries through `JsonFormatter`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    LOG.setLevel(level)
    logging.getLogger("uvicorn").setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = name != "uvicorn.access"  # we log requests ourselves


def log(event: str, *, level: int = logging.INFO, **fields: object) -> None:
    LOG.log(level, event, extra={"fields": fields})
