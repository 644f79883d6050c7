"""Formulas (MathML) on one line: a fraction must not read as one number, nor a power as another."""

from __future__ import annotations

import re

from quoth.corpus.formats.html_tree import Child, Element

_LEFT_OUT = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts", "maction"})
_SPACED = re.compile(r"[=<>≤≥≈≠±×÷→←⇒⇔∈∼≡∝]|[+−-](?=$)")
_SIMPLE = re.compile(r"[−-]?[\w.,]+|\([^()]*\)|[^\W\d_]\w*")
_GAP = " "


def written(formula: Element) -> str:
    """A formula as people type it: `a^2`, `x_1`, `(a + b)/2`, `√(x)`."""
    done: dict[int, str] = {}
    waiting: list[tuple[Element, bool]] = [(formula, False)]
    while waiting:
        element, ready = waiting.pop()
        if element.tag in _LEFT_OUT:
            done[id(element)] = ""
        elif ready:
            done[id(element)] = _joined(element, [_said(child, done) for child in element.children])
        else:
            waiting.append((element, True))
            waiting += [(child, False) for child in element.children if isinstance(child, Element)]
    return " ".join(done[id(formula)].split())


def _said(child: Child, done: dict[int, str]) -> str:
    return child if isinstance(child, str) else done[id(child)]


def _joined(element: Element, parts: list[str]) -> str:  # noqa: PLR0911 - one for each layout
    if element.tag in {"mi", "mn", "mo", "mtext", "ms"}:
        text = "".join(parts).strip()
        return f" {text} " if element.tag == "mo" and _SPACED.fullmatch(text) else text
    said = [part.strip() for part in parts if part.strip()]
    match element.tag, said:
        case "mfrac", [above, below]:
            return f"{_bracketed(above)}/{_bracketed(below)}"
        case "msup" | "mover", [base, power]:
            return f"{base}^{_bracketed(power)}"
        case "msub" | "munder", [base, index]:
            return f"{base}_{_bracketed(index)}"
        case "msubsup" | "munderover", [base, index, power]:
            return f"{base}_{_bracketed(index)}^{_bracketed(power)}"
        case "msqrt", _:
            return f"√({''.join(parts).strip()})"
        case "mroot", [base, index]:
            return f"{_bracketed(base)}^(1/{index})"
        case "mtr" | "mlabeledtr", _:
            return _GAP.join(said) + "; "
        case "mtd", _:
            return "".join(parts)
    return "".join(part if part.strip() else "" for part in parts)


def _bracketed(text: str) -> str:
    return text if _SIMPLE.fullmatch(text) else f"({text})"
