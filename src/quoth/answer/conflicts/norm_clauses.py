"""Split a normalised sentence into clauses, without their exceptions, reasons and references, and find what each
clause allows, forbids, or allows only with consent.

Omitted text is replaced with spaces, so that offsets stay those of the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from quoth.language.words import word_list
from quoth.types import Span

_MAIN_VERB = (
    r"(?:shall|must|may|should|can|cannot|will|is|are|requires?|needs?|costs?|prohibits?|forbids?|allows?|permits?"
    r"|do not|does not|earns?|accrues?|applies|apply)"
)
_VERB = re.compile(rf"(?<!that )(?<!which )(?<!who )\b{_MAIN_VERB}\b(?! and )")
_LABEL = re.compile(
    r"\s*(?:[-•]\s+(?:\[.\]\s*)?|\((?:[a-z]|[ivx]+|\d+)\)\s*|(?:step|rule|no\.)\s*\d+[.:]\s+|\d+(?:\.\d+)*\.?\)?(?=\s+[a-z])\s+"
    r"|[a-z]\.\s+)+"
)
_NUMBERED = r"(?:sections?|sec\.?|articles?|rules?|chapters?|paragraphs?|clauses?|subsections?|part|§+)"
_REFERENCE = re.compile(
    rf"(?:\b(?:under|pursuant to|in accordance with|as required by|in compliance with|stated in|set forth in|within the"
    rf" (?:limits?|time) (?:of|in|allowed by)|of|by|in)\s+)?(?<!\w){_NUMBERED}\s*(?:[\divx]+(?![a-z])|[a-z]\b)[\w.()]*"
    rf"(?:\s+of\s+(?:the|this|these)\s+\w+)?"
)
_EXCEPTION = re.compile(
    r"\b(?:except|unless|notwithstanding|other than|excluding|save that|provided,? (?:however,? )?(?:that|it|they|the)"
    r"|but only|but not)\b"
)
_ASIDE = re.compile(
    r"\b(?:measured|calculated|computed|so that|because|in order to|to (?:ensure|prevent|protect|allow|avoid|help)"
    r"|as (?:measured|defined|set forth|provided|stated|described|shown|amended)|which|including|such as|for example)\b"
    r"[^,;]*"
)
_GIVER = re.compile(
    r"^\W*(?:[\w'-]+\s+){0,6}?(?:recommends?|suggests?|advises?|requires?|asks?|prefers?)\s+that\s+"
    r"|^\W*it is (?:strongly )?(?:recommended|required|advised|suggested|preferred) (?:that|to)\s+"
)
REPORT = re.compile(
    rf"^\W*(?:whereas\b|according to\b)"
    rf"|(?<!\w){_NUMBERED}\s*\d[\w.()]*(?:\s+(?:of|in)\s+[\w\s]{{1,40}}?)?\s+"
    r"(?:limits?|allows?|permits?|prohibits?|requires?|provides?|sets?|states?|says?|recommends?|does not|forbids?)\b"
    r"|\b(?:i|my)\b|\byou (?:asked|proposed|requested|applied)\b"
)
"""Found in a normalised sentence that reports what another text says, or what a person wants."""
_OWN_VERB = re.compile(r"\s*(?:also\s+)?(?:shall|must|may|should|can|cannot|will|is|are)\b")
_SUBORDINATE = re.compile(
    r"^\W*(?:if|when|whenever|where|while|on|in|within|for|at|during|after|before|until|upon|once)\b"
)
_SECOND_NUMBER = re.compile(r"\sor\s(?:within\s|up to\s|for\s|at least\s)?[$€£]?\d[^,;]*\b(?:if|for|when|where)\b")
_OPENING_END = ";"
_MODALS = frozenset("shall must may should can cannot will".split())
# `The board decides within 30 days after the form is complete`: the verb found belongs to the subordinate clause.
_SUBORDINATED = re.compile(r"\w\W+\w+\W+(?:after|before|until|if|when|where|once|while|as|because)\s[^,]*$")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with the offsets of its sentence: `subject` and `predicate` are as long as it, and blank elsewhere.

    `verb` is the offset where the predicate begins. `excepted` is True when an exception was blanked.
    """

    subject: str
    predicate: str
    verb: int
    excepted: bool


def clauses(level: str) -> tuple[Clause, ...]:
    """Return the clauses of a normalised sentence, in order; a clause without a verb has only a predicate."""
    label = _LABEL.match(level)
    text = blank(level, 0, label.end()) if label else level
    split: list[Clause] = []
    opening = ""
    for start, end in _clause_spans(text):
        clause, excepted = _ruling_text(text, start, end)
        verb = _main_verb(clause)
        if verb is None:
            subject, verb = "", start
        elif split and _OWN_VERB.match(clause[start:]):
            subject = split[-1].subject  # `shall be fenced and shall not exceed`
        else:
            subject = _only(clause, 0, verb)
        # A condition that opens a sentence applies to all of its clauses.
        subject = opening + (subject or " " * len(text))[len(opening) :] if opening else subject
        opening = opening or clause[: clause.find(_OPENING_END) + 1]
        split.append(Clause(subject, blank(clause, 0, verb), verb, excepted))
    return tuple(split)


def _ruling_text(text: str, start: int, end: int) -> tuple[str, bool]:
    """Return the clause between two offsets with all but its rule blanked, and whether it had an exception."""
    clause = _only(text, start, end)
    giver = _GIVER.match(clause[start:])
    clause = blank(clause, start, start + giver.end()) if giver else clause
    clause, excepted = _without_exception(clause)
    clause = _without_alternative(clause)
    for pattern in (_ASIDE, _REFERENCE):
        for match in pattern.finditer(clause):
            clause = blank(clause, match.start(), match.end())
    return _with_opening_apart(clause), excepted


def _main_verb(clause: str) -> int | None:
    """Return the offset of the main verb, or None; the verbs of an opening condition do not count."""
    start = clause.find(_OPENING_END) + 1
    for match in _VERB.finditer(clause, start):
        if match[0] in _MODALS or not _SUBORDINATED.search(clause, start, match.start()):
            return match.start()
    return None


def _with_opening_apart(clause: str) -> str:
    """Replace the comma after an opening condition with `_OPENING_END`, so that it does not read as a list comma."""
    opening = _SUBORDINATE.match(clause)
    comma = clause.find(", ", opening.end()) if opening else -1
    if comma < 0 or not _VERB.search(clause, comma):
        return clause
    return f"{clause[:comma]}{_OPENING_END}{clause[comma + 1 :]}"


def _clause_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each clause: split at semicolons, and at conjunctions before another main verb."""
    cuts = [0]
    for match in re.finditer(r";|,\s+(?:and|but|while|whereas|nor)\s|\s(?:and|but|or)\s", text):
        before, after = text[cuts[-1] : match.start()], text[match.end() :]
        if match[0] == ";":
            cuts.append(match.end())
        elif not _VERB.search(before):
            continue
        elif match[0].startswith(","):
            upcoming = _VERB.search(after)
            if upcoming and not re.search(r",\s+(?:and|but|while|whereas)\s", after[: upcoming.start()]):
                cuts.append(match.end())
        elif _OWN_VERB.match(after):
            cuts.append(match.end())
    return [(start, end) for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True) if text[start:end].strip()]


def _without_exception(clause: str) -> tuple[str, bool]:
    """Blank an exception, and return whether there was one; an opening one ends at its comma, others at the end."""
    match = _EXCEPTION.search(clause)
    if match is None:
        return clause, False
    comma = -1 if clause[: match.start()].strip() else clause.find(",", match.end())
    return blank(clause, match.start(), comma + 1 if comma >= 0 else len(clause)), True


def _without_alternative(clause: str) -> str:
    """Blank a second number that is for another case: `within 45 days, or within 30 days for ...`."""
    for match in _SECOND_NUMBER.finditer(clause):
        if re.search(r"\d", clause[: match.start()]):
            return blank(clause, match.start(), len(clause))
    return clause


def blank(text: str, start: int, end: int) -> str:
    """Return `text` with spaces from `start` to `end`, so that no offset changes."""
    return text[:start] + " " * (end - start) + text[end:]


def _only(text: str, start: int, end: int) -> str:
    return " " * start + text[start:end] + " " * (len(text) - end)


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
_NO_ACTS = word_list("no_acts")
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
