"""Find what a clause allows, forbids, or allows only with consent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from quoth.answer.conflicts.norm_clauses import Clause
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
    span: Span
    consent: Span | None
    """The words that name the consent; None when the stance is not about consent."""


_CONSENT = r"(?:approval|consent|permission|authori[sz]ation|permit|licen[cs]e)"
_ANY = re.compile(
    r"\b(?:may|can|cannot|shall|must|will|permitted|allowed|welcome|acceptable|authori|prohibit|forbid|ban"
    r"|bar|disallowed|unlawful|illegal|require|need)"
)
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
# `not` before these words is part of a bound or of a statement of fact.
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
    """Return what the clause, `whole` with its subject, allows or forbids without condition; None if nothing."""
    if _ANY.search(whole) is None:
        return None
    for pattern, stance in ((_FREE, Stance.CONSENT_FREE), (_NEEDED, Stance.CONSENT_NEEDED)):
        if (match := pattern.search(whole)) is not None and match.lastgroup is not None:
            return _with_consent(stance, match, match.lastgroup)
    plain = _forbidden(clause, whole) or _allowed(clause)
    if plain is None:
        return None
    if (match := _WITHOUT.search(whole)) is not None:
        # `shall not be removed without approval` needs approval; `may be installed without approval` does not.
        stance = Stance.CONSENT_FREE if plain.stance is Stance.ALLOWED else Stance.CONSENT_NEEDED
        return _with_consent(stance, match, "consent")
    if plain.stance is Stance.ALLOWED and (match := _WITH.search(whole)) is not None:
        return _with_consent(Stance.CONSENT_NEEDED, match, "consent")
    return None if clause.excepted or _CONDITION.search(whole) else plain


def _with_consent(stance: Stance, match: re.Match[str], group: str) -> Permission:
    return Permission(stance, Span(*match.span()), Span(*match.span(group)))


def _forbidden(clause: Clause, whole: str) -> Permission | None:
    if (no := _NO.match(whole)) is not None:
        match = _NO_RULE.search(clause.predicate)
        if match is None or match["act"] in _NO_ACTS:
            return None
        return Permission(Stance.FORBIDDEN, Span(no.start("no"), match.end()), None)
    acts = (match for match in _FORBIDDEN.finditer(clause.predicate) if match["act"] not in _NO_ACTS)
    first = next(acts, None)
    return Permission(Stance.FORBIDDEN, Span(*first.span()), None) if first else None


def _allowed(clause: Clause) -> Permission | None:
    match = _ALLOWED.search(clause.predicate)
    if match is None or (match["act"] or match["passive"]) in _NO_ACTS:
        return None
    return Permission(Stance.ALLOWED, Span(*match.span()), None)
