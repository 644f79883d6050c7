"""Search in the parts beside the text: bibliographies, back matter and mastheads, for questions that ask for them.

The indexes of a store hold evidence alone, so that no bibliography changes a score of it. The parts beside the text
are few and seldom asked for: they are read from the stored sentences at the first such question, and embedded when one
needs them. That is the same for every store.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, cast

import numpy as np

from quoth.domain.document_filters import document_passes, has_tags
from quoth.language.stems import word_language_in, word_languages
from quoth.language.words import count_tokens
from quoth.protocols import Embedder, Reader
from quoth.stores.database_rows import unit_vectors
from quoth.stores.embedded.dense_index import scored_candidates
from quoth.stores.query_terms import Variant, asked, stems_of, variants
from quoth.stores.sharded.bm25 import Scorer, lookups, weights
from quoth.types import (
    Candidates,
    Filters,
    IndexInfo,
    Passage,
    Query,
    RegionKind,
    Sentence,
    Span,
    Vectors,
)

MOST_EMBEDDED = 128
"""Sentences that a question compares by meaning, at most, since it may have to embed them: first those that share words
with it, best first, then back matter and mastheads, whose words a question rarely shares, then references."""
_MOST_INDEXES = 8  # what people with different access see counts as different indexes
LONGEST_TOKENS = 800
"""Tokens of a passage, unless a single sentence has more."""


class AsideSearch:
    """Finds sentences beside the text. It keeps what it has read of a few indexes, and threads may share it.

    A generation is another index for everybody who sees other documents of it, and has another digest.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._parts: dict[object, dict[frozenset[RegionKind], AsideTexts]] = {}
        self._embedded: dict[str, tuple[Vectors, bytes]] = {}

    def view(self, reader: Reader, kinds: Collection[RegionKind]) -> Reader:
        """Return `reader`, or a view of it whose searches find the sentences of `kinds` and nothing else."""
        return cast(Reader, _AsideView(reader, frozenset(kinds), self)) if kinds else reader

    def texts(self, reader: Reader, kinds: frozenset[RegionKind]) -> AsideTexts:
        """Return every sentence of `kinds` in the index."""
        index = (reader.info.digest, reader.missing)
        with self._lock:
            if index not in self._parts:
                self._embedded = {}
                if len(self._parts) >= _MOST_INDEXES:
                    del self._parts[next(iter(self._parts))]
            parts = self._parts[index] = self._parts.pop(index, {})  # the last one was used last
            if kinds not in parts:
                parts[kinds] = AsideTexts(tuple(_read(reader, kinds)), reader.info)
            return parts[kinds]

    def embedded(self, texts: Sequence[str], *, dimension: int) -> tuple[Vectors, list[bytes]]:
        """Return a vector and the token codes of each text; zeros without an embedder."""
        if self._embedder is None:
            return np.zeros((len(texts), dimension), dtype=np.float32), [b""] * len(texts)
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._embedded]
            if new:
                vectors, tokens = self._embedder.embed_tokens(new)
                # As precise as what a store keeps: the last bits depend on which texts are embedded together.
                rounded = unit_vectors(vectors.astype(np.float16))
                self._embedded |= dict(zip(new, zip(rounded, tokens or [b""] * len(new), strict=True), strict=True))
            rows = [self._embedded[text] for text in texts]
        vectors = np.array([vector for vector, _ in rows], dtype=np.float32).reshape(len(rows), dimension)
        return vectors, [tokens for _, tokens in rows]


def _read(reader: Reader, kinds: Collection[RegionKind]) -> Iterator[tuple[Sentence, str]]:
    """Yield the sentences of `kinds`, each with its language, ordered by document id and position."""
    for info in reader.documents():
        language = word_language_in(reader.info, info.metadata.language)
        yield from ((sentence, language) for sentence in reader.sentences(info.id) if sentence.kind in kinds)


class AsideTexts:
    """Sentences beside the text with their words. Scores are BM25 as for evidence, by the statistics of these alone."""

    def __init__(self, sentences: Sequence[tuple[Sentence, str]], info: IndexInfo) -> None:
        self.sentences = tuple(sentence for sentence, _ in sentences)
        self.search_texts = [_search_text(sentence) for sentence in self.sentences]
        self._own_languages = [language for _, language in sentences]
        self._languages = word_languages(info)
        self._holding: dict[str, set[int]] = defaultdict(set)
        self._terms = 0
        for position, text in enumerate(self.search_texts):
            stems = stems_of(text, self._own_languages[position])
            self._terms += len(stems)
            for stem in stems:
                self._holding[stem].add(position)

    def frequency(self, term: str) -> int:
        """Count the sentences that hold every word of `term`."""
        return len(set().union(*map(self._with_all, variants(term, self._languages))))

    def scores(self, terms: Sequence[Sequence[str]]) -> dict[int, float]:
        """Return the score of each sentence that holds a word of `terms`, by its position; from 0 to 1."""
        groups = asked(terms, self._languages)
        if not groups or not self.sentences:
            return {}
        held = {variant: len(self._with_all(variant)) for variant in lookups(groups)}
        scorer = Scorer(weights(groups, held, evidence=len(self.sentences), terms=self._terms))
        found = set().union(*(self._with_all(variant) for group in groups for variant in group))
        return {at: scorer.share(self.search_texts[at], self._own_languages[at]) for at in sorted(found)}

    def _with_all(self, variant: Variant) -> set[int]:
        return reduce(set.intersection, (self._holding.get(token, set()) for token in variant))


def _search_text(sentence: Sentence) -> str:
    """Return what is searched of a sentence. `Funding` may stand in its heading alone; `References` tells nothing."""
    named = sentence.section and sentence.kind is RegionKind.BACK_MATTER
    return f"{sentence.section[-1]}\n{sentence.search_text}" if named else sentence.search_text


class _AsideView:
    """A `Reader` that finds the sentences of `kinds` alone."""

    def __init__(self, reader: Reader, kinds: frozenset[RegionKind], search: AsideSearch) -> None:
        self._reader = reader
        self._kinds = kinds
        self._search = search

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all else that a reader has
        return getattr(self._reader, name)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Count in the text and beside it: what the corpus never mentions must be in neither."""
        beside = self._search.texts(self._reader, self._kinds)
        inside = self._reader.frequencies(terms)
        return {term: inside[term] + beside.frequency(term) for term in terms}

    def search(self, query: Query) -> Candidates:
        texts = self._search.texts(self._reader, self._kinds)
        allowed = self._allowed(texts, query.filters)
        scores = texts.scores(query.terms)
        shared = sorted((at for at in allowed if at in scores), key=lambda at: (-scores[at], at))
        by_words = set(shared[: query.candidates])
        near: set[int] = set()
        if query.vector is not None:
            rest = sorted(allowed, key=lambda at: (texts.sentences[at].kind is RegionKind.REFERENCES, at))
            compared = list(dict.fromkeys([*shared, *rest]))[:MOST_EMBEDDED]
            cosines = self._embedded(texts, compared)[0] @ query.vector
            nearest = sorted(range(len(compared)), key=lambda row: (-round(float(cosines[row]), 6), compared[row]))
            near = {compared[row] for row in nearest[: query.candidates]}
        found = sorted(by_words | near)
        if query.vector is None:  # also while an embedding service is down
            vectors, tokens = np.zeros((len(found), self._reader.info.model.dimension), np.float32), [b""] * len(found)
        else:
            vectors, tokens = self._embedded(texts, found)
        rows = [
            (
                texts.sentences[at],
                scores.get(at, 0.0),
                ("lexical",) * (at in by_words) + ("dense",) * (at in near),
                codes,
            )
            for at, codes in zip(found, tokens, strict=True)
        ]
        return scored_candidates(rows, query.vector, vectors)

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        """Return each entry of a bibliography as a passage, and the rest in runs under one heading."""
        numbered = [each for each in enumerate(self._reader.sentences(doc_id)) if each[1].kind in self._kinds]
        made = []
        for (kind, _, _), run in groupby(enumerate(numbered), key=_run):
            sentences = [each for _, each in run]
            longest = 0 if kind is RegionKind.REFERENCES else LONGEST_TOKENS
            made += [_passage(part) for part in _parts(sentences, longest)]
        return tuple(made)

    def _embedded(self, texts: AsideTexts, positions: Sequence[int]) -> tuple[Vectors, list[bytes]]:
        dimension = self._reader.info.model.dimension
        return self._search.embedded([texts.search_texts[at] for at in positions], dimension=dimension)

    def _allowed(self, texts: AsideTexts, filters: Filters) -> list[int]:
        """Return the positions of the sentences that pass the filters."""
        passing = {info.id for info in self._reader.documents() if document_passes(info, filters)}
        return [
            at
            for at, sentence in enumerate(texts.sentences)
            if sentence.doc_id in passing and has_tags(sentence, filters)
        ]


def _run(placed: tuple[int, tuple[int, Sentence]]) -> tuple[RegionKind, tuple[str, ...], int]:
    """Return what the sentences of a run share: kind and section, and that nothing stands between them."""
    place, (ordinal, sentence) = placed
    return sentence.kind, sentence.section, ordinal - place


def _parts(run: Sequence[tuple[int, Sentence]], longest: int) -> Iterator[list[tuple[int, Sentence]]]:
    """Cut a run into parts of at most `longest` tokens, but at least one sentence."""
    part: list[tuple[int, Sentence]] = []
    total = 0
    for each in run:
        tokens = count_tokens(each[1].text)
        if part and total + tokens > longest:
            yield part
            part, total = [], 0
        part.append(each)
        total += tokens
    yield part


def _passage(part: Sequence[tuple[int, Sentence]]) -> Passage:
    (first, opening), (last, closing) = part[0], part[-1]
    return Passage(
        doc_id=opening.doc_id,
        span=Span(opening.quote.span.start, closing.quote.span.end),
        first=first,
        last=last,
        section=opening.section,
        page=opening.page,
        tokens=max(1, sum(count_tokens(sentence.text) for _, sentence in part)),
    )
