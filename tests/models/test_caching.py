from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from quoth.domain.profile import load_profile
from quoth.errors import ProviderFault
from quoth.library import Quoth
from quoth.models.caching import CachedEmbedder, MemoryCache
from quoth.models.hash_embedder import HashEmbedder
from quoth.passages.retrieve import depends_on, is_repeatable
from quoth.protocols import Embedder, Progress
from quoth.search.question_analysis import analyse
from quoth.settings import Settings
from quoth.types import (
    NO_FILTERS,
    Filters,
    FoundBy,
    ModelIdentity,
    Question,
    QuestionTokens,
    RetrievalTrace,
    RetrieveResult,
    Usage,
    Vectors,
)
from retrievals import retrieval


class TokenEmbedder:
    """Gives tokens, one for each word, and counts what it is asked. `fault` is raised where it is set."""

    def __init__(self, *, revision: str = "1", dimension: int = 8) -> None:
        self.identity = ModelIdentity("tokens", revision, "fp32", dimension)
        self.has_tokens = True
        self.asked: list[str] = []
        self.fault: Exception | None = None

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        return HashEmbedder(dimension=self.identity.dimension).embed(texts, progress=progress)

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        return self.embed(texts, progress=progress), [text.encode() for text in texts]

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        self.asked.append(text)
        if self.fault is not None:
            raise self.fault
        words = text.split()
        places = tuple((number, number + len(word)) for number, word in enumerate(words))
        slopes = np.random.default_rng(len(text)).standard_normal((len(words), 4)).astype(np.float32)
        return self.embed([text])[0], QuestionTokens(places, slopes, np.float32(1) / (slopes[:, 0] + np.float32(7)))


def same(one: tuple[Vectors, QuestionTokens | None], other: tuple[Vectors, QuestionTokens | None]) -> bool:
    """Whether two embedded questions are alike to the last bit."""

    def everything(given: tuple[Vectors, QuestionTokens | None]) -> list[Any]:
        vector, tokens = given
        arrays = [vector] if tokens is None else [vector, tokens.slopes, tokens.offsets]
        seen = [(array.dtype, array.shape, array.tobytes()) for array in arrays]
        return [seen, tokens and (tokens.spans, [type(place) for span in tokens.spans for place in span])]

    return everything(one) == everything(other)


QUESTION = "How deep is canola sown?"


@pytest.mark.parametrize("text", [QUESTION, "", "ığ 😀", "\ud800 lone", "word " * 500])
@pytest.mark.parametrize("inner", [TokenEmbedder(), HashEmbedder()], ids=["tokens", "no tokens"])
def test_a_question_asked_again_has_the_same_vector_to_the_last_bit(text: str, inner: Embedder) -> None:
    cached = CachedEmbedder(inner, MemoryCache(10**6), seconds=60)
    plain = inner.embed_question(text)

    assert same(cached.embed_question(text), plain)
    assert same(cached.embed_question(text), plain)


def test_it_is_embedded_once() -> None:
    inner = TokenEmbedder()
    cached = CachedEmbedder(inner, MemoryCache(10**6), seconds=60)
    for text in (QUESTION, QUESTION, "Another?", QUESTION):
        cached.embed_question(text)

    assert inner.asked == [QUESTION, "Another?"]


def test_everything_else_is_passed_through() -> None:
    inner, cache = TokenEmbedder(), MemoryCache(10**6)
    cached: Embedder = CachedEmbedder(inner, cache, seconds=60)
    told: list[tuple[str, int, int]] = []
    rows, codes = cached.embed_tokens(["a", "b"], progress=lambda *what: told.append(what))

    assert cached.identity == inner.identity
    assert cached.has_tokens is True
    assert np.array_equal(rows, inner.embed(["a", "b"]))
    assert codes == [b"a", b"b"]
    assert told[-1] == ("embedding", 2, 2)
    assert cache.counts == {}
    assert cache.size == 0


def test_two_models_never_share_a_vector() -> None:
    cache = MemoryCache(10**6)
    models = [TokenEmbedder(), TokenEmbedder(revision="2"), TokenEmbedder(dimension=16)]
    for model in models:
        CachedEmbedder(model, cache, seconds=60).embed_question(QUESTION)

    assert [model.asked for model in models] == [[QUESTION]] * 3


def test_a_fault_is_raised_and_not_remembered() -> None:
    inner, cache = TokenEmbedder(), MemoryCache(10**6)
    cached = CachedEmbedder(inner, cache, seconds=60)
    inner.fault = ProviderFault("down", hint="")
    with pytest.raises(ProviderFault):
        cached.embed_question(QUESTION)
    assert cache.size == 0

    inner.fault = None

    assert same(cached.embed_question(QUESTION), TokenEmbedder().embed_question(QUESTION))


def test_no_question_is_kept_in_words() -> None:
    cache = MemoryCache(10**6)
    CachedEmbedder(TokenEmbedder(), cache, seconds=60).embed_question(QUESTION)
    [(key, (value, _))] = cache._entries.items()

    assert "canola" not in key
    assert b"canola" not in value


def test_a_caller_that_writes_into_a_vector_spoils_only_his_own() -> None:
    cached = CachedEmbedder(TokenEmbedder(), MemoryCache(10**6), seconds=60)
    for _ in range(3):
        vector, _tokens = cached.embed_question(QUESTION)
        vector[:] = 0

    assert same(cached.embed_question(QUESTION), TokenEmbedder().embed_question(QUESTION))


RETRIEVED = RetrieveResult(
    retrieval((FoundBy.BOTH, 0.1 + 0.2), (FoundBy.VECTOR, 1 / 3)),
    RetrievalTrace(
        analyse(
            Question("1", QUESTION, NO_FILTERS), profile=load_profile("agriculture"), settings=Settings().retrieval
        ),
        candidates=7,
        passages=(),
        reranker="late",
        usage=None,
        notes=("a note",),
    ),
)


def test_a_result_comes_back_equal() -> None:
    cache = MemoryCache(10**6)
    assert cache.get("key") is None

    cache.put("key", RETRIEVED, seconds=60)

    assert cache.get("key") == RETRIEVED
    assert repr(cache.get("key")) == repr(RETRIEVED)  # -0.0 is not 0.0, and 1 is not 1.0


def test_only_what_would_be_the_same_again_is_kept() -> None:
    lacking = replace(RETRIEVED, retrieval=replace(RETRIEVED.retrieval, degraded=("dense",)))
    scored_by_a_model = replace(RETRIEVED, trace=replace(RETRIEVED.trace, usage=Usage("m", 1, 1, 1, None)))

    assert is_repeatable(RETRIEVED)
    assert not is_repeatable(lacking)
    assert not is_repeatable(scored_by_a_model)


def test_a_whole_retrieval_comes_back_equal(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.md").write_text("# Fences\n\nA fence shall not exceed six feet.\n", encoding="utf-8")
    settings = {"embedding.model_name": "hash", "rerank.kind": "late"}
    quoth = Quoth.build(corpus, index=tmp_path / "index", profile="governance", settings=settings)
    retrieved = quoth.explain_retrieval("How high may a \N{SNOWMAN} fence be, not exceed \ud800 feet?")
    cache = MemoryCache(10**6)

    assert retrieved.retrieval.passages
    cache.put("key", retrieved, seconds=60)
    assert cache.get("key") == retrieved
    assert repr(cache.get("key")) == repr(retrieved)


FILTERS = Filters(
    doc_ids=("a.md", "b.md"),
    tags={"crop": ("canola", "wheat"), "practice": ("soil",)},
    document_types=("ccr", "rules"),
    is_binding=True,
    as_of="2024-01-01",
)


def key(
    *,
    index: str = "i1",
    settings: str = "s1",
    profile: str = "p",
    question: str = "How high?",
    filters: Filters = FILTERS,
) -> str:
    asked: Any = SimpleNamespace(settings_digest=settings, profile=SimpleNamespace(source=profile))
    reader: Any = SimpleNamespace(info=SimpleNamespace(digest=index))
    return MemoryCache.key("found", depends_on(Question("1", question, filters), reader, asked))


def test_the_order_of_filters_and_their_repetition_make_no_difference() -> None:
    turned = Filters(
        doc_ids=("b.md", "a.md", "b.md"),
        tags={"practice": ("soil",), "crop": ("wheat", "canola")},
        document_types=("rules", "ccr"),
        is_binding=True,
        as_of="2024-01-01",
    )

    assert key() == key(filters=turned)


def test_everything_that_a_result_depends_on_changes_its_key() -> None:
    others: list[dict[str, Any]] = [
        {"index": "i2"},
        {"settings": "s2"},
        {"profile": "general"},
        {"question": "how high?"},
        {"question": "How high? "},
        {"question": "\ud800"},
        {"question": "\ud801"},
        {"index": "s1", "settings": "i1"},
        *(
            {"filters": filters}
            for filters in (
                NO_FILTERS,
                replace(FILTERS, doc_ids=("a.md",)),
                replace(FILTERS, doc_ids=("a.md,b.md",)),
                replace(FILTERS, doc_ids=FILTERS.document_types, document_types=FILTERS.doc_ids),
                replace(FILTERS, tags={"crop": ("canola",), "practice": ("soil", "wheat")}),
                replace(FILTERS, tags={}),
                replace(FILTERS, is_binding=False),
                replace(FILTERS, is_binding=None),
                replace(FILTERS, as_of=None),
                replace(FILTERS, as_of="2024-01-02"),
            )
        ),
    ]
    keys = [key(**other) for other in ({}, *others)]

    assert len(set(keys)) == len(keys)
    assert not any("high" in made for made in keys)
