"""Receipts for tests, made from documents without asking a question."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from quoth.citations.verify_receipt import digest_of


def receipt_of(*quotes: dict[str, Any], question: str = "How deep?") -> dict[str, Any]:
    receipt: dict[str, Any] = {
        "receipt": 1,
        "question": {"id": "1", "text": question, "understood": None},
        "decision": {"outcome": "answer", "reason": None, "confidence": 0.9, "threshold": 0.5, "calibrated": False},
        "made": {"program": "quoth 0.1.0", "day": None, "index": "0", "settings": "0", "models": []},
        "searched": {"documents": 1, "sentences": 3, "filters": {}},
        "quotes": list(quotes),
    }
    return receipt | {"digest": digest_of(receipt)}


def quote_of(root: Path, doc_id: str, quote: str, *, text: str | None = None, section: list[str] | None = None) -> Any:  # noqa: ANN401
    """Return a quote of a file; `text` is its canonical text, where that is not the file's own."""
    data = (root / doc_id).read_bytes()
    text = data.decode() if text is None else text
    start = text.index(quote)
    end = start + len(quote)
    return {
        "kind": "answer",
        "score": 0.9,
        "why": None,
        "document": {
            "doc_id": doc_id,
            "title": None,
            "source_sha256": hashlib.sha256(data).hexdigest(),
            "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "format": "markdown",
            "extractor": "",
        },
        "start": start,
        "end": end,
        "quote": quote,
        "before": text[max(0, start - 32) : start],
        "after": text[end : end + 32],
        "section": section or [],
        "page": None,
        "boxes": [],
        "lead": None,
    }


def save(path: Path, *receipts: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(receipt, ensure_ascii=False)}\n" for receipt in receipts), encoding="utf-8")
    return path
