"""The source of a quote in short, for people: `Discovery West CC&Rs, §9.1.7, p. 23`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quoth.documents.titles import title_key
from quoth.language.graphemes import parts_grapheme
from quoth.language.numbering import ITEM, LABEL, NUMBER, label_name
from quoth.language.quantities import quantities
from quoth.types import Citation

_LONGEST_NAME = 44
_LONGEST_HEADING = 24
_ELLIPSIS = "…"
_NUMBERED = re.compile(r"(?P<number>(?:\d{1,3}|[A-Z])(?:\.\d{1,3})+|\d{1,3}(?=[.)]))[.)]?\s+(?=[^\W\d])")
_LABELLED = re.compile(rf"(?P<label>{LABEL})\s*(?P<number>{NUMBER}(?:{ITEM})*)")
_GAP = re.compile(r"\s+|[_-]+(?!\d)")
"""Where a name may be cut: between words, and between the words of a file name."""
_UNCLOSED = re.compile(r"(?<=\S)\s+[(\[][^)\]]*\Z")
"""A bracket that a cut leaves open."""


def source_labels(citations: Sequence[Citation]) -> list[str]:
    """Return a label for each citation: name, section and page; documents of the same name with their ids."""
    names = {cited.sentence.doc_id: _name(cited) for cited in citations}
    known = list(names.values())
    return [_label(cited, names[cited.sentence.doc_id], known) for cited in citations]


def _label(citation: Citation, name: str, known: Sequence[str]) -> str:
    sentence = citation.sentence
    if known.count(name) > 1:
        path = printable(sentence.doc_id)
        name = f"{name} ({path if len(path) <= _LONGEST_NAME else _ELLIPSIS + path[1 - _LONGEST_NAME :]})"
    heading = sentence.section[-1] if sentence.section else ""
    is_title = title_key(heading) == title_key(citation.metadata.title or "")
    page = f"p. {sentence.page}" if sentence.page else ""
    return ", ".join(filter(None, (name, "" if is_title else section_label(heading), page, citation.cells)))


def _name(citation: Citation) -> str:
    about = citation.metadata
    if about.byline and about.authors and about.year:  # as papers are cited
        return shortened(about.byline.replace(f", {about.year}", f" {about.year}"), _LONGEST_NAME)
    return shortened(about.title or "", _LONGEST_NAME) or shortened(_file_name(citation), _LONGEST_NAME) or _ELLIPSIS


def _file_name(citation: Citation) -> str:
    return citation.sentence.doc_id.rpartition("/")[2] or citation.sentence.doc_id


def section_label(heading: str) -> str:
    """Return the number of a heading that has one, `§9.1.7` or `Article VII`; else the heading, shortened."""
    line = printable(heading)
    numbered = _NUMBERED.match(line)
    if numbered is not None and not any(amount.span.start == 0 for amount in quantities(line)):
        return f"§{numbered['number']}"
    if (labelled := _LABELLED.match(line)) is not None:
        kind, number = label_name(labelled["label"]), labelled["number"]
        return f"§{number}" if kind in {"Section", "Clause"} else f"{kind} {number}"
    return shortened(line, _LONGEST_HEADING)


def shortened(text: str, most: int) -> str:
    """Return a text on one line, of at most `most` characters: what does not fit is cut off between two words."""
    line = printable(text)
    if len(line) <= most:
        return line
    gaps = [gap.start() for gap in _GAP.finditer(line, most // 2, most)]
    cut = gaps[-1] if gaps else next(at for at in range(most - 1, -1, -1) if not parts_grapheme(line, at))
    return _UNCLOSED.sub("", line[:cut]).rstrip(" ,;:.–—-&_") + _ELLIPSIS


def printable(text: str) -> str:
    """Return a text on one line, without control characters: they could hide or turn round what stands there."""
    return " ".join("".join(sign if sign.isprintable() or sign.isspace() else "" for sign in text).split())
