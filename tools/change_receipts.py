"""Change every single character of receipts and of the texts that they quote, and count the changes that are not found.

    python tools/change_receipts.py RECEIPTS --root FOLDER [--most 1000]

Each character of a receipt as it is written, its digest and signature too, is replaced, left out, and doubled or
followed by another; so is each character of a document within a quote, its context and its lead. White space between
the parts of a JSON text is no part of a receipt: a change that leaves its content as it was is counted by itself.
The exit code is 1 when a change was not found.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from quoth.citations.receipts import in_folder
from quoth.citations.signatures import signature_checked
from quoth.citations.verify_receipt import Found, Receipt, ReceiptFault, check_quote, parse_receipt
from quoth.documents.worker.pool import Extraction
from quoth.settings import IngestSettings


def changes(text: str, at: int) -> Iterator[str]:
    """Yield a text with one character replaced by one of its kind, left out, and followed by the same."""
    there = text[at]
    other = "1" if there == "0" else "0" if there.isdigit() else "b" if there == "a" else "a"
    yield text[:at] + other + text[at + 1 :]
    yield text[:at] + text[at + 1 :]
    yield text[:at] + there + text[at:]


def accepted(line: str) -> Receipt | None:
    try:
        read = signature_checked(parse_receipt(line), None)
    except ReceiptFault:
        return None
    return None if isinstance(read, ReceiptFault) else read


def try_receipt(line: str) -> Counter[str]:
    """Count the changes of a receipt by what came of them."""
    known, said = json.loads(line), Counter[str]()
    for at in range(len(line)):
        for changed in changes(line, at):
            read = accepted(changed)
            said["found" if read is None else "same content" if read == known else "NOT FOUND"] += 1
    return said


def try_texts(receipt: Receipt, text_of: Callable[[dict[str, Any]], Found]) -> Counter[str]:
    """Count the changes of the documents of a receipt, where it quotes them, by what came of them."""
    said = Counter[str]()
    for quote in receipt["quotes"]:
        found, lead = text_of(quote["document"]), quote["lead"] or {"start": 0, "end": 0}
        around = range(quote["start"] - len(quote["before"]), quote["end"] + len(quote["after"]))
        for at in sorted({*around, *range(lead["start"], lead["end"])}):
            for changed in changes(found.text, at):
                check = check_quote(quote, lambda _, changed=changed: Found(changed, None))  # type: ignore[misc]
                said["NOT FOUND" if check.holds else "found"] += 1
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("receipts", type=Path, metavar="RECEIPTS", help="JSON Lines that hold for the documents")
    parser.add_argument("--root", type=Path, required=True, help="the folder of the documents that are quoted")
    parser.add_argument("--most", type=int, default=1000, help="try so many receipts")
    options = parser.parse_args()
    limits = IngestSettings(workers=1)
    of_receipts, of_texts, tried = Counter[str](), Counter[str](), 0
    with Extraction(limits) as extraction, options.receipts.open(encoding="utf-8") as lines:
        find = in_folder(options.root, extraction, most_mb=limits.max_file_mb)

        def text_of(document: dict[str, Any]) -> Found:
            if not isinstance(found := find(document), Found):
                sys.exit(f"{document['doc_id']}: {found}")
            return found

        for line in islice(map(str.strip, lines), options.most):
            if (receipt := accepted(line)) is None or not all(check_quote(it, find).holds for it in receipt["quotes"]):
                sys.exit(f"receipt {tried + 1} does not hold as it is")
            of_receipts += try_receipt(line)
            of_texts += try_texts(receipt, text_of)
            tried += 1
    for what, said in (("receipts", of_receipts), ("texts", of_texts)):
        counts = ", ".join(f"{said[name]:,} {name}" for name in ("found", "same content", "NOT FOUND"))
        print(f"{tried:,} receipts: {said.total():,} changes of the {what}, {counts}")
    return 1 if not tried or of_receipts["NOT FOUND"] or of_texts["NOT FOUND"] else 0


if __name__ == "__main__":
    sys.exit(main())
