"""Clauses of a levelled sentence: what each rules, without its exceptions, its reasons and its references.

What is left out is blanked, never removed: offsets stay those of the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

VERB = (
    r"(?:shall|must|may|should|can|cannot|will|is|are|requires?|needs?|costs?|prohibits?|forbids?|allows?|permits?"
    r"|do not|does not|earns?|accrues?|applies|apply)"
)
_VERB = re.compile(rf"(?<!that )(?<!which )(?<!who )\b{VERB}\b(?! and )")
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
_REPORT = re.compile(
    rf"^\W*(?:whereas\b|according to\b)"
    rf"|(?<!\w){_NUMBERED}\s*\d[\w.()]*(?:\s+(?:of|in)\s+[\w\s]{{1,40}}?)?\s+"
    r"(?:limits?|allows?|permits?|prohibits?|requires?|provides?|sets?|states?|says?|recommends?|does not|forbids?)\b"
    r"|\b(?:i|my)\b|\byou (?:asked|proposed|requested|applied)\b"
)
_OWN_VERB = re.compile(r"\s*(?:also\s+)?(?:shall|must|may|should|can|cannot|will|is|are)\b")
_SUBORDINATE = re.compile(
    r"^\W*(?:if|when|whenever|where|while|on|in|within|for|at|during|after|before|until|upon|once)\b"
)
_SECOND_NUMBER = re.compile(r"\sor\s(?:within\s|up to\s|for\s|at least\s)?[$€£]?\d[^,;]*\b(?:if|for|when|where)\b")
OPENING_END = ";"
_MODALS = frozenset("shall must may should can cannot will".split())
# `The board decides within 30 days after the form is complete`: the verb found is not that of the clause.
_SUBORDINATED = re.compile(r"\w\W+\w+\W+(?:after|before|until|if|when|where|once|while|as|because)\s[^,]*$")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in the coordinates of its sentence: `subject` and `predicate` are levelled, blank outside their part.

    `verb` is where the predicate begins. `excepted` tells that an exception was left out.
    """

    subject: str
    predicate: str
    verb: int
    excepted: bool


def is_report(level: str) -> bool:
    """Whether a levelled sentence tells what another text rules, or what one person wants."""
    return _REPORT.search(level) is not None


def clauses(level: str) -> tuple[Clause, ...]:
    """The clauses of a levelled sentence that have a verb, and a sentence without one as a whole."""
    label = _LABEL.match(level)
    text = _blank(level, 0, label.end()) if label else level
    found: list[Clause] = []
    opening = ""
    for start, end in _parts(text):
        part, excepted = _kept(text, start, end)
        verb = _main_verb(part)
        if verb is None:
            subject, verb = "", start
        elif found and _OWN_VERB.match(part[start:]):
            subject = found[-1].subject  # `shall be fenced and shall not exceed`
        else:
            subject = _only(part, 0, verb)
        # The condition that opens a sentence is one for all of its clauses.
        subject = opening + (subject or " " * len(text))[len(opening) :] if opening else subject
        opening = opening or part[: part.find(OPENING_END) + 1]
        found.append(Clause(subject, _blank(part, 0, verb), verb, excepted))
    return tuple(found)


def _kept(text: str, start: int, end: int) -> tuple[str, bool]:
    """What of a part of the text belongs to its rule, and whether an exception was left out."""
    part = _only(text, start, end)
    giver = _GIVER.match(part[start:])
    part = _blank(part, start, start + giver.end()) if giver else part
    part, excepted = _without_exception(part)
    part = _without_alternative(part)
    for pattern in (_ASIDE, _REFERENCE):
        for match in pattern.finditer(part):
            part = _blank(part, match.start(), match.end())
    return _with_opening_apart(part), excepted


def _main_verb(part: str) -> int | None:
    """Where the predicate begins; an opening condition has verbs of its own."""
    start = part.find(OPENING_END) + 1
    for match in _VERB.finditer(part, start):
        if match[0] in _MODALS or not _SUBORDINATED.search(part, start, match.start()):
            return match.start()
    return None


def _with_opening_apart(part: str) -> str:
    """`part` with the comma that ends an opening condition made a sign: what follows makes no list with it."""
    opening = _SUBORDINATE.match(part)
    comma = part.find(", ", opening.end()) if opening else -1
    return f"{part[:comma]}{OPENING_END}{part[comma + 1 :]}" if comma >= 0 and _VERB.search(part, comma) else part


def _parts(text: str) -> list[tuple[int, int]]:
    """Where clauses begin and end: at a semicolon, and where a conjunction opens a part with a verb of its own."""
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


def _without_exception(part: str) -> tuple[str, bool]:
    """`part` without what speaks of other cases: an opening exception up to its comma, any other up to the end."""
    match = _EXCEPTION.search(part)
    if match is None:
        return part, False
    if not part[: match.start()].strip():
        comma = part.find(",", match.end())
        return _blank(part, match.start(), comma + 1 if comma >= 0 else len(part)), True
    return _blank(part, match.start(), len(part)), True


def _without_alternative(part: str) -> str:
    """`part` without a second number for another case: `within 45 days, or within 30 days for ...`."""
    for match in _SECOND_NUMBER.finditer(part):
        if re.search(r"\d", part[: match.start()]):
            return _blank(part, match.start(), len(part))
    return part


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _only(text: str, start: int, end: int) -> str:
    return " " * start + text[start:end] + " " * (len(text) - end)
