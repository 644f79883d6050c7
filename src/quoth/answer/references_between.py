"""Follow the references between a rule and its exceptions, in both directions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quoth.answer.source_texts import SourceText, SourceTexts
from quoth.language.resolve_reference import find_document, resolve
from quoth.language.restrictions import Restriction, restrictions
from quoth.language.words import FUNCTION_WORDS, fold
from quoth.types import Sentence

_MOST = 2
"""How many clauses a quote brings in each direction."""
_LONGEST_CLAUSE = 8
"""Sentences of a section to which an exception that names the whole section may belong."""
_MOST_NAMED = 2_000
"""In a larger index, documents that a reference names are not looked for."""
_ITEM_LABEL = re.compile(r"\(([^()]+)\)")
_WORD = re.compile(r"\w+")


def referred_clauses(sentence: Sentence, sources: SourceTexts) -> list[Sentence]:
    """Return what a sentence makes an exception to, or what it says is the exception to it."""
    found: dict[str, Sentence] = {}
    for restriction in restrictions(sentence.text):
        source = _document_of(restriction, sentence, sources)
        clause = _clause(restriction, sentence, source) if source is not None else ()
        stated = [each for each in clause if each.kind.evidence and each.id != sentence.id]
        if stated:
            # Of a long section, the sentence that shares most words is the rule that the exception is about.
            best = max(stated, key=lambda each: _shared_words(each.text, sentence.text))
            found[best.id] = best
    return list(found.values())[:_MOST]


def exceptions_to(sentence: Sentence, source: SourceText) -> list[Sentence]:
    """Return the sentences of the same document that restrict a sentence by its number, in reading order."""
    found: dict[str, Sentence] = {}
    for other, restriction in source.restrictions:
        if other.id == sentence.id or (restriction.reference is not None and restriction.reference.document):
            continue
        clause = _clause(restriction, other, source)
        if len(clause) <= _LONGEST_CLAUSE and any(each.id == sentence.id for each in clause):
            found[other.id] = other
    return list(found.values())[:_MOST]


def _document_of(restriction: Restriction, sentence: Sentence, sources: SourceTexts) -> SourceText | None:
    name = restriction.reference.document if restriction.reference is not None else None
    if name is None:
        return sources.source(sentence.doc_id)
    if sources.reader.info.documents > _MOST_NAMED:
        return None
    own = sources.info(sentence.doc_id)
    document = find_document(name, own=own, documents=sources.every_info, synonyms=sources.profile.synonyms)
    return sources.source(document.id) if document is not None else None


def _clause(restriction: Restriction, sentence: Sentence, source: SourceText) -> Sequence[Sentence]:
    """Return the sentences of the section or item that a restriction in `sentence` means; none if that is not clear."""
    if restriction.reference is None:
        inside = [each for each in source.sentences if each.section == sentence.section]
        return _item(inside, restriction.item, source) if sentence.doc_id == source.document.id else ()
    near = sentence.section if sentence.doc_id == source.document.id else ()
    target = resolve(restriction.reference, source.outline, near=near) if source.sentences else None
    if target is None:
        return ()
    inside = list(source.sentences[target.positions.start : target.positions.stop])
    return (
        _item(inside, restriction.item, source) if restriction.item else [each for each in inside if each.kind.evidence]
    )


def _item(inside: Sequence[Sentence], item: str, source: SourceText) -> Sequence[Sentence]:
    """Return the sentence that opens with the last label of `(b)(i)`, behind those that open with the labels before.

    None where several open with the first label: then the section holds several lists, or is not divided at all.
    """
    at = -1
    for label in _ITEM_LABEL.findall(item):
        opens = re.compile(rf"\W*{re.escape(label)}[.)]", re.IGNORECASE)
        places = [place for place in range(at + 1, len(inside)) if opens.match(_opening(inside[place], source))]
        if not places or (at < 0 and len(places) > 1):
            return ()
        at = places[0]
    return inside[at : at + 1]


def _opening(sentence: Sentence, source: SourceText) -> str:
    """Return the beginning of a sentence with the mark of a list before it, which is no part of the sentence."""
    start = sentence.quote.span.start
    return source.document.text[max(0, start - 6) : start].rpartition("\n")[2] + sentence.text[:12]


def _shared_words(first: str, second: str) -> int:
    one, other = (set(_WORD.findall(fold(text))) - FUNCTION_WORDS for text in (first, second))
    return len(one & other)
