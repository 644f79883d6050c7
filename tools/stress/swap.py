"""Questions changed in one thing so that their evidence no longer answers them.

A change is made in a name, a place, a year, a number, a unit or the polarity, in any English question. What is put in
never occurs in the evidence; a year or a place may also be added to a question that has none.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice

from quoth.language.entities import entities
from quoth.language.words import fold
from quoth.types import EntityKind
from stress.amounts import is_counted, other_numbers, other_units
from stress.draft import Draft, EvidenceText, Pool, in_turn, is_new
from stress.substitutes import PLACES
from stress.wording import (
    Change,
    is_plural,
    is_polar,
    opposed,
    plural,
    replaced,
    with_phrase,
    without_possessive,
    words_of,
)

__all__ = ["Pool", "Swap", "SwapKind", "pool_of", "swaps"]


class SwapKind(StrEnum):
    ENTITY = "entity"
    YEAR = "year"
    NUMBER = "number"
    UNIT = "unit"
    POLARITY = "polarity"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class Swap:
    """A changed question: `after` stands where `before` stood; an empty `before` means that `after` was added.

    `stated` tells that the evidence itself holds `before`, so that the evidence alone shows the change.
    """

    kind: SwapKind
    question: str
    before: str
    after: str
    stated: bool


def pool_of(
    questions: Sequence[str],
    *,
    names: Iterable[str] = (),
    places: Iterable[str] = PLACES,
    terms: Iterable[Sequence[str]] = (),
) -> Pool:
    """The names and codes of the questions, each once in the order of its first use, and what is passed besides."""
    places = tuple(places)
    known = _bare_all(places)
    found: dict[EntityKind, dict[str, None]] = {EntityKind.NAME: {}, EntityKind.CODE: {}, EntityKind.QUOTED: {}}
    for question in questions:
        for entity in entities(question):
            text = without_possessive(entity.text)
            if entity.kind in found and _bare(text) not in known and not is_counted(entity):
                found[entity.kind][text] = None
    return Pool(
        names=tuple(dict.fromkeys((*found[EntityKind.NAME], *found[EntityKind.QUOTED], *names))),
        codes=tuple(found[EntityKind.CODE]),
        places=places,
        terms=tuple(tuple(group) for group in terms),
    )


def swaps(question: str, *, evidence: Sequence[str], pool: Pool, per_kind: int, seed: int) -> tuple[Swap, ...]:
    """Up to `per_kind` changed questions of each kind; the same arguments give the same ones."""
    digest = hashlib.blake2b(f"{seed}\n{question}".encode(), digest_size=8).digest()
    rng = random.Random(digest)
    draft = Draft(question, frozenset(words_of(question)), entities(question), EvidenceText.of(evidence), pool, rng)
    return tuple(swap for kind, make in _MAKERS for swap in islice(_counting(make(draft), kind, draft), per_kind))


def _counting(changes: Iterator[Change], kind: SwapKind, draft: Draft) -> Iterator[Swap]:
    """Only the changes that differ from the question and from one another."""
    seen = {fold(draft.question)}
    for question, before, after in changes:
        if fold(question) not in seen:
            seen.add(fold(question))
            yield Swap(kind, question, before, after, bool(before) and draft.evidence.holds(before))


def _entity(draft: Draft) -> Iterator[Change]:
    places = _bare_all(draft.pool.places)
    turns = [_other_terms(draft, *found) for found in _terms_in(draft)]
    for entity in draft.entities:
        before = without_possessive(entity.text)
        if entity.kind is EntityKind.CODE:
            turns.append(_other_names(draft, before, draft.pool.codes))
        elif entity.kind in {EntityKind.NAME, EntityKind.QUOTED} and not (
            is_counted(entity) or _bare(before) in places
        ):
            turns.append(_other_names(draft, before, draft.pool.names))
    return in_turn(turns)


def _other_names(draft: Draft, before: str, names: Sequence[str]) -> Iterator[Change]:
    """Other names of the same shape: as many words, capitals for capitals, a title for a title."""
    for after in draft.shuffled(names, most=100):
        if _shape(after) == _shape(before) and is_new(draft, after):
            yield replaced(draft.question, before, after), before, after


def _shape(name: str) -> tuple[int, bool, bool]:
    words = name.split()
    return min(len(words), 3), words[0].isupper() and len(words[0]) > 1, any(map(str.isdigit, name))


def _terms_in(draft: Draft) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The pool's terms in the question, as written there, longest first, each with the others of its kind."""
    index = _term_index(draft.pool.terms)
    if not index:
        return
    written = list(re.finditer(r"[^\W_]+(?:-[^\W_]+)*", draft.question))
    taken: set[str] = set()
    for length in (3, 2, 1):
        for place in range(len(written) - length + 1):
            start, end = written[place].start(), written[place + length - 1].end()
            term = draft.question[start:end]
            group = index.get(fold(term)) or index.get(" ".join(words_of(term)))
            if group is not None and "'" not in term and not any(fold(term) in one for one in taken):
                taken.add(fold(term))
                yield term, group


@lru_cache(maxsize=8)
def _term_index(groups: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, ...]]:
    """Groups by their terms, as written and in the singular; where two groups share a term, by the first."""
    index: dict[str, tuple[str, ...]] = {}
    for form in (fold, lambda term: " ".join(words_of(term))):
        for group in groups:
            for term in group:
                index.setdefault(form(term), group)
    return index


def _other_terms(draft: Draft, before: str, group: tuple[str, ...]) -> Iterator[Change]:
    """Others in the same number; a group that holds plurals of its own says which of its terms have one."""
    many = is_plural(before)
    same = [term for term in group if is_plural(term) == many] or group
    for term in draft.shuffled(same):
        if is_new(draft, term):
            after = plural(term) if many else term
            yield replaced(draft.question, before, after), before, after


def _place(draft: Draft) -> Iterator[Change]:
    known = _bare_all(draft.pool.places)
    old = {
        before
        for entity in draft.entities
        if _bare(before := without_possessive(entity.text)) in known
        and re.search(rf"\b(?:in|at|near|from|of|across)\s(?:the\s)?{re.escape(before)}", draft.question)
    }
    for after in draft.shuffled(draft.pool.places):
        if not is_new(draft, after):
            continue
        for before in sorted(old):
            plain = after.removeprefix("the ")
            yield replaced(draft.question, before, plain), before, plain
        if not old and (added := with_phrase(draft.question, f"in {after}", front=f"In {after},")):
            yield added, "", after


def _year(draft: Draft) -> Iterator[Change]:
    years = [entity.text for entity in draft.entities if entity.kind is EntityKind.YEAR]
    stated = {int(year) for year in re.findall(r"\b(?:1[5-9]|20)\d\d\b", draft.evidence.text)}
    decades = {int(year) for year in re.findall(r"\b((?:1[5-9]|20)\d0)s\b", draft.evidence.text)}
    near = int(years[0]) if years else 1998
    options = [year for year in range(near - 40, min(near + 41, 2025)) if year not in stated and str(year) not in years]
    for after in draft.shuffled([str(year) for year in options if year // 10 * 10 not in decades]):
        for before in years:
            yield re.sub(rf"\b{before}\b", after, draft.question), before, after
        if not years and not _ASKS_WHEN.search(draft.question) and (added := _dated(draft, after)):
            yield added, "", after


_ASKS_WHEN = re.compile(
    r"\b(?:what|which) (?:\w+ )?(?:year|date|century|decade|month|day)|\bwhen (?:is|are|was|were|did|will)\b"
    r"|\b(?:last|this|next) (?:year|month|week|spring|summer|autumn|winter)\b|\b(?:today|now|currently|nowadays)\b"
    r"|\d{4}|\bcentur",
    re.IGNORECASE,
)


def _dated(draft: Draft, year: str) -> str | None:
    """The question put into a year: events happen in one, rules and advice are from one."""
    if re.search(r"\b(?:was|were|did|had)\b", draft.question):
        return with_phrase(draft.question, f"in {year}", front=f"In {year},")
    what = draft.rng.choice(("edition", "version", "report"))
    return with_phrase(draft.question, None, front=f"According to the {year} {what},")


def _polarity(draft: Draft) -> Iterator[Change]:
    """Opposites. A question for yes or no, or for the one or the other, is answered by the same evidence either way."""
    if is_polar(draft.question) or re.search(r"\b(?:or|than|differ\w*|compare\w*)\b", fold(draft.question)):
        return iter(())
    return opposed(draft.question, evidence=draft.evidence.words)


_MAKERS: tuple[tuple[SwapKind, Callable[[Draft], Iterator[Change]]], ...] = (
    (SwapKind.ENTITY, _entity),
    (SwapKind.YEAR, _year),
    (SwapKind.NUMBER, other_numbers),
    (SwapKind.UNIT, other_units),
    (SwapKind.POLARITY, _polarity),
    (SwapKind.PLACE, _place),
)


def _bare(place: str) -> str:
    return fold(place).removeprefix("the ")


@lru_cache(maxsize=8)
def _bare_all(places: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_bare, places))
