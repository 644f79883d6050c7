"""Conflicts: statements in force that disagree on what the question is about.

A false alarm costs more trust than a missed conflict, so two statements are compared only where nothing tells their
cases apart: neither the words of the clauses, nor the headings above them, nor a number that describes the case.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from quoth.text.asked_norms import Asked, asked_for
from quoth.text.fold import fold
from quoth.text.norm_cases import disagree, same_case
from quoth.text.norm_headings import Headings, headings_of, parted_by_headings
from quoth.text.norm_words import ATTRIBUTES, content
from quoth.text.norms import Norm, norms
from quoth.text.stated import levelled
from quoth.types import Analysis, Conflict, ConflictKind, RegionKind, Sentence, Span, Statement

_ORDER = ("binding", "guidance", "precedent")
_UNRULED = frozenset({RegionKind.TABLE_ROW, RegionKind.CODE, RegionKind.CAPTION, RegionKind.FOOTNOTE})
"""Kinds whose sentences mean nothing alone: which column of a row a number stands in is not known here."""
_ONE_CASE = re.compile(r"\b(?:case|application|request|claim|petition|appeal|complaint|ticket)\s+(?:no\.?\s*)?[\w-]*\d")
"""A document so named decides one case; it is no rule for others."""
_MOST_WORDS = 10
_OPENING = re.compile(r"^\W*(?:\(?\w{1,3}[.)]\s+)?(?:(?:a|an|the|no|any|all|each|every)\s+)?", re.IGNORECASE)
"""A label and an article before the subject of a sentence."""
_LIKE = 3  # letters at least; the last one of a stem may change: `carry`, `carried`


@dataclass(frozen=True, slots=True)
class _Side:
    """One norm of a statement. `rank` orders the result; `named` are the things asked for that it names."""

    rank: tuple[int, str, int, int]
    statement: Statement
    norm: Norm
    headings: Headings
    named: frozenset[int]

    @property
    def says(self) -> str:
        text = self.statement.sentence.text
        return text[self.norm.said.start : self.norm.said.end].rstrip(" .,;")


def conflicts_of(statements: Sequence[Statement], analysis: Analysis) -> tuple[Conflict, ...]:
    """One conflict for each subject on which statements in force disagree, in the order of their first statements."""
    asked = asked_for(analysis)
    if asked is None:
        return ()
    topics: dict[tuple[str, str], list[_Side]] = defaultdict(list)
    for side in _sides(statements, asked):
        topics[side.norm.topic].append(side)
    groups = [group for sides in topics.values() for group in _groups(sides, asked)]
    return tuple(_conflict(group) for group in sorted(groups, key=lambda group: [side.rank for side in group]))


def _sides(statements: Iterable[Statement], asked: Asked) -> list[_Side]:
    found = {
        (statement.sentence.id, norm.said): side
        for statement in statements
        if _is_source(statement) and _may_speak_of(statement.sentence, asked)
        for norm in _norms(statement.sentence)
        if (side := _side(statement, norm, asked)) is not None
    }
    return sorted(found.values(), key=lambda side: side.rank)


def _is_source(statement: Statement) -> bool:
    """Whether a statement rules anything now: a decision about one case, or a recital, does not."""
    headings = fold(" ".join(statement.sentence.section))
    return (
        statement.in_force
        and statement.authority != "precedent"
        and statement.sentence.kind.evidence
        and statement.sentence.kind not in _UNRULED
        and not re.search(r"\brecitals?\b|\bwhereas\b|\bbackground\b|\bdefinitions?\b", headings)
        and not _ONE_CASE.search(fold(statement.document_name))
    )


def _may_speak_of(sentence: Sentence, asked: Asked) -> bool:
    """Whether a sentence or a heading of it holds the beginning of a word asked for; cheap, and true too often."""
    text = fold(" ".join((sentence.search_text, *sentence.section)))
    return any(word[: max(_LIKE, len(word) - 1)] in text for word in asked.words)


def _norms(sentence: Sentence) -> list[Norm]:
    """The norms of a sentence; a list item that goes on in small letters is read with the line that opens it."""
    text, lead = sentence.text, sentence.lead.text if sentence.lead else ""
    goes_on = re.match(r"\W*(?:\(?\w{1,3}[.)]\s+)?[a-z]", text)
    if sentence.kind is not RegionKind.LIST_ITEM or not lead.rstrip().endswith(":") or not goes_on:
        return list(norms(text))
    opening = lead.rstrip()[:-1] + " "
    return [
        replace(
            norm,
            said=Span(norm.said.start - len(opening), norm.said.end - len(opening)),
            subject=None,
        )
        for norm in norms(opening + text)
        if norm.said.start >= len(opening)
    ]


def _side(statement: Statement, norm: Norm, asked: Asked) -> _Side | None:
    """The norm as a side, where it is about what is asked for."""
    if not (asked.permissions if norm.quantity is None else asked.measures(norm.quantity.dimension)):
        return None
    if norm.attribute and asked.attribute and norm.attribute != asked.attribute:
        return None
    headings = headings_of(statement.sentence.section)
    own = norm.words | norm.agents
    if not asked.named(own):  # the heading says what the sentence leaves unsaid
        norm = replace(norm, wording=replace(norm.wording, words=(*norm.wording.words, *headings.nearest)))
    named = asked.named(norm.words | norm.agents | headings.words)
    if not named or not asked.named(norm.words | norm.agents):
        return None
    place = _ORDER.index(statement.authority) if statement.authority in _ORDER else len(_ORDER)
    rank = (place, statement.sentence.doc_id, statement.sentence.quote.span.start, norm.said.start)
    return _Side(rank, statement, norm, headings, named)


def _groups(sides: Sequence[_Side], asked: Asked) -> list[list[_Side]]:
    """The sides that disagree, joined where they are about one subject."""
    joined: dict[int, int] = {}
    for one, other in combinations(range(len(sides)), 2):
        if _in_conflict(sides[one], sides[other], asked):
            low = min(joined.get(one, one), joined.get(other, other))
            merged = {joined.get(one, one), joined.get(other, other)}
            joined |= {at: low for at, root in joined.items() if root in merged} | {one: low, other: low}
    groups: dict[int, list[_Side]] = defaultdict(list)
    for at in sorted(joined):
        if all(side.statement.sentence.id != sides[at].statement.sentence.id for side in groups[joined[at]]):
            groups[joined[at]].append(sides[at])
    return list(groups.values())


def _in_conflict(one: _Side, other: _Side, asked: Asked) -> bool:
    if not disagree(one.norm, other.norm) or not _both_asked(one, other, asked):
        return False
    here, there = one.statement.sentence, other.statement.sentence
    if here.doc_id == there.doc_id and here.section == there.section:
        return False
    # Inside one document the special rule goes before the general one; that is no disagreement.
    apart = here.doc_id != there.doc_id
    if apart and one.norm.wording.of_this_text and other.norm.wording.of_this_text:
        return False  # each speaks of itself: `this agreement`
    special = asked.words if apart else frozenset[str]()
    return (
        _same_measure(one.norm, other.norm, asked)
        and same_case(one.norm, other.norm, asked=special, around=_nearest(one, other))
        and not parted_by_headings(
            (one.headings, one.norm.words | one.norm.agents),
            (other.headings, other.norm.words | other.norm.agents),
            asked=asked.words,
        )
    )


def _nearest(one: _Side, other: _Side) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(one.headings.nearest), frozenset(other.headings.nearest)


def _both_asked(one: _Side, other: _Side, asked: Asked) -> bool:
    """Whether both name a thing asked for, and one of them half of all; a general rule leaves the special case unsaid.

    What may be done is no question of how much, unless both are about all that is asked for.
    """
    common, most = len(one.named & other.named), max(len(one.named), len(other.named))
    if one.norm.quantity is not None and not asked.quantities:
        return common == len(asked.things)
    return common > 0 and 2 * most >= len(asked.things)


def _same_measure(one: Norm, other: Norm, asked: Asked) -> bool:
    """Whether both measure the same of their subject; the question may say what one of them leaves unsaid."""
    if one.attribute == other.attribute:
        return True
    return None in {one.attribute, other.attribute} and asked.attribute in {one.attribute, other.attribute}


def _conflict(sides: Sequence[_Side]) -> Conflict:
    kind = ConflictKind.QUANTITY if sides[0].norm.quantity is not None else ConflictKind.PERMISSION
    names = [side.statement.document_name for side in sides]
    told = ", ".join(
        f"{_source(side, alone=names.count(side.statement.document_name) == 1)} says {' '.join(side.says.split())}"
        for side in sides
    )
    return Conflict(
        kind=kind,
        subject=_subject(sides),
        statements=tuple(side.statement for side in sides),
        says=tuple(side.says for side in sides),
        detail=f"{told}.",
    )


def _source(side: _Side, *, alone: bool) -> str:
    statement = side.statement
    section = "" if alone or not statement.sentence.section else f", {statement.sentence.section[-1]}"
    worth = f" ({statement.authority})" if statement.authority else ""
    return f"{statement.document_name}{section}{worth}"


def _subject(sides: Sequence[_Side]) -> str:
    """What the sides disagree about: the subject of the first one's clause, or else the words that all share."""
    shared = frozenset.intersection(*(side.norm.words | side.norm.agents for side in sides))
    measured = next((side.norm.attribute for side in sides if side.norm.attribute), None)
    phrase = _phrase(sides[0], shared) or _words(sides[0], shared)
    return f"{measured} of {phrase}" if measured and not any(word in ATTRIBUTES for word in phrase.split()) else phrase


def _words(side: _Side, stems: frozenset[str]) -> str:
    """The words with those stems: of the clause's subject, its sentence, and what these leave unsaid of the heading."""
    sentence, subject = side.statement.sentence, side.norm.subject
    named = sentence.text[subject.start : subject.end] if subject else ""
    surface: dict[str, str] = {}
    for match in re.finditer(r"[^\W\d_][\w'’-]*", " ".join((named, sentence.text, *sentence.section[-1:]))):
        for word in content(levelled(match[0])):
            surface.setdefault(word, fold(match[0]))
    return " ".join(text for word, text in surface.items() if word in stems)


def _phrase(side: _Side, shared: frozenset[str]) -> str:
    """The subject of the clause as written, where it is short and names what all sides are about."""
    norm = side.norm
    if norm.subject is None or norm.agents:
        return ""
    written = " ".join(side.statement.sentence.text[norm.subject.start : norm.subject.end].split())
    text = _OPENING.sub("", written).rstrip(" ,")
    named = content(levelled(text))
    fits = len(text.split()) <= _MOST_WORDS and not re.search(r"\d", levelled(text))
    return text if fits and shared.issuperset(named) and 3 * len(named) >= 2 * len(shared) else ""
