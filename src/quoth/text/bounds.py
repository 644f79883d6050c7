"""What a number does in a clause: whether it is the most, the least, a value, or only tells which case is meant."""

from __future__ import annotations

import re
from enum import StrEnum

from quoth.text.norm_words import ATTRIBUTES
from quoth.types import Quantity


class Bound(StrEnum):
    MOST = "most"
    LEAST = "least"
    VALUE = "value"
    CASE = "case"
    """It tells a case apart: `a lot of more than two acres`."""


_MORE = r"(?:more|greater|higher|taller|longer|wider|larger|later|deeper|heavier|bigger|thicker|faster|further|farther)"
_LESS = r"(?:less|fewer|lower|shorter|smaller|sooner|earlier|closer|nearer|narrower|shallower|lighter)"
_FILL = r"(?:\s+(?:a|an|the|of|in|is|are|be|to|at|total|shall|must|should|[\w'-]+)){0,8}?\s*(?:[:=$€£(]\s*)?$"
_NEAR = r"(?:\s+(?:a|an|the|of|total|combined|[\w'-]+\s+of)){0,3}\s*(?:[$€£(]\s*)?$"
_EXCEED = re.compile(rf"\bexceed(?:s|ing)?{_NEAR}")
_COMPARED = re.compile(rf"\b(?:(?P<more>{_MORE}|over|above|beyond)|(?P<less>{_LESS}|under|below))(?:\s+than)?{_NEAR}")
_DEMANDED = re.compile(r"\b(?:must|shall|should)\s+(?:always\s+)?(?:be|stay|remain|keep|be kept|be set)\s*$")
_NEGATED = re.compile(r"\b(?:no|not|never|nor|neither|cannot)\b(?:\s+[\w'-]+){0,4}\s*$")
_NOT = re.compile(r"\b(?:no|not|never|neither|nor|cannot)\b")
_AT_MOST = re.compile(
    rf"\b(?:up to|at most|as (?:much|many|high|long|tall|late) as|limited to|capped at|restricted to){_NEAR}"
    rf"|\b(?:maximum|max\.?|upper limit|limit|cap){_FILL}"
)
_AT_LEAST = re.compile(rf"\b(?:at least){_NEAR}|\b(?:minimum|min\.?|lower limit){_FILL}")
_AFTER_MOST = re.compile(
    r"\W*(?:in \w+\s+)?(?:or|and) (?:less|fewer|lower|under|below|shorter|smaller)\b|\W*(?:maximum|max)\b"
)
_AFTER_LEAST = re.compile(
    r"\W*(?:in \w+\s+)?(?:or|and) (?:more|greater|higher|over|above|longer|larger)\b|\W*(?:minimum|min)\b"
)
_WITHIN = re.compile(r"\b(?:within|in no event later than|by no later than)(?:\s+(?:a|the|period|of))*\s*$")
_SUPPOSED = re.compile(r"\b(?:if|when|whenever|where|who|that|whose|until|once|while|with|having)\b[^,]*$")


def bound(before: str, after: str, quantity: Quantity) -> Bound:
    """The role of `quantity` between the words `before` and `after` it in its clause."""
    compared = _compared(before)
    if compared is not None:
        return compared
    if _WITHIN.search(before):
        return Bound.MOST if quantity.dimension in {"time", "month"} else Bound.CASE
    most, least = _AT_MOST.search(before), _AT_LEAST.search(before)
    if _AFTER_MOST.match(after) or _AFTER_LEAST.match(after):
        return Bound.MOST if _AFTER_MOST.match(after) else Bound.LEAST
    if most is not None and (least is None or most.start() > least.start()):
        return Bound.MOST
    return Bound.LEAST if least is not None else Bound.VALUE


def _compared(before: str) -> Bound | None:
    """The role that a comparison just before a number gives it; one that nothing demands only tells a case."""
    if match := _EXCEED.search(before):
        return Bound.MOST if _NOT.search(before, 0, match.start()) else Bound.CASE
    if match := _COMPARED.search(before):
        ahead = before[: match.start()]
        negated = _NEGATED.search(ahead) is not None
        if negated or _DEMANDED.search(ahead):
            return Bound.MOST if negated == bool(match["more"]) else Bound.LEAST
        return Bound.CASE
    return None


def bound_start(before: str) -> int:
    """Where the words that make a number a bound begin: `no more than` 3, `a minimum of` 8."""
    starts = [match.start() for pattern in (_COMPARED, _AT_MOST, _AT_LEAST) if (match := pattern.search(before))]
    return min(starts, default=len(before))


def is_supposed(before: str) -> bool:
    """Whether the words before a number make it part of a condition or of a description."""
    return _SUPPOSED.search(before) is not None


def attribute(clause: str, quantity: Quantity) -> str | None:
    """What a length measures, by the nearest word that says so; None where none does, or for other dimensions."""
    if quantity.dimension != "length":
        return None
    before, after = clause[: quantity.span.start], clause[quantity.span.end :]
    near = re.match(r"[^,;\d]{0,40}", after)
    following = near[0] if near else ""
    if re.match(r"\s+(?:from|away|apart|back)\b", following):
        return "distance"
    told = next((ATTRIBUTES[word] for word in re.findall(r"[a-z]+", following) if word in ATTRIBUTES), None)
    if told is not None:
        return told
    return next((ATTRIBUTES[word] for word in reversed(re.findall(r"[a-z]+", before)) if word in ATTRIBUTES), None)
