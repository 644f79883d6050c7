"""Doubts: what a question presumes or asks for that the sources of its evidence never speak of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from quoth.language.asked_quantities import asked_units, speaks_in
from quoth.language.entities import is_numbered, mentions, word_occurs
from quoth.language.opposites import opposed_words
from quoth.language.quantities import quantities_in, same_quantity
from quoth.language.rarity import STRANGE, TELLING, rarity
from quoth.language.stems import word_languages
from quoth.language.words import fold, singular
from quoth.protocols import Reader
from quoth.search.language_pairs import ENGLISH
from quoth.search.question_analysis import name_entity
from quoth.search.unused_words import names_of_unused_words
from quoth.types import Analysis, Document, Entity, EntityKind, Sentence

ONE_PAGE = 2_000
"""Characters. A shorter document may never name its subject, so an entity only has to occur in the corpus."""
_LONGEST_KEPT = 1_000_000
"""Characters. A longer document is folded for each question, so that those that are kept take little memory."""
_MOST = 2
"""How many doubts of a kind count: a third name that is missing says little more."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The quoted sentences and their documents; when nothing is quoted, the nearest documents."""

    quoted: tuple[Sentence, ...]
    documents: tuple[Document, ...]
    reader: Reader

    @property
    def quoted_texts(self) -> list[str]:
        """Each quoted sentence with its lead and its headings."""
        return ["\n".join((sentence.search_text, *sentence.section)) for sentence in self.quoted]


@dataclass(frozen=True, slots=True)
class Doubts:
    """The entities, each with its synonyms, and the quantities that no source mentions; the units that none uses.

    `unused` are words of the question that the corpus, as filtered, never uses, and `unused_names` the names that hold
    one of them. `strange` are those that English hardly knows, if the corpus does not use them elsewhere either.
    `opposed` are words of the question, each with the opposite that the evidence has instead.
    """

    unknown: tuple[tuple[Entity, ...], ...]
    unused: tuple[str, ...]
    unused_names: tuple[tuple[Entity, ...], ...]
    strange: tuple[str, ...]
    unstated: tuple[str, ...]
    unspoken_units: tuple[str, ...]
    opposed: tuple[tuple[str, str], ...]
    language: str
    """The language of the question."""

    @property
    def telling(self) -> tuple[str, ...]:
        """The names that are never used, and the other words that are rare enough to be worth naming."""
        return self._named([word for word in self.unused if rarity(word, self.language) >= TELLING])

    @property
    def presumed(self) -> tuple[str, ...]:
        """The names that are never used, and the strange words, which are taken for names whatever their case."""
        return self._named(self.strange)

    def _named(self, rare: Sequence[str]) -> tuple[str, ...]:
        names = {word: group[0].text for group in self.unused_names for word in group[0].words}
        named = ((names.get(singular(fold(word))), word) for word in self.unused)
        return tuple(dict.fromkeys(name or word for name, word in named if name or word in rare))

    @property
    def features(self) -> dict[str, float]:
        """What they count for in the confidence."""
        return {
            "unknown": float(min(_MOST, len(self.unknown))),
            "unused": round(max((rarity(word, self.language) for word in self.unused), default=0.0), 6),
            "unstated": float(min(_MOST, len(self.unstated))),
            "unspoken": float(min(_MOST, len(self.unspoken_units))),
            "opposed": float(min(_MOST, len(self.opposed))),
        }


NO_DOUBTS = Doubts((), (), (), (), (), (), (), "en")


def doubts_of(analysis: Analysis, sources: Sources) -> Doubts:
    quoted = "\n".join(sources.quoted_texts)
    asked = asked_units(analysis.question.text) if quoted else ()
    unknown, unused = _never_mentioned(analysis, sources)
    words = names_of_unused_words(analysis)
    rarest = [word for word in unused if rarity(word, analysis.language) >= STRANGE]
    anywhere = sources.reader.frequencies(rarest)
    return Doubts(
        unknown=tuple(group for group in unknown if group not in words),
        unused=unused,
        unused_names=tuple(group for group in unknown if group in words),
        strange=tuple(word for word in rarest if not anywhere[word]),
        unstated=tuple(_unstated_quantities(analysis, sources)),
        unspoken_units=tuple(unit for unit, dimension in asked if not speaks_in(quoted, dimension)),
        # The best sentence alone: what others say besides may hold any word.
        opposed=opposed_words(analysis.question.text, "".join(sources.quoted_texts[:1])),
        language=analysis.language,
    )


def _never_mentioned(analysis: Analysis, sources: Sources) -> tuple[tuple[tuple[Entity, ...], ...], tuple[str, ...]]:
    """Return the entities that no source mentions, and the words that neither sentences nor sources use."""
    # Search the quoted sentences first: whole documents are long.
    quoted = " ".join(sentence.text for sentence in sources.quoted)
    languages = analysis.languages
    unseen = [
        group
        for group in analysis.entities
        if not any(mentions(quoted, entity, languages=languages) for entity in group)
    ]
    abouts = ((document, document.metadata) for document in sources.documents) if unseen or analysis.unused else ()
    texts = [" ".join((doc.id, about.title or "", about.effective_date or "", doc.text)) for doc, about in abouts]
    folded = [(text, _fold_kept(text) if len(text) <= _LONGEST_KEPT else fold(text)) for text in texts]
    if analysis.language != ENGLISH:
        unseen = [group for group in unseen if not any(_is_spelled_otherwise(entity, sources) for entity in group)]
    unknown = (
        group
        for group in unseen
        if not any(_is_known(entity, *text, sources.reader, languages) for entity in group for text in folded)
    )
    # Full text knows no headings and no titles, and does not write acronyms out.
    unused = (
        word
        for word in analysis.unused
        if not any(mentions(text, name_entity(word), folded=plain, languages=languages) for text, plain in folded)
    )
    return tuple(unknown), tuple(unused)


def _is_spelled_otherwise(entity: Entity, sources: Sources) -> bool:
    """Return whether the corpus uses each word of a name, in whatever form.

    Where words change their form, or nouns have capitals, a name that is not found as a whole says too little.
    """
    if entity.kind is not EntityKind.NAME or is_numbered(entity):
        return False
    counts = sources.reader.frequencies(entity.words)
    return all(counts[word] for word in entity.words)


_fold_kept = lru_cache(maxsize=16)(fold)
"""Folding a document takes longer than searching it, and a grid asks many questions of each."""


def _is_known(entity: Entity, text: str, folded: str, reader: Reader, languages: tuple[str, ...]) -> bool:
    if mentions(text, entity, folded=folded, languages=languages):
        return True
    if not in_corpus(entity, reader):
        return False
    if len(text) < ONE_PAGE:
        return True
    # If the corpus uses a term and this document uses all its words, the term is just a different wording.
    if entity.kind not in {EntityKind.NAME, EntityKind.QUOTED} or len(entity.words) == 1 or is_numbered(entity):
        return False
    return all(word_occurs(folded, word, entity.kind, languages=languages) for word in entity.words)


def in_corpus(entity: Entity, reader: Reader) -> bool:
    terms = [" ".join(entity.words) if entity.kind is not EntityKind.DATE else entity.text]
    if any(word_languages(reader.info)):
        terms.append(entity.text)  # what folding makes of a word has another stem in some languages
    return any(reader.frequencies(terms).values())


def _unstated_quantities(analysis: Analysis, sources: Sources) -> Iterator[str]:
    """Yield the quantities, as written in the question, that it presumes and no source states.

    A long document beside the evidence is no source: a number far from the evidence is about something else.
    """
    quoted = sources.quoted_texts
    short = (document.text for document in sources.documents if len(document.text) < ONE_PAGE or not quoted)
    texts = (*quoted, *short) if analysis.quantities else ()
    stated = [quantity for text in texts for quantity in quantities_in(text, analysis.languages)]
    for presumed in analysis.quantities:
        if not any(same_quantity(presumed, quantity) for quantity in stated):
            yield analysis.question.text[presumed.span.start : presumed.span.end]
