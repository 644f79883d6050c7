"""The written form of a context: one `[SOURCE n]` for each block, with what an agent must know to weigh it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping

from quoth.corpus.authority import supersessions
from quoth.types import ContextBlock, Supersession

_JOINERS = "\u200c\u200d"
"""Invisible, but letters of some scripts change without them."""


def block_text(block: ContextBlock, *, number: int, names: Mapping[str, str]) -> str:
    """One block with its header; `names` gives the titles of successors by id.

    The content stands in it exactly as in the document, whatever it holds.
    """
    header = "".join(f"{label}: {value}\n" for label, value in _header(block, names) if value)
    return f"[SOURCE {number}]\n{header}\nContent:\n{block.content}\n\n---\n"


def one_line(text: str) -> str:
    """A name that cannot be taken for a line of its own: white space folded, no control characters."""
    folded = " ".join(text.split())
    if folded.isprintable():  # nearly every name is, and this is far quicker than looking at each sign
        return folded
    return " ".join("".join(sign for sign in folded if _shows(sign)).split())


def _shows(sign: str) -> bool:
    return sign in _JOINERS or unicodedata.category(sign) not in {"Cc", "Cf", "Cs"}


def _header(block: ContextBlock, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    metadata = block.document.metadata
    binding = metadata.is_binding if block.authority is None else block.authority == "binding"
    yield "Document", one_line(metadata.title or "") or one_line(block.document.id)
    yield "Section", " > ".join(name for heading in block.section if (name := one_line(heading)))
    yield "Page", "" if block.page is None else str(block.page)
    yield "Binding", "" if binding is None else "Yes" if binding else "No"
    yield "Effective", one_line(metadata.effective_date or "")
    yield "Superseded-by", "; ".join(_successor(one, block, names) for one in block.superseded_by)
    yield "Added-for", one_line(block.because)


def _successor(supersession: Supersession, block: ContextBlock, names: Mapping[str, str]) -> str:
    """The successor by title and id; where it replaces only a part of the block, with the name of that part."""
    doc_id, title = one_line(supersession.by), one_line(names.get(supersession.by, ""))
    named = f"{title} ({doc_id})" if title else doc_id
    whole = supersession.section is None or supersession in supersessions(block.document.metadata, block.section)
    return named if whole else f"{named} for {one_line(supersession.section or '')}"
