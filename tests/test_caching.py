from __future__ import annotations

import io
import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quoth import caching
from quoth.caching import CachedEmbedder, ResultCache
from quoth.errors import ProviderFault
from quoth.plain import to_plain
from quoth.profiles import load_profile
from quoth.protocols import Embedder, Progress
from quoth.providers.hash_embedder import HashEmbedder
from quoth.providers.memory_cache import MemoryCache
from quoth.retrieve.question import analyse
from quoth.settings import Settings
from quoth.types import (
    NO_FILTERS,
    Filters,
    ModelIdentity,
    Question,
    QuestionTokens,
    RetrievalTrace,
    Retrieved,
    Source,
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


class OpenCache:
    """Keeps everything where a test can see and change it."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.seconds: list[float] = []
        self.asked = 0

    def get(self, key: str) -> bytes | None:
        self.asked += 1
        return self.kept.get(key)

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        self.kept[key] = value
        self.seconds.append(seconds)


class BrokenCache:
    def get(self, key: str) -> bytes | None:
        raise RuntimeError("no cache does this")

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        raise RuntimeError("no cache does this")


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
    inner, cache = TokenEmbedder(), OpenCache()
    cached: Embedder = CachedEmbedder(inner, cache, seconds=60)
    told: list[tuple[str, int, int]] = []
    rows, codes = cached.embed_tokens(["a", "b"], progress=lambda *what: told.append(what))

    assert cached.identity == inner.identity
    assert cached.has_tokens is True
    assert np.array_equal(rows, cached.embed(["a", "b"]))
    assert codes == [b"a", b"b"]
    assert told[-1] == ("embedding", 2, 2)
    assert cache.asked == 0
    assert cache.kept == {}


def test_two_models_never_share_a_vector() -> None:
    cache = MemoryCache(10**6)
    models = [TokenEmbedder(), TokenEmbedder(revision="2"), TokenEmbedder(dimension=16)]
    for model in models:
        CachedEmbedder(model, cache, seconds=60).embed_question(QUESTION)

    assert [model.asked for model in models] == [[QUESTION]] * 3


def test_a_fault_is_raised_and_not_remembered() -> None:
    inner, cache = TokenEmbedder(), OpenCache()
    cached = CachedEmbedder(inner, cache, seconds=60)
    inner.fault = ProviderFault("down", hint="")
    with pytest.raises(ProviderFault):
        cached.embed_question(QUESTION)
    assert cache.kept == {}

    inner.fault = None

    assert same(cached.embed_question(QUESTION), TokenEmbedder().embed_question(QUESTION))


def test_the_time_to_live_is_handed_on_and_none_means_no_cache() -> None:
    cache = OpenCache()
    CachedEmbedder(TokenEmbedder(), cache, seconds=12.5).embed_question(QUESTION)
    assert cache.seconds == [12.5]

    silent = OpenCache()
    CachedEmbedder(TokenEmbedder(), silent, seconds=0).embed_question(QUESTION)

    assert (silent.kept, silent.asked) == ({}, 0)


def test_no_question_is_kept_in_words() -> None:
    cache = OpenCache()
    CachedEmbedder(TokenEmbedder(), cache, seconds=60).embed_question(QUESTION)
    [(key, value)] = cache.kept.items()

    assert "canola" not in key
    assert b"canola" not in value


def test_a_caller_that_writes_into_a_vector_spoils_only_his_own() -> None:
    cached = CachedEmbedder(TokenEmbedder(), MemoryCache(10**6), seconds=60)
    for _ in range(3):
        vector, _tokens = cached.embed_question(QUESTION)
        vector[:] = 0

    assert same(cached.embed_question(QUESTION), TokenEmbedder().embed_question(QUESTION))


def sealed(key: str, content: bytes) -> bytes:
    return caching._checksum(key, content) + content


def saved(**arrays: Any) -> bytes:  # noqa: ANN401 - right and wrong ones
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


GOOD = {
    "vector": np.ones(8, np.float32),
    "spans": np.zeros((2, 2), np.int64),
    "slopes": np.ones((2, 4), np.float32),
    "offsets": np.ones(2, np.float32),
}
WRONG = {
    "empty": b"",
    "no archive": b"PK\x03\x04 nonsense",
    "a pickle": pickle.dumps(GOOD),
    "a pickle inside": saved(vector=np.array([{"a": 1}], dtype=object)),
    "a single array": b"\x93NUMPY\x01\x00",
    "another dimension": saved(**GOOD | {"vector": np.ones(9, np.float32)}),
    "a matrix": saved(**GOOD | {"vector": np.ones((1, 8), np.float32)}),
    "doubles": saved(**GOOD | {"vector": np.ones(8)}),
    "big-endian": saved(**GOOD | {"vector": np.ones(8, ">f4")}),
    "no vector": saved(spans=GOOD["spans"], slopes=GOOD["slopes"], offsets=GOOD["offsets"]),
    "half the tokens": saved(vector=GOOD["vector"], spans=GOOD["spans"]),
    "more": saved(**GOOD, more=np.ones(1)),
    "other spans": saved(**GOOD | {"spans": np.zeros((3, 2), np.int64)}),
    "flat spans": saved(**GOOD | {"spans": np.zeros(4, np.int64)}),
    "fractional spans": saved(**GOOD | {"spans": np.zeros((2, 2))}),
    "fewer slopes": saved(**GOOD | {"slopes": np.ones((1, 4), np.float32)}),
    "flat slopes": saved(**GOOD | {"slopes": np.ones(2, np.float32)}),
    "double slopes": saved(**GOOD | {"slopes": np.ones((2, 4))}),
    "one offset": saved(**GOOD | {"offsets": np.float32(1)}),
    "double offsets": saved(**GOOD | {"offsets": np.ones(2)}),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG.keys())
def test_a_value_of_another_shape_is_a_miss_even_where_its_checksum_holds(content: bytes) -> None:
    inner, cache = TokenEmbedder(), OpenCache()
    cached = CachedEmbedder(inner, cache, seconds=60)
    plain = cached.embed_question(QUESTION)
    [key] = cache.kept
    cache.kept[key] = sealed(key, content)

    assert same(cached.embed_question(QUESTION), plain)
    assert inner.asked == [QUESTION, QUESTION]
    assert same(cached.embed_question(QUESTION), plain)  # it was written again
    assert inner.asked == [QUESTION, QUESTION]


def test_the_values_above_are_wrong_by_one_thing_only() -> None:
    inner, cache = TokenEmbedder(), OpenCache()
    cached = CachedEmbedder(inner, cache, seconds=60)
    cached.embed_question(QUESTION)
    [key] = cache.kept
    cache.kept[key] = sealed(key, saved(**GOOD))

    assert cached.embed_question(QUESTION)[0].tolist() == [1.0] * 8
    assert inner.asked == [QUESTION]


def test_no_cut_and_no_flipped_bit_goes_unnoticed() -> None:
    inner, cache = TokenEmbedder(), OpenCache()
    cached = CachedEmbedder(inner, cache, seconds=60)
    plain = cached.embed_question("deep")
    [(key, value)] = cache.kept.items()
    for place in range(0, len(value), 7):
        flipped = bytes([*value[:place], value[place] ^ 1, *value[place + 1 :]])
        for damaged in (value[:place], flipped):
            cache.kept[key] = damaged
            inner.asked.clear()
            assert same(cached.embed_question("deep"), plain)
            assert inner.asked == ["deep"]


def test_the_value_of_another_question_is_a_miss() -> None:
    cache = OpenCache()
    cached = CachedEmbedder(TokenEmbedder(), cache, seconds=60)
    cached.embed_question("first question")
    cached.embed_question("second question")
    first, second = cache.kept
    cache.kept[first] = cache.kept[second]

    assert same(cached.embed_question("first question"), TokenEmbedder().embed_question("first question"))


def test_a_cache_that_raises_breaks_nothing() -> None:
    cached = CachedEmbedder(TokenEmbedder(), BrokenCache(), seconds=60)
    results = ResultCache(BrokenCache(), 60)
    results.put("key", RETRIEVED)

    assert same(cached.embed_question(QUESTION), TokenEmbedder().embed_question(QUESTION))
    assert results.get("key") is None


RETRIEVED = Retrieved(
    retrieval((Source.BOTH, 0.1 + 0.2), (Source.VECTOR, 1 / 3)),
    RetrievalTrace(
        analyse(
            Question("1", QUESTION, NO_FILTERS), profile=load_profile("agriculture"), settings=Settings().retrieval
        ),
        candidates=7,
        passages=(),
        reranker="evidence",
        usage=None,
        notes=("a note",),
    ),
)


def test_a_result_comes_back_equal() -> None:
    results = ResultCache(MemoryCache(10**6), 60)
    assert results.get("key") is None

    results.put("key", RETRIEVED)

    assert results.get("key") == RETRIEVED
    assert repr(results.get("key")) == repr(RETRIEVED)  # -0.0 is not 0.0, and 1 is not 1.0


def test_what_lacked_a_part_is_not_kept() -> None:
    results = ResultCache(MemoryCache(10**6), 60)
    results.put("key", replace(RETRIEVED, retrieval=replace(RETRIEVED.retrieval, degraded=("dense",))))

    assert results.get("key") is None


def test_the_word_of_a_judging_model_is_not_kept() -> None:
    results = ResultCache(MemoryCache(10**6), 60)
    results.put("key", replace(RETRIEVED, trace=replace(RETRIEVED.trace, usage=Usage("m", 1, 1, 1, None))))

    assert results.get("key") is None


def test_no_time_keeps_no_result_and_asks_no_cache() -> None:
    cache = OpenCache()
    results = ResultCache(cache, 0)
    results.put("key", RETRIEVED)

    assert results.get("key") is None
    assert (cache.kept, cache.asked) == ({}, 0)


PLAIN = to_plain(RETRIEVED)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[",
        b"\xff",
        b"{}",
        b"null",
        b"[" * 100_000,
        b"[[1]]",
        json.dumps(PLAIN[:1]).encode(),
        json.dumps([*PLAIN, 1]).encode(),
        json.dumps([PLAIN[0][:-1], PLAIN[1]]).encode(),
        json.dumps([PLAIN[0], [None, *PLAIN[1][1:]]]).encode(),
        json.dumps(PLAIN).replace('"success"', '"splendid"').encode(),
        json.dumps(PLAIN).replace('"vector"', "7").encode(),
    ],
    ids=lambda content: repr(content[:40]),
)
def test_a_damaged_result_is_a_miss(content: bytes) -> None:
    cache = OpenCache()
    cache.kept["key"] = sealed("key", content)

    assert ResultCache(cache, 60).get("key") is None


def test_a_changed_digit_is_noticed() -> None:
    cache = OpenCache()
    results = ResultCache(cache, 60)
    results.put("key", RETRIEVED)
    changed = cache.kept["key"].replace(b"0.5", b"0.6")
    assert changed != cache.kept["key"]
    cache.kept["key"] = changed

    assert results.get("key") is None


FILTERS = Filters(
    doc_ids=("a.md", "b.md"),
    tags={"crop": ("canola", "wheat"), "practice": ("soil",)},
    document_types=("ccr", "rules"),
    is_binding=True,
    as_of="2024-01-01",
)
ASKED: dict[str, Any] = {
    "index": "i1",
    "settings": "s1",
    "profile": "governance",
    "question": "How high?",
    "filters": FILTERS,
}


def test_the_order_of_filters_and_their_repetition_make_no_difference() -> None:
    turned = Filters(
        doc_ids=("b.md", "a.md", "b.md"),
        tags={"practice": ("soil",), "crop": ("wheat", "canola")},
        document_types=("rules", "ccr"),
        is_binding=True,
        as_of="2024-01-01",
    )

    assert ResultCache.key(**ASKED) == ResultCache.key(**ASKED | {"filters": turned})


def test_everything_that_a_result_depends_on_changes_its_key() -> None:
    others: list[dict[str, Any]] = [
        {"index": "i2"},
        {"settings": "s2"},
        {"profile": "general"},
        {"question": "how high?"},
        {"question": "How high? "},
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
    keys = [ResultCache.key(**ASKED | other) for other in ({}, *others)]

    assert len(set(keys)) == len(keys)
    assert all("high" not in key for key in keys)


def test_a_key_is_the_same_in_every_process() -> None:
    lone = ResultCache.key(**ASKED | {"question": "\ud800"})

    assert ResultCache.key(**ASKED) == "found:bd822bcc9fc8b9a3174763ceef82bc1f1b0b758128fa32c89738bc1e760ebbed"
    assert lone != ResultCache.key(**ASKED | {"question": "\ud801"})
