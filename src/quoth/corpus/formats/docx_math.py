"""Formulas on one line: a fraction must not read as one number, nor a power as another."""

from __future__ import annotations

from quoth.corpus.formats.docx_package import Element, child, name, value

_SIMPLE = 12
"""Code points of a part that needs no brackets, if it is one word or number."""


def opened(element: Element) -> list[Element | str]:
    """The parts of a formula's element in reading order, with the signs that its layout stands for."""
    parts: list[Element | str] = list(element)
    match name(element):
        case "m:f":
            parts = [*_bracketed(child(element, "m:num")), "/", *_bracketed(child(element, "m:den"))]
        case "m:sup" | "m:sub" as script:
            parts = ["^" if script == "m:sup" else "_", *_bracketed(element)] if _said(element) else []
        case "m:rad":
            parts = ["√", "(", *_inside(child(element, "m:e")), ")"]
        case "m:nary":
            parts = [value(child(element, "m:naryPr"), "m:chr") or "∫", *parts]
        case "m:d":
            how = child(element, "m:dPr")
            begin, end = value(how, "m:begChr"), value(how, "m:endChr")
            parts = ["(" if begin is None else begin, *parts, ")" if end is None else end]
        case "m:mr":
            parts = [part for cell in parts for part in (cell, " ")] + ["; "]
    return parts


def _bracketed(element: Element | None) -> list[Element | str]:
    said = "" if element is None else _said(element)
    simple = len(said) <= _SIMPLE and said.replace(".", "").replace("−", "").replace("-", "").isalnum()
    return _inside(element) if simple else ["(", *_inside(element), ")"]


def _inside(element: Element | None) -> list[Element | str]:
    return [] if element is None else list(element)


def _said(element: Element) -> str:
    return "".join(part.text or "" for part in element.iter() if name(part) in {"m:t", "w:t"})
