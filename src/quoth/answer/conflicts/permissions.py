"""What a clause lets people do: allows, forbids, or asks a consent for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from quoth.text.norm_clauses import Clause
from quoth.types import Span


class Stance(StrEnum):
    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    CONSENT_NEEDED = "consent needed"
    CONSENT_FREE = "no consent needed"


OPPOSITES = {
    Stance.ALLOWED: Stance.FORBIDDEN,
    Stance.FORBIDDEN: Stance.ALLOWED,
    Stance.CONSENT_NEEDED: Stance.CONSENT_FREE,
    Stance.CONSENT_FREE: Stance.CONSENT_NEEDED,
}


@dataclass(frozen=True, slots=True)
class Permission:
    stance: Stance
    said: Span
    consent: Span | None
    """The words that name the consent, where the stance is about one."""


_CONSENT = r"(?:approval|consent|permission|authori[sz]ation|permit|licen[cs]e)"
_ANY = re.compile(
    r"\b(?:may|can|cannot|shall|must|will|permitted|allowed|welcome|acceptable|authori|prohibit|forbid|ban"
    r"|bar|disallowed|unlawful|illegal|require|need)"
)
_ANY_CONSENT = re.compile(rf"\b{_CONSENT}\b")
_FEW = r"(?:(?!and\b|or\b|but\b)[\w'-]+\s+){0,4}?"
_GOOD = r"(?:permitted|allowed|welcome|acceptable|authori[sz]ed)"
_BAD = r"(?:prohibited|forbidden|banned|barred|disallowed|unlawful|illegal)"
_FORBIDDEN = re.compile(
    rf"(?<!not )\b(?:strictly |expressly )?{_BAD}\b|\b(?:not|never|no longer)\s+(?:be\s+)?{_GOOD}\b"
    r"|\b(?:(?:shall|must|may|can|will)\s+(?:not|never)|cannot)\s+(?:be\s+)?(?P<act>[\w-]+)"
    r"|\b(?:prohibits|forbids|bans)\b"
)
_ALLOWED = re.compile(
    rf"(?<!not )(?<!never )\b(?:(?:is|are|be)\s+(?:also |always |generally |expressly )?)?{_GOOD}\b"
    r"|\bmay\s+(?:also\s+)?(?:be\s+)?(?P<act>[\w-]+)|\bcan\s+be\s+(?P<passive>[\w-]+)"
)
_NO = re.compile(r"^\W*(?P<no>no)\s+(?!more\b|less\b|fewer\b|later\b|longer\b)")
_NO_RULE = re.compile(rf"\b(?:shall|may|can|must|will|is|are)\s+(?:be\s+)?(?:{_GOOD}|(?P<act>[\w-]+))")
# A `not` before these belongs to a bound, or to a plain fact.
_NO_ACTS = frozenset(
    """exceed be have more less greater higher taller longer wider larger later fewer lower shorter not only include
    contain apply constitute mean affect limit relieve need require waive""".split()
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|where|while|until|only|subject to|upon|in writing|between|before|after|during"
    r"|as long as|in connection with|in case|in the event)\b|\bfrom\s+(?:\d|[a-z]+day\b|noon|midnight|dawn|dusk)"
    rf"|\bwith(?:out)?\s+{_FEW}(?:{_CONSENT}|notice)\b"
)
_WITHOUT = re.compile(rf"\bwithout\s+(?P<consent>{_FEW}{_CONSENT})\b")
_WITH = re.compile(rf"\b(?:only\s+)?with\s+(?P<consent>{_FEW}{_CONSENT})\b")
_FREE = re.compile(
    rf"\b(?:does|do)\s+not\s+(?:require|need)\s+(?P<a>{_FEW}{_CONSENT})\b"
    rf"|\b(?:requires?|needs?)\s+no\s+(?P<b>{_FEW}{_CONSENT})\b"
    rf"|\bno\s+(?P<c>{_FEW}{_CONSENT})\s+(?:is|are)\s+(?:required|needed|necessary)\b"
    rf"|\b(?P<d>{_FEW}{_CONSENT})\s+(?:is|are)\s+not\s+(?:required|needed|necessary)\b"
)
_NEEDED = re.compile(
    rf"\b(?:requires?|needs?)\s+(?!no\b)(?P<a>{_FEW}{_CONSENT})\b"
    rf"|\b(?P<b>{_FEW}{_CONSENT})\s+(?:is|are)\s+(?:always\s+)?(?:required|needed|necessary)\b"
)


def permission(clause: Clause, whole: str) -> Permission | None:
    """What the clause says about its subject as a whole; None where it says nothing, or only under a condition.

    `whole` is the clause with its subject.
    """
    if _ANY.search(whole) is None:
        return None
    consent = _about_consent(whole)
    if consent is not None:
        return consent
    found = _forbidden(clause, whole) or _allowed(clause)
    if found is None:
        return None
    if (match := _WITHOUT.search(whole)) is not None:
        # `shall not be removed without approval` needs one; `may be installed without approval` does not.
        stance = Stance.CONSENT_FREE if found.stance is Stance.ALLOWED else Stance.CONSENT_NEEDED
        return Permission(stance, Span(match.start(), match.end()), Span(*match.span("consent")))
    if found.stance is Stance.ALLOWED and (match := _WITH.search(whole)) is not None:
        return Permission(Stance.CONSENT_NEEDED, Span(match.start(), match.end()), Span(*match.span("consent")))
    return None if clause.excepted or _CONDITION.search(whole) else found


def _about_consent(whole: str) -> Permission | None:
    if _ANY_CONSENT.search(whole) is None:
        return None
    for pattern, stance in ((_FREE, Stance.CONSENT_FREE), (_NEEDED, Stance.CONSENT_NEEDED)):
        if (match := pattern.search(whole)) is not None:
            name = next(key for key, value in match.groupdict().items() if value)
            return Permission(stance, Span(match.start(), match.end()), Span(*match.span(name)))
    return None


def _forbidden(clause: Clause, whole: str) -> Permission | None:
    if (no := _NO.match(whole)) is not None:
        match = _NO_RULE.search(clause.predicate)
        if match is None or match["act"] in _NO_ACTS:
            return None
        return Permission(Stance.FORBIDDEN, Span(no.start("no"), match.end()), None)
    for match in _FORBIDDEN.finditer(clause.predicate):
        if match["act"] not in _NO_ACTS:
            return Permission(Stance.FORBIDDEN, Span(match.start(), match.end()), None)
    return None


def _allowed(clause: Clause) -> Permission | None:
    match = _ALLOWED.search(clause.predicate)
    if match is None or (match["act"] or match["passive"]) in _NO_ACTS:
        return None
    return Permission(Stance.ALLOWED, Span(match.start(), match.end()), None)
