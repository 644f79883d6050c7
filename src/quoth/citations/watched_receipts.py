"""Tell which saved receipts quote documents that have changed since."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from quoth.citations.saved_receipts import RefusedReceipt, SavedReceipt, read_receipts
from quoth.errors import QuothError


@dataclass(frozen=True, slots=True)
class StaleReceipt:
    """A receipt, and the documents it quotes whose text has changed or which are gone, ordered by id."""

    name: str
    doc_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StaleReceipts:
    """The stale receipts of a folder, in order, how many it holds, and what in it cannot be read."""

    receipts: tuple[StaleReceipt, ...]
    total: int
    refused: tuple[RefusedReceipt, ...]


def stale_receipts(watched: Path, texts: Mapping[str, str], *, touched: Collection[str] | None = None) -> StaleReceipts:
    """Return the receipts in a file or folder that quote a text which is not in `texts`: hashes by document id.

    With `touched`, only these documents count. Never raises for what the folder holds, nor when there is none.
    """
    stale: list[StaleReceipt] = []
    refused: list[RefusedReceipt] = []
    total = 0
    try:
        for found in read_receipts(watched):
            match found:
                case RefusedReceipt():
                    refused.append(found)
                case SavedReceipt(name=name, quotes=quotes):
                    total += 1
                    doc_ids = {quote.doc_id for quote in quotes if texts.get(quote.doc_id) != quote.text_sha256}
                    if doc_ids := doc_ids if touched is None else doc_ids.intersection(touched):
                        stale.append(StaleReceipt(name, tuple(sorted(doc_ids))))
    except (QuothError, OSError) as error:
        refused.append(RefusedReceipt(str(watched), str(error)))
    return StaleReceipts(tuple(stale), total, tuple(refused))
