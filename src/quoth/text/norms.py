"""Norms: the quantities and the permissions that a sentence lays down, each with the case that it is for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from quoth.text.bounds import Bound, attribute, bound, bound_start, is_supposed
from quoth.text.norm_clauses import Clause, clauses, is_report
from quoth.text.norm_words import Wording, content, wording
from quoth.text.permissions import Permission, Stance, permission
from quoth.text.stated import COUNT, levelled, stated
from quoth.types import Quantity, Span

_LONGEST = 1000
"""Characters. A sentence beyond that has more cases than its words can tell apart."""


@dataclass(frozen=True, slots=True)
class Norm:
    """One thing that a clause lays down: a quantity in a role, or a stance.

    `said` is where the sentence says it. `wording` are the words of its case, `agents` those of who acts, `places`
    those of the places that a permission is for, `cases` the numbers that tell the case apart. `subject` is the phrase
    before the verb, for people.
    """

    said: Span
    quantity: Quantity | None
    bound: Bound | None
    attribute: str | None
    stance: Stance | None
    wording: Wording
    agents: frozenset[str]
    places: frozenset[str]
    cases: frozenset[str]
    subject: Span | None

    @property
    def topic(self) -> tuple[str, str]:
        """Only norms of one topic can disagree."""
        if self.quantity is not None and self.bound is not None:
            return self.bound.value, self.quantity.dimension
        consent = self.stance in {Stance.CONSENT_FREE, Stance.CONSENT_NEEDED}
        return "permission", "consent" if consent else "act"

    @property
    def words(self) -> frozenset[str]:
        return frozenset(self.wording.words)


@lru_cache(maxsize=4096)
def norms(text: str) -> tuple[Norm, ...]:
    """The norms of a sentence, in order; none where it only tells what another text says, or is overlong."""
    level = levelled(text)
    if len(text) > _LONGEST or is_report(level):
        return ()
    numbers = stated(level)
    return tuple(norm for clause in clauses(level) for norm in _of_clause(clause, numbers))


def _of_clause(clause: Clause, numbers: Sequence[Quantity]) -> list[Norm]:
    whole = clause.subject[: clause.verb] + clause.predicate[clause.verb :] if clause.subject else clause.predicate
    every = [one for one in numbers if whole[one.span.start : one.span.end].strip()]
    stance = permission(clause, whole)
    if not every and stance is None:
        return []
    own = _roles(_once(whole, every), clause, whole, allowed=stance is not None)
    agents, masked = _agents(clause, _masked(whole, every))
    bare = Norm(
        said=Span(0, 1),
        quantity=None,
        bound=None,
        attribute=None,
        stance=None,
        wording=wording(masked),
        agents=agents,
        places=frozenset(),
        cases=frozenset(_key(one) for one, role in own if role is Bound.CASE),
        subject=_subject(clause),
    )
    found = [
        replace(bare, said=_said(one.span, whole), quantity=one, bound=role, attribute=attribute(whole, one))
        for one, role in own
        if role is not Bound.CASE
    ]
    plain = [norm for norm in found if not any(_rivals(norm, other) for other in found)]
    unique = [norm for at, norm in enumerate(plain) if not any(_same(norm, other) for other in plain[:at])]
    bounded = any(role in {Bound.MOST, Bound.LEAST} for _, role in own)
    # `shall not cover more than 40%` forbids nothing but the rest.
    if stance is not None and not (bounded and stance.stance is Stance.FORBIDDEN):
        telling = [one for one, role in own if role is not Bound.MOST or not one.dimension.startswith(COUNT)]
        unique.append(_permitted(replace(bare, cases=frozenset(map(_key, telling))), stance, masked))
    return unique


def _said(span: Span, whole: str) -> Span:
    """The words of a quantity without the full stop that a unit may have had."""
    return Span(span.start, span.start + len(whole[span.start : span.end].rstrip(" .")))


def _permitted(bare: Norm, stance: Permission, masked: str) -> Norm:
    if stance.consent is None:
        place = _PLACE.match(masked, stance.said.end)
        places = frozenset(content(place[0])) if place else frozenset[str]()
        return replace(bare, said=stance.said, stance=stance.stance, places=places)
    # Of the words that speak of the consent only those that name it belong to the case.
    named = _FORMAL.sub(" ", masked[stance.consent.start : stance.consent.end])
    rest = masked[: stance.said.start] + " " * len(stance.said) + masked[stance.said.end :]
    about = replace(wording(f"{rest} ; {named}"), lists=())
    return replace(bare, said=stance.said, stance=stance.stance, wording=about)


_PLACE = re.compile(r"\s+(?:in|on|at)\s[^,;]*")
_FORMAL = re.compile(r"\b(?:prior|written|express|advance)\b")


def _once(whole: str, numbers: Sequence[Quantity]) -> list[Quantity]:
    """The numbers without those that only repeat the one before: `forty percent (40%)`."""
    kept: list[Quantity] = []
    for one in numbers:
        last = kept[-1] if kept else None
        repeats = last is not None and _key(last) == _key(one) and whole[last.span.end : one.span.start].strip() == "("
        if not repeats:
            kept.append(one)
    return kept


def _roles(numbers: Sequence[Quantity], clause: Clause, whole: str, *, allowed: bool) -> list[tuple[Quantity, Bound]]:
    """Each number with its role. One that describes a thing rules only where the clause rules nothing else."""
    read = [(one, _role(one, clause, whole)) for one in numbers]
    ruling = [one for one, role in read if role is not Bound.CASE]
    if not allowed and len(ruling) == 1:
        return read
    return [(one, Bound.CASE if _describes(whole[: one.span.start]) else role) for one, role in read]


def _role(one: Quantity, clause: Clause, whole: str) -> Bound:
    before, after = whole[: one.span.start], whole[one.span.end :]
    role = bound(before, after, one)
    if clause.subject and one.span.start < clause.verb:
        opening = role in {Bound.MOST, Bound.LEAST} and not content(before[: bound_start(before)])
        return role if opening else Bound.CASE
    if role is not Bound.CASE and is_supposed(whole[clause.verb : one.span.start]):
        return Bound.CASE
    if role is Bound.VALUE and not _lays_down(one, clause, whole):
        return Bound.CASE
    return role


_DESCRIBED = re.compile(
    r"\b(?:on|in|with|for|to|at|from|into)\s+(?:(?:an?|the|any|each|every)\s+)?(?P<noun>(?:[\w'-]+\s+){1,3}?)of\s+"
    r"(?:(?:at least|at most|up to|not (?:more|less) than|no (?:more|less|fewer) than)\s+)?$"
)


def _describes(before: str) -> bool:
    """Whether a number tells which thing is meant: `on a lot of at least 6,000 square feet`."""
    match = _DESCRIBED.search(before)
    return match is not None and bool(content(match["noun"]))


_COMMAND = re.compile(r"\b(?:shall|must|should|recommend(?:s|ed)?|optimum|optimal|ideal)\b")
_PAST = re.compile(r"\b(?:was|were|had|has|have|been|did|asked|proposed|averaged|reported|found|showed)\b")


def _lays_down(one: Quantity, clause: Clause, whole: str) -> bool:
    """Whether a number without a bound is a rule or a recommendation, not an observation."""
    if one.dimension.startswith(COUNT) or _PAST.search(whole):
        return False
    if _COMMAND.search(whole[: one.span.start]):
        return True
    if not clause.subject:  # a label or an imperative: `Seeding depth: 2 cm`
        return len(whole.split()) <= 20
    return len(whole[clause.verb : one.span.start].split()) <= 3


def _rivals(one: Norm, other: Norm) -> bool:
    """Whether one clause gives two values for the same thing, so that nobody can tell which is for which case."""
    same = one.topic == other.topic and one.attribute == other.attribute
    return same and not _same(one, other)


def _same(one: Norm, other: Norm) -> bool:
    if one.quantity is None or other.quantity is None or one.topic != other.topic:
        return False
    return (one.quantity.low, one.quantity.high) == (other.quantity.low, other.quantity.high)


def _key(one: Quantity) -> str:
    return f"{one.dimension} {one.low:.4g} {one.high:.4g}"


def _masked(whole: str, numbers: Sequence[Quantity]) -> str:
    """The clause without its quantities; of a count, what is counted stays."""
    for one in numbers:
        compared = re.search(r"\b(?:below|above)\s+$", whole[: one.span.start])
        start, end = compared.start() if compared else one.span.start, one.span.end
        written = whole[one.span.start : end]
        if one.dimension.startswith(COUNT) and " square " not in written:
            end = one.span.start + len(re.sub(r"[a-z].*", "", written))
        whole = whole[:start] + " " * (end - start) + whole[end:]
    return whole


_ACTIVE = re.compile(
    r"(?:shall|must|may|should|can|cannot|will)\s+(?:(?:not|never|also|only|always|\w+ly)\s+)*(?P<act>[\w-]+)"
)
_STATES = frozenset(
    "be exceed have measure contain stand remain extend include consist reach last run cover apply begin end".split()
)
_BY = re.compile(r"\bby\s+(?:the\s+|an?\s+)?(?P<who>[a-z][\w-]+(?:\s+[a-z][\w-]+)?)")


def _agents(clause: Clause, masked: str) -> tuple[frozenset[str], str]:
    """Who acts, and the clause without those words: the subject of an active verb, or what stands after `by`."""
    active = _ACTIVE.match(clause.predicate, clause.verb) if clause.subject else None
    if active is not None and active["act"] not in _STATES:
        who = wording(masked[: clause.verb]).first
        if who:
            return who, _without(masked, who, clause.verb)
    if (by := _BY.search(masked, clause.verb)) is not None and (who := frozenset(content(by["who"]))):
        return who, masked[: by.start()] + " " * (by.end() - by.start()) + masked[by.end() :]
    return frozenset(), masked


def _without(text: str, stems: frozenset[str], end: int) -> str:
    """`text` without those words before `end`."""
    words = re.finditer(r"[\w'-]+", text[:end])
    for match in [one for one in words if (found := content(one[0])) and stems.issuperset(found)]:
        text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
    return text


def _subject(clause: Clause) -> Span | None:
    text = clause.subject.rstrip(" ,")
    start = len(text) - len(text.lstrip(" ,"))
    return Span(start, len(text)) if start < len(text) else None
