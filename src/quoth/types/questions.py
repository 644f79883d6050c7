"""Questions with their filters and their analysis, and the query that a store runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from quoth.errors import QuestionError
from quoth.types.documents import primary_language
from quoth.types.text import RegionKind, Span, Tags, Vectors

_YEARS = re.compile(r"\d{4}(-(\d{4})?)?|-\d{4}", re.ASCII)
ASIDES = tuple(kind for kind in RegionKind if kind.aside)
"""The parts beside the text, which are searched only where a question asks for them."""


@dataclass(frozen=True, slots=True, init=False)
class Filters:
    """Limits of a search. A result must match every field, by any value of the field; empty or None matches all.

    A single text may stand for a list of texts: `Filters(tags={"crop": "corn"})`.
    """

    doc_ids: tuple[str, ...]
    tags: Tags
    document_types: tuple[str, ...]
    is_binding: bool | None
    as_of: str | None
    """A day (`YYYY-MM-DD`): only documents in effect on it, and documents without a date."""
    regions: tuple[RegionKind, ...]
    """Only these parts beside the text; empty: the text, and none of them."""
    authors: tuple[str, ...]
    """Only documents by one of these; an author has all words of the name given."""
    years: str | None
    """Only documents published in this year (`2018`) or these years (`2015-2020`, `2015-`, `-2020`)."""
    dois: tuple[str, ...]
    languages: tuple[str, ...]
    """Only documents in one of these languages, by their primary codes."""

    def __init__(
        self,
        doc_ids: str | Iterable[str] = (),
        tags: Mapping[str, str | Iterable[str]] | None = None,
        document_types: str | Iterable[str] = (),
        is_binding: bool | None = None,
        as_of: str | date | None = None,
        regions: str | Iterable[str] = (),
        authors: str | Iterable[str] = (),
        years: str | int | None = None,
        dois: str | Iterable[str] = (),
        languages: str | Iterable[str] = (),
    ) -> None:
        """Raise `QuestionError` for an `as_of` that is no day, and for wrong `years`, `regions` and `languages`."""
        values = {
            "doc_ids": _texts(doc_ids),
            "tags": {facet: _texts(values) for facet, values in (tags or {}).items()},
            "document_types": _texts(document_types),
            "is_binding": is_binding,
            "as_of": None if as_of is None else checked_day(as_of),
            "regions": tuple(map(checked_region, _texts(regions))),
            "authors": _texts(authors),
            "years": None if years is None else checked_years(years),
            "dois": _texts(dois),
            "languages": tuple(map(checked_language, _texts(languages))),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _texts(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def checked_day(value: object) -> str:
    """Return a day as `YYYY-MM-DD`, the form that compares as text. Raise `QuestionError` for anything else."""
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError as error:
        raise QuestionError(f"'{value}' is no day", hint="Write it as YYYY-MM-DD, for example 2022-04-01.") from error


def checked_years(value: object) -> str:
    """Return a year or a range of years as it was written. Raise `QuestionError` for anything else."""
    text = str(value).strip()
    if not _YEARS.fullmatch(text):
        hint = "Write 2018, 2015-2020, 2015- (since) or -2020 (until)."
        raise QuestionError(f"'{value}' is no year and no range of years", hint=hint)
    return text


def year_range(years: str) -> tuple[int, int]:
    """Return the first and the last year of `checked_years`."""
    first, dash, last = years.partition("-")
    return int(first or 0), int(last or 9999) if dash else int(first)


def checked_language(value: str) -> str:
    """Return the primary code of a language tag. Raise `QuestionError` for what is no tag."""
    if (code := primary_language(value)) is None:
        raise QuestionError(f"'{value}' is no language", hint="Give its code, for example de, tr or zh.")
    return code


def checked_region(value: str) -> RegionKind:
    """Return a part beside the text by its name. Raise `QuestionError` for any other name."""
    if value not in ASIDES:
        raise QuestionError(f"'{value}' is no part that can be asked for by name", hint=f"Use {', '.join(ASIDES)}.")
    return RegionKind(value)


NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True, eq=False)
class QuestionTokens:
    """The tokens of a question, ready for late interaction.

    `spans` are the positions of the tokens in the search text. The similarity of token `i` to a stored token is
    `offsets[i] + slopes[i] @ codes`. `weights` say what each token counts for, where the model knows it by itself.
    """

    spans: tuple[tuple[int, int], ...]
    slopes: Vectors
    offsets: Vectors
    weights: Vectors | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EncodedQuestion:
    """A question as vectors, ready to be compared with sentences.

    `tokens` is None for a model without tokens. `weights` give the importance of each token; they sum to 1.
    """

    text: str
    vector: Vectors | None
    tokens: QuestionTokens | None
    weights: Vectors


@dataclass(frozen=True, slots=True)
class Query:
    """A search in a store.

    `vector` None searches by full text only. `terms` holds a group for each content word of the question: the word
    itself, then its synonyms; any word of a group may match. A store returns up to `candidates` sentences by full text
    and as many by vectors.
    """

    vector: Vectors | None
    terms: tuple[tuple[str, ...], ...]
    candidates: int
    filters: Filters


class EntityKind(StrEnum):
    NAME = "name"
    YEAR = "year"
    DATE = "date"
    CODE = "code"
    QUOTED = "quoted"


@dataclass(frozen=True, slots=True)
class Entity:
    """A name, a date or a code in a question, which takes for granted that it exists.

    `words` are folded; a text mentions the entity when it holds all of them close together.
    """

    text: str
    kind: EntityKind
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or a range with a unit. `low` and `high` are converted to the base unit of `dimension`."""

    span: Span
    low: float
    high: float
    dimension: str


class QuestionKind(StrEnum):
    """The kind of a question; it sets the weights of full text and vectors."""

    GENERAL = "general"
    TERMINOLOGY = "terminology"
    MEANING = "meaning"
    LOCATION = "location"


@dataclass(frozen=True, slots=True)
class Question:
    """`previous` are the questions asked before it, oldest first; an answer takes a follow-up as what it means then."""

    id: str
    text: str
    filters: Filters
    previous: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis of a question. `search_text` is its normalised text, for search only.

    `terms` are groups as in `Query`. `entities` are groups too: the entity as the question names it, then its other
    names. `quantities` are the numbers that it takes for granted.
    """

    question: Question
    search_text: str
    kind: QuestionKind
    terms: tuple[tuple[str, ...], ...]
    tags: Tags
    entities: tuple[tuple[Entity, ...], ...]
    quantities: tuple[Quantity, ...]
    unused: tuple[str, ...]
    """The words, except plain ones, that no sentence within the filters uses; () before an index was asked."""
    document_types: tuple[str, ...]
    """The types that the question names in words of the profile; () when it names none or has filters of its own."""
    types_asked: bool
    """Whether the question asks for these types; otherwise it only hints at them."""
    alpha_lexical: float
    alpha_semantic: float
    language: str
    """The code of the question's language; when unsure, of the language that most of the index is in."""
    languages: tuple[str, ...]
    """That language, and the most common ones of the index: what quotes may be written in."""


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One of the questions that a question consists of. `text` names it for people.

    `distinguishing` are groups as in `Analysis.entities`: the entities that only this sub-question names. Its evidence
    must mention them. For a whole `clause`, it is enough to answer it better than the other clauses.
    """

    text: str
    analysis: Analysis
    distinguishing: tuple[tuple[Entity, ...], ...]
    clause: bool
