"""Find conflicts: statements in force that disagree about what the question asks.

A false alarm costs more trust than a missed conflict. Two statements are compared only when nothing suggests that they
apply to different cases: not the words of their clauses, not their headings, not a number that describes the case.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from quoth.answer.conflicts.norm_clauses import OPPOSITES, Stance
from quoth.answer.conflicts.norm_words import (
    ATTRIBUTES,
    Headings,
    Wording,
    content,
    headings_of,
    is_person,
    is_unit,
    separated_by_headings,
)
from quoth.answer.conflicts.norms import Norm, norms
from quoth.language.asked_quantities import asked_dimensions, asked_units
from quoth.language.quantities import COUNT, normalise_numbers, quantities, same_quantity
from quoth.language.words import POLAR_OPENERS, Compounds, fold, singular
from quoth.types import (
    Analysis,
    Conflict,
    ConflictKind,
    RegionKind,
    Remark,
    Sentence,
    Span,
    Statement,
    term,
)

_ORDER = ("binding", "guidance", "precedent")
_UNRULED = frozenset({RegionKind.TABLE_ROW, RegionKind.CODE, RegionKind.CAPTION, RegionKind.FOOTNOTE})
"""Kinds of regions whose sentences mean little alone: the column of a number in a table row is not known here."""
_ONE_CASE = re.compile(r"\b(?:case|application|request|claim|petition|appeal|complaint|ticket)\s+(?:no\.?\s*)?[\w-]*\d")
"""Names of documents that decide a single case, and so set no general rule."""
_MOST_WORDS = 10
_OPENING = re.compile(r"^\W*(?:\(?\w{1,3}[.)]\s+)?(?:(?:a|an|the|no|any|all|each|every)\s+)?", re.IGNORECASE)
"""The label and the article before the subject of a sentence."""
_LIKE = 3  # letters compared at least; the last letter of a stem may change: `carry`, `carried`

_HOW_MANY = re.compile(r"\bhow many ((?:\w+ ?){1,3})")
_MEASURED = re.compile(r"\b(?:limits?|maximum|minimum|max|min|amount|rate|number|how (?:much|many|long|often))\b")


@dataclass(frozen=True, slots=True)
class _AskedNorm:
    """The things a question names, and what it asks about them."""

    things: tuple[tuple[frozenset[str], ...], ...]
    """Each thing as its names, synonyms included; each name as the stems of its words."""
    words: frozenset[str]
    """The stems of all names."""
    dimensions: frozenset[str]
    """The dimensions of the quantities that can answer; empty when any can."""
    attribute: str | None
    """What a length measures (`height`, `depth`); None when the question does not say."""
    permissions: bool
    """Whether the question may ask what is allowed; `how high` does not."""
    quantities: bool
    """Whether the question may ask for an amount; `may I` does not."""

    def named(self, words: frozenset[str]) -> frozenset[int]:
        """Return the indices of the things that the words name."""
        return frozenset(index for index, group in enumerate(self.things) if any(name <= words for name in group))

    def measures(self, dimension: str) -> bool:
        """Return whether a quantity of this dimension can answer; the length of a text is a count."""
        counted = dimension.startswith(COUNT) and self.attribute == "length"
        return not self.dimensions or dimension in self.dimensions or counted


@dataclass(frozen=True, slots=True)
class _Side:
    """One norm of a statement. `rank` orders the result; `named` holds the indices of the asked things it names."""

    rank: tuple[int, str, int, int]
    statement: Statement
    norm: Norm
    headings: Headings
    named: frozenset[int]

    @property
    def says(self) -> str:
        return self.text(self.norm.span).rstrip(" .,;")

    def text(self, span: Span) -> str:
        return self.statement.sentence.text[span.start : span.end]


def conflicts_of(
    statements: Sequence[Statement], analysis: Analysis, *, compounds: Compounds = ()
) -> tuple[Conflict, ...]:
    """Return a conflict for each subject on which statements in force disagree, ordered by their first statements."""
    asked = _asked_norm(analysis)
    if asked is None:
        return ()
    sides = {
        (statement.sentence.id, norm.span): side
        for statement in statements
        if _is_source(statement) and _may_mention(statement.sentence, asked)
        for norm in _norms(statement.sentence, compounds)
        if (side := _side(statement, norm, asked)) is not None
    }
    topics: dict[tuple[str, str], list[_Side]] = defaultdict(list)
    for side in sorted(sides.values(), key=lambda side: side.rank):
        topics[side.norm.topic].append(side)
    groups = [group for sides_of_topic in topics.values() for group in _groups(sides_of_topic, asked)]
    return tuple(_conflict(group) for group in sorted(groups, key=lambda group: [side.rank for side in group]))


def _asked_norm(analysis: Analysis) -> _AskedNorm | None:
    """Read the question; None if no rule can answer it (`why`, `who`) or if it names no thing."""
    question = fold(analysis.search_text)
    if re.match(r"(?:why|who|whose)\b", question):
        return None
    things = []
    for group in analysis.terms:
        if is_unit(fold(group[0])):
            continue
        names = [frozenset(content(normalise_numbers(name))) for name in group]
        if names[0]:
            things.append(tuple(name for name in names if name))
    if not things:
        return None
    counted = {COUNT + singular(word) for match in _HOW_MANY.finditer(question) for word in match[1].split()}
    dimensions = {dimension for _, dimension in asked_units(question)} | counted
    dimensions |= asked_dimensions(question) | {quantity.dimension for quantity in quantities(question)}
    if question.startswith("when "):
        dimensions |= {"time", "month"}
    measured = next((ATTRIBUTES[word] for word in re.findall(r"[a-z]+", question) if word in ATTRIBUTES), None)
    measures = bool(dimensions or _MEASURED.search(question))
    polar = question.split()[0] in POLAR_OPENERS
    return _AskedNorm(
        things=tuple(things),
        words=frozenset(
            word for group in analysis.terms for name in group for word in content(normalise_numbers(name))
        ),
        dimensions=frozenset(dimensions),
        attribute=measured,
        permissions=bool(counted) or not measures or (polar and _MEASURED.search(question) is None),
        quantities=measures or not polar,
    )


def _is_source(statement: Statement) -> bool:
    """Return whether a statement sets a rule that is in force; a recital or the decision of a single case does not."""
    headings = fold(" ".join(statement.sentence.section))
    return (
        statement.in_force
        and statement.authority != "precedent"
        and statement.sentence.kind.evidence
        and statement.sentence.kind not in _UNRULED
        and not re.search(r"\brecitals?\b|\bwhereas\b|\bbackground\b|\bdefinitions?\b", headings)
        and not _ONE_CASE.search(fold(statement.document_name))
    )


def _may_mention(sentence: Sentence, asked: _AskedNorm) -> bool:
    """Return False only if neither the sentence nor its headings can name an asked thing: a cheap filter."""
    text = fold(" ".join((sentence.search_text, *sentence.section)))
    return any(word[: max(_LIKE, len(word) - 1)] in text for word in asked.words)


def _norms(sentence: Sentence, compounds: Compounds) -> list[Norm]:
    """Return the norms of a sentence; a list item that starts in lower case is read together with its lead."""
    text, lead = sentence.text, sentence.lead.text if sentence.lead else ""
    goes_on = re.match(r"\W*(?:\(?\w{1,3}[.)]\s+)?[a-z]", text)
    if sentence.kind is not RegionKind.LIST_ITEM or not lead.rstrip().endswith(":") or not goes_on:
        return list(norms(text, compounds))
    opening = lead.rstrip()[:-1] + " "
    size = len(opening)
    return [
        replace(norm, span=Span(norm.span.start - size, norm.span.end - size), subject=None)
        for norm in norms(opening + text, compounds)
        if norm.span.start >= size
    ]


def _side(statement: Statement, norm: Norm, asked: _AskedNorm) -> _Side | None:
    """Return the norm as a side; None when it is not about what the question asks."""
    if not (asked.permissions if norm.quantity is None else asked.measures(norm.quantity.dimension)):
        return None
    if norm.attribute and asked.attribute and norm.attribute != asked.attribute:
        return None
    headings = headings_of(statement.sentence.section)
    if not asked.named(norm.about):  # the heading may name what the sentence does not
        norm = replace(norm, wording=replace(norm.wording, words=(*norm.wording.words, *headings.nearest)))
    if not asked.named(norm.about):
        return None
    authority = _ORDER.index(statement.authority) if statement.authority in _ORDER else len(_ORDER)
    rank = (authority, statement.sentence.doc_id, statement.sentence.quote.span.start, norm.span.start)
    return _Side(rank, statement, norm, headings, named=asked.named(norm.about | headings.words))


def _groups(sides: Sequence[_Side], asked: _AskedNorm) -> list[list[_Side]]:
    """Return the sides that disagree, grouped by subject; each sentence appears once in a group."""
    joined: dict[int, int] = {}
    for first, second in combinations(range(len(sides)), 2):
        if _in_conflict(sides[first], sides[second], asked):
            low = min(joined.get(first, first), joined.get(second, second))
            merged = {joined.get(first, first), joined.get(second, second)}
            joined |= {index: low for index, root in joined.items() if root in merged} | {first: low, second: low}
    groups: dict[int, list[_Side]] = defaultdict(list)
    for index in sorted(joined):
        if all(side.statement.sentence.id != sides[index].statement.sentence.id for side in groups[joined[index]]):
            groups[joined[index]].append(sides[index])
    return list(groups.values())


def _in_conflict(side: _Side, other: _Side, asked: _AskedNorm) -> bool:
    if not _disagree(side.norm, other.norm) or not _both_asked(side, other, asked):
        return False
    here, there = side.statement.sentence, other.statement.sentence
    apart = here.doc_id != there.doc_id
    if not apart and here.section == there.section:
        return False
    if apart and side.norm.wording.of_this_text and other.norm.wording.of_this_text:
        return False  # each document is about itself: `this agreement`
    known = side.norm.about | other.norm.about | asked.words
    measured = {side.norm.attribute, other.norm.attribute}
    return (
        # The question may supply the attribute that one side omits.
        (len(measured) == 1 or (None in measured and asked.attribute in measured))
        # Inside one document a special rule overrides the general rule; that is not a conflict.
        and _same_case(side, other, asked=asked.words if apart else frozenset())
        and not separated_by_headings(side.headings, other.headings, known)
    )


def _both_asked(side: _Side, other: _Side, asked: _AskedNorm) -> bool:
    """Return whether both sides are about what the question asks.

    They must share an asked thing, and one side must name half of them all: a general rule does not name the special
    case. Two amounts conflict under a question for a permission only if both sides name everything asked.
    """
    common, most = len(side.named & other.named), max(len(side.named), len(other.named))
    if side.norm.quantity is not None and not asked.quantities:
        return common == len(asked.things)
    return common > 0 and 2 * most >= len(asked.things)


def _conflict(sides: Sequence[_Side]) -> Conflict:
    kind = ConflictKind.QUANTITY if sides[0].norm.quantity is not None else ConflictKind.PERMISSION
    names = [side.statement.document_name for side in sides]
    details = tuple(
        Remark(
            "{source} says {said}",
            source=_source(side, alone=names.count(side.statement.document_name) == 1),
            said=" ".join(side.says.split()),
        )
        for side in sides
    )
    return Conflict(
        kind=kind,
        subject=_subject(sides),
        statements=tuple(side.statement for side in sides),
        says=tuple(side.says for side in sides),
        detail=Remark("{details}.", details=details),
    )


def _source(side: _Side, *, alone: bool) -> str:
    statement = side.statement
    section = "" if alone or not statement.sentence.section else f", {statement.sentence.section[-1]}"
    name = f"{statement.document_name}{section}"
    if not statement.authority:
        return name
    authority = term(statement.authority)
    if statement.authority_guessed:
        return Remark("{name} ({authority}, guessed)", name=name, authority=authority)
    return Remark("{name} ({authority})", name=name, authority=authority)


def _subject(sides: Sequence[_Side]) -> str:
    """Return what the sides disagree about: the subject of the first clause, or else the words that all sides share."""
    shared = frozenset.intersection(*(side.norm.about for side in sides))
    measured = next((side.norm.attribute for side in sides if side.norm.attribute), None)
    phrase = _phrase(sides[0], shared) or _words(sides[0], shared)
    return f"{measured} of {phrase}" if measured and not any(word in ATTRIBUTES for word in phrase.split()) else phrase


def _words(side: _Side, stems: frozenset[str]) -> str:
    """Return the words with these stems as written, from the clause's subject, then its sentence, then its heading."""
    sentence = side.statement.sentence
    named = side.text(side.norm.subject) if side.norm.subject else ""
    surface: dict[str, str] = {}
    for match in re.finditer(r"[^\W\d_][\w'’-]*", " ".join((named, sentence.text, *sentence.section[-1:]))):
        for word in content(normalise_numbers(match[0])):
            surface.setdefault(word, fold(match[0]))
    return " ".join(text for word, text in surface.items() if word in stems)


def _phrase(side: _Side, shared: frozenset[str]) -> str:
    """Return the clause's subject as written if it is short and names what all sides are about, or ``""``."""
    if side.norm.subject is None or side.norm.agents:
        return ""
    text = _OPENING.sub("", " ".join(side.text(side.norm.subject).split())).rstrip(" ,")
    named = content(normalise_numbers(text))
    fits = len(text.split()) <= _MOST_WORDS and not re.search(r"\d", normalise_numbers(text))
    return text if fits and shared.issuperset(named) and 3 * len(named) >= 2 * len(shared) else ""


def _disagree(norm: Norm, other: Norm) -> bool:
    """Return whether two norms on one topic exclude each other: different values, or opposite stances."""
    if norm.quantity is not None and other.quantity is not None:
        apart = norm.quantity.high < other.quantity.low or other.quantity.high < norm.quantity.low
        return apart and not same_quantity(norm.quantity, other.quantity)
    return norm.stance is not None and OPPOSITES[norm.stance] is other.stance


def _same_case(side: _Side, other: _Side, *, asked: frozenset[str]) -> bool:
    """Return whether two norms apply to the same case: every restriction of one, heading included, restricts the other.

    A restriction on one side only does not count when the question asks for it, because the other side's case includes
    it; `asked` holds those words.
    """
    norm, other_norm = side.norm, other.norm
    # `the rear fence` is a particular thing, `a fence` and `fences` are none.
    only_one_is_particular = (
        norm.wording.head == other_norm.wording.head and norm.wording.definite != other_norm.wording.definite
    )
    if norm.cases != other_norm.cases or only_one_is_particular:
        return False
    here, there = _with_agents(norm, other_norm), _with_agents(other_norm, norm)
    left = _left_over(here, there.union(other_norm.agents, other.headings.nearest), norm.wording)
    right = _left_over(there, here.union(norm.agents, side.headings.nearest), other_norm.wording)
    if asked:  # one document may allow in some places what the other forbids everywhere
        left, right = left - _excused_places(norm, right), right - _excused_places(other_norm, left)
    return not (left and right) and (left or right) <= asked


def _excused_places(norm: Norm, others: frozenset[str]) -> frozenset[str]:
    return norm.places if norm.stance is Stance.ALLOWED and not others else frozenset()


def _with_agents(norm: Norm, other: Norm) -> frozenset[str]:
    """Return the words of the case, with the agent when both norms name one: a passive verb leaves it open."""
    open_agents = not norm.agents or not other.agents or is_person(norm.agents) or is_person(other.agents)
    return norm.words if open_agents else norm.about


def _left_over(words: frozenset[str], known: frozenset[str], own: Wording) -> frozenset[str]:
    """Return the words missing from `known`, except alternatives to a known word: `hedge` in `fence or hedge`."""

    def is_alternative(word: str) -> bool:
        return any(
            any(word in chunk for chunk in group) and any(word not in chunk and chunk <= known for chunk in group)
            for group in own.lists
        )

    return frozenset(word for word in words - known if not is_alternative(word))
