"""Find what a cross-reference means: the section among a document's headings, the document among those of an index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from operator import itemgetter

from quoth.language.numbering import ITEM, LABEL, NUMBER, SECTION_NUMBER_WORDS, holds, label_name, plain_number
from quoth.language.quantities import quantities
from quoth.language.references import Reference
from quoth.language.words import fold, singular
from quoth.types import DocumentInfo

_NUMBERED = re.compile(
    rf"\W*(?:(?P<label>{LABEL})\s*(?:(?i:no\.)\s*)?)?"
    rf"(?P<number>(?i:{SECTION_NUMBER_WORDS})\b|{NUMBER})(?P<item>(?:{ITEM})*)"
    r"(?P<stop>\s*[.:)–—-])?(?=\s|$|[A-Z])"
)
_CLAUSE = re.compile(
    rf"\W{{0,3}}(?:(?P<label>{LABEL})\s*)?(?P<number>\d{{1,3}}(?:\.\d{{1,3}})*)(?P<item>(?:{ITEM})*)(?P<stop>[.):])?"
    r"\s+(?=[^\W\d_])"
)
_ATTACHED = frozenset({"Appendix", "Schedule", "Exhibit", "Annex", "Attachment", "Part", "Chapter"})
"""A bare number in a heading (`A. Materials`) does not stand for one of these."""
_INNER = frozenset({"Section", "Clause", "Paragraph"})
_OBJECT = frozenset("to of for under and with in on by from".split())
_WORD = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a reference leads: the headings of the section, outermost first, and its positions in the document."""

    section: tuple[str, ...]
    positions: range


class SectionIndex:
    """The headings and the numbered clauses of a document, and where each section lies.

    `sections` are the headings over each unit (sentence or passage) in reading order, `openings` the first words of
    each unit, empty for headings. A section that is interrupted and resumed is known by its first run.
    """

    def __init__(self, sections: Sequence[tuple[str, ...]], openings: Sequence[str]) -> None:
        self._sections = sections
        self._runs: dict[tuple[str, ...], range] = {}
        self._headings: dict[str, list[tuple[Target, re.Match[str]]]] = {}
        for path, group in groupby(enumerate(sections), key=itemgetter(1)):
            positions = [position for position, _ in group]
            for depth in range(1, len(path) + 1):
                self._enter(path[:depth], positions)
        for path, run in self._runs.items():
            if found := _NUMBERED.match(path[-1]):
                self._headings.setdefault(plain_number(found["number"]), []).append((Target(path, run), found))
        clauses = ((position, _clause(opening)) for position, opening in enumerate(openings))
        self._clauses = [(position, found) for position, found in clauses if found is not None]

    def _enter(self, path: tuple[str, ...], positions: Sequence[int]) -> None:
        known = self._runs.setdefault(path, range(positions[0], positions[-1] + 1))
        if known.stop == positions[0]:
            self._runs[path] = range(known.start, positions[-1] + 1)

    def headings(self, number: str) -> Sequence[tuple[Target, re.Match[str]]]:
        """Return the sections whose own heading carries the number."""
        return self._headings.get(plain_number(number), ())

    def clauses(self, number: str) -> Iterator[tuple[Target, re.Match[str]]]:
        """Yield the clauses that begin with the number, each as far as the next that does not lie in it."""
        for order, (position, found) in enumerate(self._clauses):
            if found["number"] == number:
                section = self._sections[position]
                beside = (at for at, other in self._clauses[order + 1 :] if not holds(number, other["number"]))
                stop = next(beside, len(self._sections))
                stop = next((at for at in range(position, stop) if self._sections[at] != section), stop)
                yield Target(section, range(position, stop)), found


def resolve(reference: Reference, outline: SectionIndex, *, near: tuple[str, ...]) -> Target | None:
    """Return the section or clause that a reference means, None when there is none or when several are possible.

    If several carry the number, prefer the section in the same part of the document as `near`.
    """
    for numbered in (outline.headings(reference.number), outline.clauses(reference.number)):
        ranked = [(rank, target) for target, found in numbered if (rank := _matches(found, reference)) is not None]
        if reference.within is not None:
            ranked = [(rank, target) for rank, target in ranked if _lies_in(target.section, *reference.within)]
        if ranked:
            best = min(rank for rank, _ in ranked)
            meant = [target for rank, target in ranked if rank == best]
            shared = [len(shared_headings([target.section, near])) for target in meant]
            return meant[shared.index(max(shared))] if shared.count(max(shared)) == 1 else None
    return None


def _clause(opening: str) -> re.Match[str] | None:
    """Return the number that a clause begins with (`4.8 The price`, `5. Term`), None for an amount such as `2.5 cm`."""
    found = _CLAUSE.match(opening) if opening else None
    if found is None or not ("." in found["number"] or found["stop"]) or (found["label"] and not found["stop"]):
        return None
    measured = quantities(opening[found.start("number") :].lower())
    return None if measured and measured[0].span.start == 0 else found


def shared_headings(sections: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings that all of these sections have in common, outermost first."""
    levels = zip(*sections, strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))


def _matches(found: re.Match[str], reference: Reference) -> tuple[int, bool, bool] | None:
    """Return how well a heading carries the number (smaller is better), None if it does not."""
    if found["item"] and found["item"] != reference.item:
        return None
    if found["label"]:
        label = label_name(found["label"])
        level = 0 if label == reference.label else 2 if {label, reference.label} <= _INNER else None
    else:
        clear = "." in found["number"] or found["stop"] or (found["number"].isdigit() and len(found["number"]) <= 2)
        level = 1 if clear and reference.label not in _ATTACHED else None
    return None if level is None else (level, found["item"] != reference.item, found["number"] != reference.number)


def _lies_in(path: tuple[str, ...], label: str, number: str) -> bool:
    for title in path:
        found = _NUMBERED.match(title)
        if found is not None and plain_number(found["number"]) == plain_number(number):
            return not found["label"] or label_name(found["label"]) == label
    return False


def find_document(
    name: str, *, own: DocumentInfo, documents: Sequence[DocumentInfo], synonyms: Sequence[Sequence[str]]
) -> DocumentInfo | None:
    """Return the document that `name` means in the text of `own`, None when there is none or when several are possible.

    `the Declaration` is one of that title, not the `First Amendment to the Declaration`.
    """
    for words in _called(name, synonyms):
        levels = [(level, info) for info in (own, *documents) if (level := _level(words, info)) is not None]
        best = min((level for level, _ in levels), default=None)
        if meant := {info.id: info for level, info in levels if level == best}:
            return own if own.id in meant else next(iter(meant.values())) if len(meant) == 1 else None
    return None


def _called(name: str, synonyms: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the name in folded words, then its synonyms."""
    words = _words(name)
    if not words:
        return
    yield words
    for group in synonyms:
        others = [_words(name) for name in group]
        if words in others:
            yield from (other for other in others if other and other != words)


def _level(name: tuple[str, ...], info: DocumentInfo) -> int | None:
    title = _words(info.metadata.title or "")
    kind = "".join(_words(info.metadata.document_type or ""))
    if title[: len(name)] == name:
        return 0 if title == name else 1
    if kind and kind == singular("".join(name)):
        return 2
    for position in range(1, len(title)):
        before = title[position - 2 : position] if title[position - 1] == "the" else title[position - 1 : position]
        if title[position : position + len(name)] == name and before[0] not in _OBJECT:
            return 3
    return None


def _words(text: str) -> tuple[str, ...]:
    words = [re.sub(r"[^\w-]", "", word) for word in _WORD.findall(fold(text).replace("_", " "))]
    singulars = tuple(singular(word) for word in words if word)
    return singulars[1:] if singulars[:1] == ("the",) else singulars
