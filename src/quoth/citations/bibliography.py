"""The cited documents for reference managers: BibTeX, RIS and CSL-JSON.

Nothing is guessed. A document with a DOI is an article; any other is a document, and what nobody states is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from quoth.citations.cited_quotes import source_iri
from quoth.output.citation_label import printable
from quoth.types import Document

_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\S+)", re.IGNORECASE)
_LATEX = {
    "\\": r"\textbackslash{}",
    # BibTeX counts braces, escaped or not.
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "$&#_%"},
}
_BARE = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C"})
"""For fields that BibTeX styles print as they are: only what would end the field is written another way."""


def bibtex(documents: Iterable[Document], *, base_url: str | None) -> str:
    return "\n".join(_bibtex_entry(document, base_url) for document in _in_order(documents))


def _bibtex_entry(document: Document, base_url: str | None) -> str:
    about = document.metadata
    fields = {
        # Inner braces keep the capitals of a title, and a name with "and" in it one name.
        "title": f"{{{_latex(_title(document))}}}",
        "author": " and ".join(map(_bibtex_name, about.authors)),
        "year": str(about.year or ""),
        "doi": (_doi(document) or "").translate(_BARE),
        "language": _latex(about.language or ""),
        "url": "" if base_url is None else source_iri(document.id, base_url).translate(_BARE),
        "note": _latex(document.id),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'article' if _doi(document) else 'misc'}{{{citation_key(document)},", *lines, "}\n"])


def _bibtex_name(author: str) -> str:
    name = _latex(printable(author))
    return f"{{{name}}}" if re.search(r"\band\b", name, re.IGNORECASE) else name


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in printable(text))


def ris(documents: Iterable[Document], *, base_url: str | None) -> str:
    return "".join(_ris_entry(document, base_url) for document in _in_order(documents))


def _ris_entry(document: Document, base_url: str | None) -> str:
    about = document.metadata
    fields = [
        ("TY", "JOUR" if _doi(document) else "GEN"),
        ("ID", citation_key(document)),
        ("TI", _title(document)),
        *(("AU", author) for author in about.authors),
        ("PY", str(about.year or "")),
        ("DO", _doi(document) or ""),
        ("LA", about.language or ""),
        ("UR", "" if base_url is None else source_iri(document.id, base_url)),
        ("N1", document.id),
    ]
    lines = [f"{tag}  - {printable(value)}\r\n" for tag, value in fields if value]
    return "".join([*lines, "ER  - \r\n", "\r\n"])


def csl_json(documents: Iterable[Document], *, base_url: str | None) -> str:
    items = [_csl_item(document, base_url) for document in _in_order(documents)]
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"


def _csl_item(document: Document, base_url: str | None) -> dict[str, Any]:
    about = document.metadata
    fields = {
        "id": citation_key(document),
        "type": "article-journal" if _doi(document) else "document",
        "title": _title(document),
        "author": [_csl_name(printable(author)) for author in about.authors],
        "issued": {"date-parts": [[about.year]]} if about.year else None,
        "DOI": _doi(document),
        "language": about.language,
        "URL": None if base_url is None else source_iri(document.id, base_url),
        "note": document.id,
    }
    return {name: value for name, value in fields.items() if value}


def _csl_name(author: str) -> dict[str, str]:
    """Return a name in its parts only where a comma tells them."""
    family, comma, given = (part.strip() for part in author.partition(","))
    return {"family": family, "given": given} if comma and family and given else {"literal": author}


def citation_key(document: Document) -> str:
    """Return a key that depends on the document alone: first author and year, or the file's name, and a digest of
    the id, which keeps keys apart."""
    about = document.metadata
    name = about.authors[0].partition(",")[0].split()[-1:] if about.authors else []
    known = "".join([*name, str(about.year or "")]) if name else document.id.rpartition("/")[2].rpartition(".")[0]
    plain = unicodedata.normalize("NFKD", known.casefold()).encode("ascii", "ignore").decode()
    word = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40]
    return f"{word or 'document'}-{hashlib.sha256(document.id.encode()).hexdigest()[:6]}"


def _title(document: Document) -> str:
    return printable(document.metadata.title or "") or document.id


def _doi(document: Document) -> str | None:
    found = _DOI.fullmatch((document.metadata.doi or "").strip())
    return found[1] if found else None


def _in_order(documents: Iterable[Document]) -> list[Document]:
    return sorted(documents, key=lambda document: document.id)
