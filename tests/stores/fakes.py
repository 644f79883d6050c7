"""Small corpora and an embedder whose vectors anyone can work out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from quoth.protocols import Progress
from quoth.types import (
    Document,
    Metadata,
    ModelIdentity,
    Page,
    Passage,
    Quote,
    RegionKind,
    Sentence,
    Span,
    SplitDocument,
    Supersession,
    Tags,
    Vectors,
)

PROFILE = ("general", "name: general\n")


class HashEmbedder:
    """One direction for each word, drawn from its hash; a text is the sum of its words. Counts what it embeds."""

    def __init__(self, *, name: str = "fake", dimension: int = 32) -> None:
        self.identity = ModelIdentity(name, "1", "fp32", dimension)
        self.has_tokens = False
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.embedded.extend(texts)
        vectors = np.stack([self._vector(text) for text in texts])
        if progress is not None:
            progress("embedding", len(texts), len(texts))
        return vectors

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        """Its codes are the text itself, so that a test can see whose they are."""
        return self.embed(texts, progress=progress), [text.encode() for text in texts]

    def embed_question(self, text: str) -> tuple[Vectors, None]:
        return self.embed([text])[0], None

    def _vector(self, text: str) -> Vectors:
        total = np.sum([_direction(word, self.identity.dimension) for word in text.lower().split()], axis=0)
        length = float(np.linalg.norm(total)) or 1.0
        return np.asarray(total / length, dtype=np.float32)


@cache
def _direction(word: str, dimension: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimension)


def metadata(
    *,
    document_type: str | None = None,
    is_binding: bool | None = None,
    superseded_by: tuple[Supersession, ...] = (),
    tags: Tags | None = None,
) -> Metadata:
    written = (("Ada Ek", "Çağla Öz"), 2021, "10.1234/ab.5")
    return Metadata(
        "A title", document_type, is_binding, "2021-04-01", superseded_by, "en", tags or {}, False, *written
    )


def split(
    doc_id: str,
    *texts: str,
    tags: Sequence[Tags] | None = None,
    kinds: Sequence[RegionKind] | None = None,
    about: Metadata | None = None,
) -> SplitDocument:
    """A document whose sentences are `texts`, one a line. A text that starts with `#` is a heading."""
    whole = "\n".join(texts)
    sentences = []
    start = 0
    for number, text in enumerate(texts):
        if text:
            kind = RegionKind.HEADING if text.startswith("#") else RegionKind.PARAGRAPH
            sentences.append(
                Sentence(
                    doc_id=doc_id,
                    quote=Quote(Span(start, start + len(text)), text),
                    kind=kinds[number] if kinds else kind,
                    section=("Guide",),
                    lead=None,
                    page=number + 1,
                    ocr=None,
                    tags=tags[number] if tags else {},
                )
            )
        start += len(text) + 1
    return with_sentences(doc_id, whole, sentences, about=about or metadata())


def numbered(doc_id: str, sentences: int) -> SplitDocument:
    """A document of sentences that differ from each other and from those of any other document, on thirty topics."""
    texts = (f"Sentence {number} of {doc_id}: topic{number % 30} topic{number % 30}." for number in range(sentences))
    return split(doc_id, *texts)


def with_sentences(
    doc_id: str,
    text: str,
    sentences: Sequence[Sentence],
    *,
    about: Metadata,
    passages: Sequence[Passage] = (),
    pages: Sequence[Page] = (),
) -> SplitDocument:
    digest = hashlib.sha256(text.encode()).hexdigest()
    source = hashlib.sha256(b"bytes of " + text.encode()).hexdigest()
    document = Document(doc_id, text, digest, source, "utf-8", "markdown", "plain / 1", about)
    fingerprint = hashlib.sha256(repr((text, about, sentences, passages)).encode()).hexdigest()
    return SplitDocument(document, tuple(sentences), tuple(passages), tuple(pages), "/corpus", fingerprint)
