"""What a profile says about its domain: tags, synonyms, kinds of documents, and settings of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TagValue:
    """`synonyms` mean the same as the name and widen the search; `keywords` only tell what a sentence is about."""

    name: str
    synonyms: tuple[str, ...]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facet:
    """One kind of tag, such as `crop`. `default` is the main value of a sentence in which nothing matches.

    A question that names a value of a `presumed` facet takes for granted that the corpus covers it; `others` are names
    of the same kind without a tag of their own, so that a question about one of them is understood as such.
    """

    name: str
    default: str
    values: tuple[TagValue, ...]
    presumed: bool
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentType:
    """`authority` is what its documents are worth (`binding`, ...); `factor` multiplies their order score.

    A question whose folded words match one of the `asked_by` patterns asks for documents of this type; one that matches
    a `hinted_by` pattern only may.
    """

    name: str
    authority: str
    factor: float
    asked_by: tuple[re.Pattern[str], ...]
    hinted_by: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Authority:
    """How binding and superseded documents weigh in the order of the evidence; 1.0 changes nothing."""

    binding_factor: float
    superseded_factor: float
    cap: float


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    description: str
    facets: tuple[Facet, ...]
    document_types: Mapping[str, DocumentType]
    authority: Authority | None
    synonyms: tuple[tuple[str, ...], ...]
    """Groups of words that mean the same, besides those of the tags."""
    settings: Mapping[str, Any]
    source: str
    """The YAML it was read from: an index keeps it, so that a later question is read the same way."""
