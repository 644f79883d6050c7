"""Extract norms: the quantities and permissions that a sentence lays down, each with the case it applies to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from quoth.answer.conflicts.norm_clauses import REPORT, Clause, Permission, Stance, blank, clauses, permission
from quoth.answer.conflicts.norm_words import ATTRIBUTES, Wording, content, wording
from quoth.language.quantities import COUNT, normalise_numbers, stated_quantities
from quoth.language.words import Compounds, joined_compounds
from quoth.types import Quantity, Span

_LONGEST = 1000
"""Characters. A longer sentence mixes more cases than its words can tell apart."""


class Bound(StrEnum):
    MOST = "most"
    LEAST = "least"
    VALUE = "value"
    CASE = "case"
    """It describes when the rule applies: `a lot of more than two acres`."""


@dataclass(frozen=True, slots=True)
class Norm:
    """A rule of a clause: a quantity with its role, or a stance.

    `span` is where the sentence states it. `wording` describes the case, `agents` are the stems of who acts, `places`
    the stems of where a permission holds, and `cases` the numbers that describe the case. `subject` is the span of the
    phrase before the verb, for display.
    """

    span: Span
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
        """A key for comparison: only norms with the same topic can disagree."""
        if self.quantity is not None and self.bound is not None:
            return self.bound.value, self.quantity.dimension
        consent = self.stance in {Stance.CONSENT_FREE, Stance.CONSENT_NEEDED}
        return "permission", "consent" if consent else "act"

    @property
    def words(self) -> frozenset[str]:
        return frozenset(self.wording.words)

    @property
    def about(self) -> frozenset[str]:
        """The stems of all that it names: its case and who acts."""
        return self.words | self.agents


@lru_cache(maxsize=4096)
def norms(text: str, compounds: Compounds = ()) -> tuple[Norm, ...]:
    """Return the norms of a sentence, in order; empty when it is too long or reports what another text says."""
    level = joined_compounds(normalise_numbers(text), compounds)
    if len(text) > _LONGEST or REPORT.search(level):
        return ()
    numbers = stated_quantities(level)
    return tuple(norm for clause in clauses(level) for norm in _of_clause(clause, numbers))


def _of_clause(clause: Clause, numbers: Sequence[Quantity]) -> list[Norm]:
    whole = clause.subject[: clause.verb] + clause.predicate[clause.verb :] if clause.subject else clause.predicate
    present = [quantity for quantity in numbers if whole[quantity.span.start : quantity.span.end].strip()]
    stance = permission(clause, whole)
    if not present and stance is None:
        return []
    own = _roles(_without_repeats(whole, present), clause, whole, allowed=stance is not None)
    agents, masked = _agents(clause, _masked(whole, present))
    end = len(clause.subject.rstrip(" ,"))
    start = end - len(clause.subject[:end].lstrip(" ,"))
    bare = Norm(
        span=Span(0, 1),
        quantity=None,
        bound=None,
        attribute=None,
        stance=None,
        wording=wording(masked),
        agents=agents,
        places=frozenset(),
        cases=frozenset(_key(quantity) for quantity, role in own if role is Bound.CASE),
        subject=Span(start, end) if start < end else None,
    )
    stated = _quantity_norms(bare, own, whole)
    bounded = any(role in {Bound.MOST, Bound.LEAST} for _, role in own)
    # `shall not cover more than 40%` is a bound, not a prohibition.
    if stance is not None and not (bounded and stance.stance is Stance.FORBIDDEN):
        telling = [
            quantity for quantity, role in own if role is not Bound.MOST or not quantity.dimension.startswith(COUNT)
        ]
        stated.append(_permitted(replace(bare, cases=frozenset(map(_key, telling))), stance, masked))
    return stated


def _quantity_norms(bare: Norm, own: Sequence[tuple[Quantity, Bound]], whole: str) -> list[Norm]:
    """Return each quantity that is a rule, once, without those whose case is unclear: two values for one thing."""
    ruling = [(quantity, role, _attribute(whole, quantity)) for quantity, role in own if role is not Bound.CASE]
    values: dict[tuple[Bound, str, str | None], set[tuple[float, float]]] = defaultdict(set)
    for quantity, role, measured in ruling:
        values[role, quantity.dimension, measured].add((quantity.low, quantity.high))
    stated: dict[tuple[Bound, str, float, float], Norm] = {}
    for quantity, role, measured in ruling:
        if len(values[role, quantity.dimension, measured]) == 1:
            start, end = quantity.span.start, quantity.span.end
            span = Span(start, start + len(whole[start:end].rstrip(" .")))
            norm = replace(bare, span=span, quantity=quantity, bound=role, attribute=measured)
            stated.setdefault((role, quantity.dimension, quantity.low, quantity.high), norm)
    return list(stated.values())


_PLACE = re.compile(r"\s+(?:in|on|at)\s[^,;]*")
_FORMAL = re.compile(r"\b(?:prior|written|express|advance)\b")


def _permitted(bare: Norm, stance: Permission, masked: str) -> Norm:
    norm = replace(bare, span=stance.span, stance=stance.stance)
    if stance.consent is None:
        place = _PLACE.match(masked, stance.span.end)
        return replace(norm, places=frozenset(content(place[0]))) if place else norm
    # Of the words about the consent, only its name belongs to the case.
    named = _FORMAL.sub(" ", masked[stance.consent.start : stance.consent.end])
    rest = blank(masked, stance.span.start, stance.span.end)
    return replace(norm, wording=replace(wording(f"{rest} ; {named}"), lists=()))


def _without_repeats(whole: str, numbers: Sequence[Quantity]) -> list[Quantity]:
    """Drop each number that only repeats the previous number: `forty percent (40%)`."""
    distinct: list[Quantity] = []
    for quantity in numbers:
        last = distinct[-1] if distinct else None
        if last is None or _key(last) != _key(quantity) or whole[last.span.end : quantity.span.start].strip() != "(":
            distinct.append(quantity)
    return distinct


# A number after it describes a thing: `on a lot of at least` 6,000 square feet.
_DESCRIBED = re.compile(
    r"\b(?:on|in|with|for|to|at|from|into)\s+(?:(?:an?|the|any|each|every)\s+)?(?P<noun>(?:[\w'-]+\s+){1,3}?)of\s+"
    r"(?:(?:at least|at most|up to|not (?:more|less) than|no (?:more|less|fewer) than)\s+)?$"
)


def _roles(numbers: Sequence[Quantity], clause: Clause, whole: str, *, allowed: bool) -> list[tuple[Quantity, Bound]]:
    """Return each number with its role; one that describes a thing is a rule only if the clause has no other rule."""
    roles = [(quantity, _role(quantity, clause, whole)) for quantity in numbers]
    ruling = [quantity for quantity, role in roles if role is not Bound.CASE]
    if not allowed and len(ruling) == 1:
        return roles
    described = [_DESCRIBED.search(whole, 0, quantity.span.start) for quantity in numbers]
    return [
        (quantity, Bound.CASE if match and content(match["noun"]) else role)
        for (quantity, role), match in zip(roles, described, strict=True)
    ]


def _role(quantity: Quantity, clause: Clause, whole: str) -> Bound:
    before, after = whole[: quantity.span.start], whole[quantity.span.end :]
    role = _bound(before, after, quantity)
    if clause.subject and quantity.span.start < clause.verb:
        opening = role in {Bound.MOST, Bound.LEAST} and not content(before[: _bound_start(before)])
        return role if opening else Bound.CASE
    if role is not Bound.CASE and _SUPPOSED.search(whole, clause.verb, quantity.span.start):
        return Bound.CASE
    if role is Bound.VALUE and not _lays_down(quantity, clause, whole):
        return Bound.CASE
    return role


_COMMAND = re.compile(r"\b(?:shall|must|should|recommend(?:s|ed)?|optimum|optimal|ideal)\b")
_PAST = re.compile(r"\b(?:was|were|had|has|have|been|did|asked|proposed|averaged|reported|found|showed)\b")


def _lays_down(quantity: Quantity, clause: Clause, whole: str) -> bool:
    """Return whether a number without a bound is a rule or a recommendation, not an observation."""
    if quantity.dimension.startswith(COUNT) or _PAST.search(whole):
        return False
    if _COMMAND.search(whole[: quantity.span.start]):
        return True
    if not clause.subject:  # a label or an imperative: `Seeding depth: 2 cm`
        return len(whole.split()) <= 20
    return len(whole[clause.verb : quantity.span.start].split()) <= 3


def _key(quantity: Quantity) -> str:
    return f"{quantity.dimension} {quantity.low:.4g} {quantity.high:.4g}"


def _masked(whole: str, numbers: Sequence[Quantity]) -> str:
    """Blank the quantities of a clause; what a count counts stays."""
    for quantity in numbers:
        compared = re.search(r"\b(?:below|above)\s+$", whole[: quantity.span.start])
        start, end = compared.start() if compared else quantity.span.start, quantity.span.end
        written = whole[quantity.span.start : end]
        if quantity.dimension.startswith(COUNT) and " square " not in written:
            end = quantity.span.start + len(re.sub(r"[a-z].*", "", written))
        whole = blank(whole, start, end)
    return whole


_ACTIVE = re.compile(
    r"(?:shall|must|may|should|can|cannot|will)\s+(?:(?:not|never|also|only|always|\w+ly)\s+)*(?P<act>[\w-]+)"
)
_STATES = frozenset(
    "be exceed have measure contain stand remain extend include consist reach last run cover apply begin end".split()
)
_BY = re.compile(r"\bby\s+(?:the\s+|an?\s+)?(?P<who>[a-z][\w-]+(?:\s+[a-z][\w-]+)?)")


def _agents(clause: Clause, masked: str) -> tuple[frozenset[str], str]:
    """Return the stems of who acts (subject of an active verb, or noun after `by`), and the clause without them."""
    active = _ACTIVE.match(clause.predicate, clause.verb) if clause.subject else None
    if active and active["act"] not in _STATES and (who := wording(masked[: clause.verb]).first):
        for word in re.finditer(r"[\w'-]+", masked[: clause.verb]):
            if (stems := content(word[0])) and who.issuperset(stems):
                masked = blank(masked, word.start(), word.end())
        return who, masked
    if (by := _BY.search(masked, clause.verb)) is not None and (who := frozenset(content(by["who"]))):
        return who, blank(masked, by.start(), by.end())
    return frozenset(), masked


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
# The words before a number that make it part of a condition or a description.
_SUPPOSED = re.compile(r"\b(?:if|when|whenever|where|who|that|whose|until|once|while|with|having)\b[^,]*$")


def _bound(before: str, after: str, quantity: Quantity) -> Bound:
    """Return the role of `quantity` in its clause, which reads `before`, the quantity, `after`."""
    if (compared := _compared(before)) is not None:
        return compared
    if _WITHIN.search(before):
        return Bound.MOST if quantity.dimension in {"time", "month"} else Bound.CASE
    if _AFTER_MOST.match(after):
        return Bound.MOST
    if _AFTER_LEAST.match(after):
        return Bound.LEAST
    most, least = _AT_MOST.search(before), _AT_LEAST.search(before)
    if most is not None and (least is None or most.start() > least.start()):
        return Bound.MOST
    return Bound.LEAST if least is not None else Bound.VALUE


def _compared(before: str) -> Bound | None:
    """Return the role that a comparison gives a number, or None; only a negation or a demand makes it a bound."""
    if match := _EXCEED.search(before):
        return Bound.MOST if _NOT.search(before, 0, match.start()) else Bound.CASE
    if match := _COMPARED.search(before):
        ahead = before[: match.start()]
        negated = _NEGATED.search(ahead) is not None
        if negated or _DEMANDED.search(ahead):
            return Bound.MOST if negated == bool(match["more"]) else Bound.LEAST
        return Bound.CASE
    return None


def _bound_start(before: str) -> int:
    """Return the offset where the bound before a number begins: `no more than` 3, `a minimum of` 8."""
    starts = [match.start() for pattern in (_COMPARED, _AT_MOST, _AT_LEAST) if (match := pattern.search(before))]
    return min(starts, default=len(before))


def _attribute(clause: str, quantity: Quantity) -> str | None:
    """Return what a length measures, from the nearest word for it; None without such a word or for other dimensions."""
    if quantity.dimension != "length":
        return None
    following = re.split(r"[,;\d]", clause[quantity.span.end :][:40])[0]
    if re.match(r"\s+(?:from|away|apart|back)\b", following):
        return "distance"
    before = re.findall(r"[a-z]+", clause[: quantity.span.start])
    words = (*re.findall(r"[a-z]+", following), *reversed(before))
    return next((ATTRIBUTES[word] for word in words if word in ATTRIBUTES), None)
