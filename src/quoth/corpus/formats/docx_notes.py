"""Footnotes and endnotes: read where they are referred to, numbered as Word shows them."""

from __future__ import annotations

from quoth.corpus.formats.docx_numbering import formatted
from quoth.corpus.formats.docx_package import Element, Package, attribute, child, children, number, value
from quoth.corpus.formats.docx_runs import note_id

_FORMS = {"footnote": "decimal", "endnote": "lowerRoman"}


class Notes:
    """The notes of a document. Each is given out once, with its number, when its reference goes by."""

    def __init__(self, package: Package, related: dict[str, list[str]], settings: Element | None) -> None:
        self.roots: dict[str, Element] = {}
        self._elements: dict[tuple[str, int | None], Element] = {}
        self._forms = dict(_FORMS)
        self._counts = dict.fromkeys(_FORMS, 0)
        for kind, form in _FORMS.items():
            root = next((package.xml(part) for part in related.get(f"{kind}s", ()) if package.holds(part)), None)
            if root is not None:
                self.roots[kind] = root
                for element in children(root, f"w:{kind}"):
                    self._elements[kind, number(attribute(element, "id"))] = element
            how = child(settings, f"w:{kind}Pr")
            self._forms[kind] = value(how, "w:numFmt") or form
            self._counts[kind] = (number(value(how, "w:numStart")) or 1) - 1

    def take(self, reference: Element) -> tuple[str, str, Element] | None:
        """The kind, the mark (`[3]`; empty where the author typed one) and the content of the note; None if unknown."""
        key = note_id(reference)
        element = self._elements.pop(key, None)
        if element is None:
            return None
        kind = key[0]
        if attribute(reference, "customMarkFollows") in {"1", "true"}:
            return kind, "", element
        self._counts[kind] += 1
        return kind, f"[{formatted(self._counts[kind], self._forms[kind])}]", element
