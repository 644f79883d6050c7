"""Split a normalised sentence into clauses, without their exceptions, reasons and references.

Omitted text is replaced with spaces, so that offsets stay those of the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
