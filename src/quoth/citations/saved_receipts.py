"""Read saved receipts: files of one JSON object, or of one on each line. What is not as it was made is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoth.citations import verify_receipt
from quoth.citations.anchoring import QuotedPlace
from quoth.citations.verify_receipt import MOST_BYTES, Receipt, ReceiptFault
from quoth.errors import QuothError
from quoth.types import Span

ENDINGS = frozenset({".json", ".jsonl"})


@dataclass(frozen=True, slots=True)
class ReceiptQuote:
    """A quote of a receipt. `receipt` is the name of the receipt, `number` counts its quotes from 1."""

    receipt: str
    number: int
    question: str
    doc_id: str
    source_sha256: str
    text_sha256: str
    section: tuple[str, ...]
    place: QuotedPlace


@dataclass(frozen=True, slots=True)
class SavedReceipt:
    """A receipt; `name` is its file, with its number where the file holds several."""

    name: str
    quotes: tuple[ReceiptQuote, ...]


@dataclass(frozen=True, slots=True)
class RefusedReceipt:
    """A file, or one of several receipts in it, that cannot be trusted, and the reason."""

    name: str
    why: str


def read_receipts(path: Path) -> Iterator[SavedReceipt | RefusedReceipt]:
    """Yield the receipts of a file, or of the files below a folder that end in .json or .jsonl, in order.

    Raise `QuothError` when there is no such file or folder.
    """
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file())
        for file in files:
            yield from _of_file(file, name=file.relative_to(path).as_posix())
    elif path.exists():
        yield from _of_file(path, name=path.name)
    else:
        raise QuothError(f"there is no {path}", hint="Give a file of receipts, or a folder with such files.")


def _of_file(path: Path, *, name: str) -> Iterator[SavedReceipt | RefusedReceipt]:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        yield RefusedReceipt(name, f"it cannot be read: {error.strerror}")
    else:
        yield from _of_data(data, name=name)


def _of_data(data: bytes, *, name: str) -> Iterator[SavedReceipt | RefusedReceipt]:
    try:
        receipts = verify_receipt.read_receipts(data)
    except ReceiptFault as fault:
        yield RefusedReceipt(name, str(fault))
        return
    for number, receipt in enumerate(receipts, 1):
        yield saved(receipt, name=name if len(receipts) == 1 else f"{name}, receipt {number}")


def saved(receipt: Receipt | ReceiptFault, *, name: str) -> SavedReceipt | RefusedReceipt:
    """Return a receipt under a name with its quotes, or why there is none."""
    if isinstance(receipt, ReceiptFault):
        return RefusedReceipt(name, str(receipt))
    for number, quote in enumerate(receipt["quotes"], 1):
        if not quote["quote"].strip():
            return RefusedReceipt(name, f"quote {number} is blank")
    question: str = receipt["question"]["text"]
    quotes = (_quote(quote, name, number, question) for number, quote in enumerate(receipt["quotes"], 1))
    return SavedReceipt(name, tuple(quotes))


def _quote(quote: dict[str, Any], name: str, number: int, question: str) -> ReceiptQuote:
    cited = quote["document"]
    place = QuotedPlace(Span(quote["start"], quote["end"]), quote["quote"], quote["before"], quote["after"])
    hashes = cited["source_sha256"], cited["text_sha256"]
    return ReceiptQuote(name, number, question, cited["doc_id"], *hashes, tuple(quote["section"]), place)


@dataclass(frozen=True, slots=True)
class StaleReceipts:
    """The receipts of a folder that are stale, with the ids of what they quote that is changed or gone, in order.

    `total` is how many receipts it holds, and `refused` what in it cannot be read.
    """

    stale: Mapping[str, tuple[str, ...]]
    total: int
    refused: tuple[RefusedReceipt, ...]


def stale_receipts(
    watched: Path | Iterable[tuple[str, str]], texts: Mapping[str, str], *, touched: Collection[str] | None = None
) -> StaleReceipts:
    """Return the receipts that quote a text which is not in `texts`: hashes by document id.

    They are in a file, in a folder, or given as names and texts. With `touched`, only these documents count. Never
    raises for what is in them, nor when there is no such folder.
    """
    found: list[SavedReceipt | RefusedReceipt] = []
    try:
        if isinstance(watched, Path):
            found.extend(read_receipts(watched))
        else:
            found.extend(one for name, text in watched for one in _of_data(text.encode(), name=name))
    except (QuothError, OSError) as error:
        found.append(RefusedReceipt(str(watched), str(error)))
    receipts = [receipt for receipt in found if isinstance(receipt, SavedReceipt)]
    stale = {}
    for receipt in receipts:
        doc_ids = {quote.doc_id for quote in receipt.quotes if texts.get(quote.doc_id) != quote.text_sha256}
        if doc_ids := doc_ids if touched is None else doc_ids.intersection(touched):
            stale[receipt.name] = tuple(sorted(doc_ids))
    return StaleReceipts(stale, len(receipts), tuple(each for each in found if isinstance(each, RefusedReceipt)))
