"""Documents, sentences and passages as an index stores them, and the description of an index."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quoth.errors import OffsetMismatch
from quoth.types.text import Page, Quote, RegionKind, Span, Tags, unbroken, unbroken_places


@dataclass(frozen=True, slots=True)
class Supersession:
    """The document with the id `by` replaces a document, or only its section `section`."""

    by: str
    section: str | None


_CODE = re.compile(r"[a-z]{2,3}")


def primary_language(tag: str | None) -> str | None:
    """Return the primary code of a language tag, in lower case: `de` for `de-AT`. None for what is no tag."""
    code = re.split(r"[-_]", (tag or "").strip().lower(), maxsplit=1)[0]
    return code if _CODE.fullmatch(code) else None


@dataclass(frozen=True, slots=True)
class Metadata:
    title: str | None
    document_type: str | None
    is_binding: bool | None
    effective_date: str | None
    """ISO 8601, `YYYY-MM-DD`."""
    superseded_by: tuple[Supersession, ...]
    language: str | None
    """A language tag as it was stated (`de-AT`), or the code of the recognised language; None when unsure."""
    tags: Tags
    type_guessed: bool
    """Whether `document_type` was read from the document's own title, and nobody has confirmed it."""
    authors: tuple[str, ...]
    year: int | None
    """The year of publication."""
    doi: str | None

    @property
    def language_code(self) -> str | None:
        """The primary code of the language, which rules and filters go by; None when it is unknown."""
        return primary_language(self.language)

    @property
    def byline(self) -> str | None:
        """The authors and the year in short, as in `Ali and Kim, 2018`; None when neither is known."""
        shown = f"{self.authors[0]} et al." if len(self.authors) > 2 else " and ".join(self.authors)
        return ", ".join(filter(None, [shown, str(self.year or "")])) or None


@dataclass(frozen=True, slots=True)
class Document:
    """One source text. `id` is the POSIX path relative to the corpus root."""

    id: str
    text: str
    sha256: str
    """SHA-256 of the canonical text, encoded as UTF-8."""
    source_sha256: str
    """SHA-256 of the bytes of the file."""
    encoding: str
    """Encoding of a text file; `""` when the text was extracted from another format."""
    format: str
    extractor: str
    """Name and version of the program that turned the bytes into text."""
    metadata: Metadata

    def quote(self, span: Span) -> str:
        """Return the text at `span`. Raise `OffsetMismatch` when the text ends before it."""
        if span.end > len(self.text):
            raise OffsetMismatch(self.id, span.start, span.end)
        return self.text[span.start : span.end]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The smallest unit of text that can be quoted: a sentence, a table row, a list item or a heading.

    `lead` is the line that introduces a list item, or the header row of a table row; else None.
    """

    doc_id: str
    quote: Quote
    kind: RegionKind
    section: tuple[str, ...]
    lead: Quote | None
    page: int | None
    ocr: float | None
    """Confidence of the recogniser, from 0 to 1, for text read from an image; else None."""
    tags: Tags

    @property
    def id(self) -> str:
        return f"{self.doc_id}:{self.quote.span.start}-{self.quote.span.end}"

    @property
    def text(self) -> str:
        return self.quote.text

    @property
    def search_text(self) -> str:
        """The text that is embedded and indexed. It begins with the lead, which gives a row or an item its meaning."""
        return unbroken(self._with_lead)

    @property
    def search_places(self) -> list[int | None]:
        """The place in the document of each character of `search_text`; None for the line end behind the lead."""
        parts = [self.lead.span, self.quote.span] if self.lead else [self.quote.span]
        places: list[int | None] = list(range(parts[0].start, parts[0].end))
        for part in parts[1:]:
            places += [None, *range(part.start, part.end)]
        return [places[at] for at in unbroken_places(self._with_lead)]

    @property
    def _with_lead(self) -> str:
        return f"{self.lead.text}\n{self.text}" if self.lead else self.text


@dataclass(frozen=True, slots=True)
class Passage:
    """Whole sentences in a row, within one section, for an agent to read. It overlaps the next passage a little.

    `first` and `last` are the positions of its first and last sentence in the document.
    """

    doc_id: str
    span: Span
    first: int
    last: int
    section: tuple[str, ...]
    page: int | None
    tokens: int

    @property
    def id(self) -> str:
        return f"{self.doc_id}:{self.span.start}-{self.span.end}"


@dataclass(frozen=True, slots=True)
class Reading:
    """How the file of a document was read, as far as its text, sentences and pages do not show it.

    `skipped` counts the visible characters of the regions that are never quoted. `from_file` are the fields of the
    metadata that the extractor found, and `recognised` those that were read off the text; the others are stated in
    front matter, by the manifest or by a setting. `notes` are the extractor's own.
    """

    skipped: Mapping[RegionKind, int]
    from_file: tuple[str, ...]
    notes: tuple[str, ...]
    recognised: tuple[str, ...] = ()  # what an index of an earlier version records has none


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not be read, and what to do about it. `kept`: the index still holds its earlier form."""

    path: str
    why: str
    hint: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Refusals:
    """The files that a run refused, which a store remembers until a later run looks at the same files.

    `folders` were searched as a whole; `files` are the ids of the files that were looked at. `found` has the root of
    each refused file with it, and grows while files are read.
    """

    folders: frozenset[str]
    files: frozenset[str]
    found: Sequence[tuple[str, Refused]]


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document with its sentences and passages in reading order, ready to be stored.

    `fingerprint` changes with the bytes, the metadata, the profile, the extractor and the splitter. `root` is the
    folder that the document was found in; `--prune` needs it, and it does not change the digest of the index. `access`
    are the labels that its files state (see `labels_of`); they change neither.
    """

    document: Document
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...]
    pages: tuple[Page, ...]
    root: str
    fingerprint: str
    reading: Reading | None = None
    access: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The record of a document in a store that shows whether its file has changed.

    `access` are the labels in force, and `stated_access` those that its files stated at the last ingest: they differ
    when somebody has set other ones since.
    """

    fingerprint: str
    source_sha256: str
    root: str
    access: tuple[str, ...] = ()
    stated_access: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document without its text, as listings show it."""

    id: str
    sha256: str
    source_sha256: str
    encoding: str
    format: str
    extractor: str
    characters: int
    sentences: int
    pages: int
    """Number of pages; 0 for a format without pages."""
    metadata: Metadata
    reading: Reading | None = None
    """None for a document that was stored before this was recorded."""
    access: tuple[str, ...] = ()
    """The labels in force, for the owner of the index; empty in what a limited reader gives."""


@dataclass(frozen=True, slots=True)
class ShardState:
    """The state of a remote shard, for operators. `why` gives the reason when it is not `up`."""

    name: str
    up: bool
    calls: int
    faults: int
    quiet_seconds: float | None
    """Seconds since it last answered; None if it never did."""
    why: str


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """The model that made the vectors of an index. Only vectors of the same identity can be compared."""

    name: str
    revision: str
    precision: str
    dimension: int


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The description of an index. `digest` depends on its content alone, not on the time it was made."""

    format: int
    generation: int
    digest: str
    model: ModelIdentity
    profile_name: str
    profile_source: str
    """The profile's YAML as it was at ingest."""
    documents: int
    sentences: int
    language_counts: tuple[tuple[str, int], ...] = ()  # an index of an earlier version records none
    """Each language with its number of documents: the most common one first, then by code."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The primary codes of the languages of the documents, the most common one first."""
        return tuple(code for code, _ in self.language_counts)
