"""Check receipts of Quoth against the text of a document. This file needs Python 3.11 and nothing else.

    python verify_receipt.py RECEIPT --text FILE      FILE is the canonical text of a document, as UTF-8
    python verify_receipt.py RECEIPT --source FILE    FILE is the file that was indexed: plain text, Markdown, ...

RECEIPT is one receipt as JSON, or several as JSON Lines. Each quote gets a line: `ok`, `unchecked` or `FAILED`. Exit
codes: 0 all that was checked holds, 1 something does not, 2 wrong usage. It checks no signatures and reads no PDF or
Word files: `quoth verify-receipt` does. The format is described in docs/receipts.md of Quoth.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Receipt: TypeAlias = dict[str, Any]

VERSION = 1
AROUND = 32
"""Code points of context that a receipt keeps on each side of a quote."""
MOST_BYTES = 50 * 2**20
DECODED = frozenset({"markdown", "text", "rst", "asciidoc", "latex"})
"""Formats whose canonical text is the file as decoded."""


class ReceiptFault(Exception):
    """A receipt, or the file it is compared with, cannot be accepted; the message is a sentence for people."""


def canonical(receipt: Receipt) -> bytes:
    """Return the bytes that the digest is made of. Raise `ReceiptFault` for what no receipt can hold."""
    content = {name: value for name, value in receipt.items() if name not in {"digest", "signature"}}
    try:
        line = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return line.encode("utf-8")
    except ValueError as error:  # that of the encoder is one
        raise ReceiptFault("it holds a lone surrogate, or a number that is not finite") from error


def digest_of(receipt: Receipt) -> str:
    return f"sha256:{hashlib.sha256(canonical(receipt)).hexdigest()}"


_LEAVES: dict[str, tuple[set[type], str | None]] = {
    "text": ({str}, None),
    "number": ({int, float}, None),
    "count": ({int}, "[0-9]+"),
    "boolean": ({bool}, None),
    "object": ({dict}, None),
    "sha256": ({str}, "[0-9a-f]{64}"),
    "digest": ({str}, "sha256:[0-9a-f]{64}"),
    "day": ({str}, "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "kind": ({str}, "answer|context|nearest"),
    "outcome": ({str}, "answer|may_be_relevant|nothing"),
    "algorithm": ({str}, "ed25519"),
}
"""What a value without parts must be: its type, and what it is written like."""
_OBJECTS = {
    "receipt": "receipt:count question:question decision:decision made:made searched:searched quotes:[quote] "
    "digest:digest signature:~signature",
    "question": "id:text text:text understood:text?",
    "decision": "outcome:outcome reason:reason? confidence:number threshold:number calibrated:boolean",
    "reason": "code:text detail:text",
    "made": "program:text day:day? index:text settings:text models:[text]",
    "searched": "documents:count sentences:count filters:object degraded:~[text]",
    "quote": "kind:kind score:number why:text? document:document start:count end:count quote:text before:text "
    "after:text section:[text] page:count? boxes:[box] lead:lead?",
    "document": "doc_id:text title:text? source_sha256:sha256 text_sha256:sha256 format:text extractor:text",
    "box": "page:count left:number bottom:number right:number top:number",
    "lead": "start:count end:count quote:text",
    "signature": "algorithm:algorithm public_key:text value:text",
}
"""The kind of each field: `kind?` may be null, `~kind` may be left out, `[kind]` is a list."""
_FIELDS = {name: dict(field.split(":") for field in fields.split()) for name, fields in _OBJECTS.items()}


def _check_form(value: Any, kind: str, where: str) -> None:  # noqa: ANN401 - any JSON
    """Raise `ReceiptFault` unless a value and all that it holds are of their kinds."""
    if value is None and kind.endswith("?"):
        return
    kind = kind.rstrip("?")
    fields = _FIELDS.get(kind, {})
    named = kind if kind in _LEAVES else "object" if fields else "list"
    types, pattern = _LEAVES.get(kind, ({dict} if fields else {list}, None))
    if type(value) not in types or (pattern and not re.fullmatch(pattern, str(value))):
        raise ReceiptFault(f"{where} is no {named}: {_shown(value)}")
    for name in sorted(value.keys() | fields.keys()) if fields else ():
        inner = fields.get(name, "")
        if not inner or (name not in value and not inner.startswith("~")):
            raise ReceiptFault(f"{where} has {'no' if inner else 'an unknown'} field {_shown(name)}")
        if name in value:
            _check_form(value[name], inner.lstrip("~"), f"{where}.{name}")
    for at, item in enumerate(value if named == "list" else ()):
        _check_form(item, kind[1:-1], f"{where}[{at}]")


def check_receipt(receipt: Any) -> Receipt:  # noqa: ANN401 - any JSON
    """Return a receipt whose fields, offsets and digest fit together. Raise `ReceiptFault` for any other value."""
    if type(version := receipt.get("receipt") if type(receipt) is dict else None) is not int or version != VERSION:
        raise ReceiptFault(f"it is no receipt of version {VERSION}" + (f" but {_shown(version)}" if version else ""))
    _check_form(receipt, "receipt", "the receipt")
    if digest_of(receipt) != receipt["digest"]:
        raise ReceiptFault("its digest does not fit: the receipt was changed after it was made")
    for quote in receipt["quotes"]:
        around = len(quote["before"]) == min(AROUND, quote["start"]) and len(quote["after"]) <= AROUND
        if not (around and all(0 < it["end"] - it["start"] == len(it["quote"]) for it in (quote, quote["lead"]) if it)):
            raise ReceiptFault(f"offsets {quote['start']} and {quote['end']} do not fit their quote, context or lead")
    return dict(receipt)


def parse_receipt(text: str) -> Receipt:
    """Return a checked receipt. Raise `ReceiptFault` when the text is none, or writes one in another way."""
    try:
        hooks = {"parse_float": _number, "parse_int": _number, "parse_constant": _number}
        return check_receipt(json.loads(text, object_pairs_hook=_unique, **hooks))  # type: ignore[arg-type]
    except RecursionError as error:
        raise ReceiptFault("it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ReceiptFault(f"it is not JSON: {error.msg}, line {error.lineno}, column {error.colno}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise ReceiptFault(f"it has the field {_shown(name)} twice")
        content[name] = value
    return content


def _number(text: str) -> float:
    """Return a number that is written as a receipt does: no exponent, no zero at the end, at most 15 digits before."""
    value = int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else float(text)
    if str(value) != text or "e" in text or text.endswith(".0"):
        raise ReceiptFault(f"the number {_shown(text)} is not written as in a receipt")
    return value


def read_receipts(data: bytes) -> list[Receipt | ReceiptFault]:
    """Return the receipts of a file, JSON or JSON Lines; for one that cannot be accepted, why. Raise it for a file."""
    if len(data) > MOST_BYTES:
        raise ReceiptFault(f"the file of receipts has more than {MOST_BYTES >> 20} MB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReceiptFault(f"the file of receipts is not UTF-8: see byte {error.start}") from error
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    receipts: list[Receipt | ReceiptFault] = []
    for line in lines if len(lines) > 1 and re.fullmatch(r"\{.*\}", lines[0]) else [text]:
        try:
            receipts.append(parse_receipt(line))
        except ReceiptFault as fault:
            receipts.append(fault)
    return receipts


class Found(NamedTuple):
    """The canonical text of a document; `source_sha256` is that of its file, None when the file is not at hand."""

    text: str
    source_sha256: str | None


Find: TypeAlias = Callable[[dict[str, Any]], Found | ReceiptFault | str]
"""Return the `document` of a quote, the fault that it cannot be found, or in words why it is left unchecked."""


class QuoteCheck(NamedTuple):
    """`holds` is None for a quote that was not checked; `why` is empty when it holds."""

    doc_id: str
    start: int
    end: int
    holds: bool | None
    why: str


def check_quote(quote: dict[str, Any], find: Find) -> QuoteCheck:
    """Compare a quote, what stands around it, its lead and the hashes with the document."""
    cited = quote["document"]
    place, found = (cited["doc_id"], quote["start"], quote["end"]), find(cited)
    if not isinstance(found, Found):
        return QuoteCheck(*place, None if isinstance(found, str) else False, str(found))
    same_file = found.source_sha256 in {None, cited["source_sha256"]}
    why = mismatch(quote, found.text)
    if not why and not (same_file and _sha256(found.text) == cited["text_sha256"]):
        why = f"it stands there, but the {'text' if same_file else 'file'} is another one: its SHA-256 differs"
    return QuoteCheck(*place, not why, why)


@lru_cache(maxsize=4)
def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def mismatch(quote: dict[str, Any], text: str) -> str:
    """Return how a quote, its context or its lead differs from the canonical text; empty when it stands there."""
    start, end, lead = quote["start"], quote["end"], quote["lead"] or {"start": 0, "end": 0, "quote": ""}
    if max(end, lead["end"]) > len(text):
        return f"it lies outside of the text, which has {len(text)} characters"
    for what, recorded, actual in (
        ("quote", quote["quote"], text[start:end]),
        ("text before", quote["before"], text[max(0, start - AROUND) : start]),
        ("text after", quote["after"], text[end : end + AROUND]),
        ("lead", lead["quote"], text[lead["start"] : lead["end"]]),
    ):
        if recorded != actual:
            return f"its {what} is {_shown(recorded)}, and the document says {_shown(actual)}"
    return ""


def _shown(value: object) -> str:
    """Return a value on one line, in short, and without anything that a terminal would obey."""
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def report(receipts: Sequence[Receipt | ReceiptFault], find: Find) -> tuple[list[str], bool]:
    """Return a line for each receipt and quote, and whether at least one quote was checked, if any, and all hold."""
    words, lines, held = {True: "ok", False: "FAILED", None: "unchecked"}, [], []
    for number, receipt in enumerate(receipts, 1):
        if isinstance(receipt, ReceiptFault):
            lines.append(f"receipt {number}: FAILED: {receipt}")
            continue
        lines.append(f"receipt {number}, {_shown(receipt['question']['text'])}: digest ok")
        for check in (check_quote(quote, find) for quote in receipt["quotes"]):
            place = f"{_shown(check.doc_id)[1:-1]}[{check.start}:{check.end}]"
            lines.append(f"  {words[check.holds]:<9} {place}{check.why and ': '}{check.why}")
            held.append(check.holds)
    lines.append(", ".join(f"{held.count(key)} {word}" for key, word in words.items()) + f" of {len(held)} quotes")
    faults = any(isinstance(receipt, ReceiptFault) for receipt in receipts)
    return lines, not faults and False not in held and (not held or True in held)


def one_file(
    receipts: Sequence[Receipt | ReceiptFault], file: Found, *, doc_id: str | None, formats: Collection[str] | None
) -> Find:
    """Compare `file` with the quotes that have its hash, or else are of `doc_id` or the only document there is.

    Only quotes of `formats` are compared; None: of any. Raise `ReceiptFault` when the file is none of the documents.
    """
    cited = [quote["document"] for receipt in receipts if isinstance(receipt, dict) for quote in receipt["quotes"]]
    names = {document["doc_id"] for document in cited}
    sha256 = _sha256(file.text) if file.source_sha256 is None else file.source_sha256
    field, value = "text_sha256" if file.source_sha256 is None else "source_sha256", sha256
    if doc_id is not None or all(document[field] != sha256 for document in cited):
        field, value = "doc_id", next(iter(names), "") if doc_id is None else doc_id
        if names and (value not in names or (doc_id is None and len(names) > 1)):
            raise ReceiptFault(f"the file is none of the {len(names)} documents quoted, by its SHA-256 or --doc")

    def find(document: dict[str, Any]) -> Found | ReceiptFault | str:
        if document[field] != value:
            return "it is of another document"
        unread = formats is not None and document["format"] not in formats
        return f"its text was extracted from {_shown(document['format'])}: use quoth verify-receipt" if unread else file

    return find


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check receipts of Quoth. Signatures: see `quoth verify-receipt`.")
    parser.add_argument("receipt", metavar="RECEIPT", help="a receipt as JSON, or several as JSON Lines")
    against = parser.add_mutually_exclusive_group(required=True)
    against.add_argument("--text", metavar="FILE", help="the canonical text of a document, as UTF-8")
    against.add_argument("--source", metavar="FILE", help="the file that was indexed: plain text or Markdown, as UTF-8")
    parser.add_argument("--doc", metavar="ID", help="check the quotes of this document, whatever the file's hash")
    given = parser.parse_args(arguments)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with Path(given.receipt).open("rb") as file:
            receipts = read_receipts(file.read(MOST_BYTES + 1))
        data = Path(given.text or given.source).read_bytes()  # what of it is not UTF-8 fits no receipt
        found = Found(data.decode("utf-8", "surrogateescape"), None if given.text else hashlib.sha256(data).hexdigest())
        find = one_file(receipts, found, doc_id=given.doc, formats=None if given.text else DECODED)
        lines, holds = report(receipts, find)
        if any("signature" in receipt for receipt in receipts if isinstance(receipt, dict)):
            lines.append("signatures were not checked: quoth verify-receipt does that")
    except OSError as error:
        parser.error(f"cannot read {_shown(error.filename)}: {error.strerror}")
    except ReceiptFault as fault:
        lines, holds = [f"FAILED: {fault}"], False
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
