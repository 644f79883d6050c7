from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("httpx", reason="httpx is not installed")

from fake_openai import FakeOpenAI
from quoth.errors import ProviderFault
from quoth.models import http_embedder
from quoth.models.hash_embedder import HashEmbedder
from quoth.models.http_embedder import MAX_TEXT_CHARACTERS, HttpEmbedder
from quoth.protocols import Embedder
from quoth.settings import EmbeddingSettings
from quoth.types import ModelIdentity, Vectors

TEXTS = ["sow canola seed", "fences need approval", "sow canola seed deep", "paint", "water the field"]


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(dimension=32) as running:
        yield running


def embedder_at(server: FakeOpenAI, *, size: int = 32, **values: Any) -> HttpEmbedder:  # noqa: ANN401
    settings = replace(EmbeddingSettings(provider="openai", base_url=server.base_url, seconds=5.0, retries=0), **values)
    return HttpEmbedder(settings, model="some-model", dimension=size, key="sk-secret", sleep=lambda _: None)


def hashed(texts: list[str], size: int = 32) -> Vectors:
    return HashEmbedder(dimension=size).embed(texts)


def inputs(server: FakeOpenAI) -> list[list[str]]:
    return [request.body["input"] for request in server.received]


def test_it_is_an_embedder_without_tokens(server: FakeOpenAI) -> None:
    embedder: Embedder = embedder_at(server)

    assert embedder.identity == ModelIdentity("some-model", "openai-api", "float32", 32)
    assert not embedder.has_tokens


def test_each_text_gets_its_row(server: FakeOpenAI) -> None:
    vectors = embedder_at(server).embed(TEXTS)

    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, hashed(TEXTS))
    assert (server.last.path, server.last.headers["authorization"]) == ("/v1/embeddings", "Bearer sk-secret")
    assert server.last.body == {"model": "some-model", "input": TEXTS, "encoding_format": "float"}


def test_a_dimension_is_asked_for_only_where_one_is_set(server: FakeOpenAI) -> None:
    vectors = embedder_at(server, size=48, dimension=48).embed(TEXTS)

    assert server.last.body["dimensions"] == 48
    assert np.array_equal(vectors, hashed(TEXTS, 48))


def test_a_question_gets_the_row_that_its_text_would_get(server: FakeOpenAI) -> None:
    embedder = embedder_at(server)
    vector, tokens = embedder.embed_question(TEXTS[0])

    assert tokens is None
    assert np.array_equal(vector, embedder.embed(TEXTS)[0])


def test_tokens_are_empty(server: FakeOpenAI) -> None:
    vectors, codes = embedder_at(server).embed_tokens(TEXTS)

    assert np.array_equal(vectors, hashed(TEXTS))
    assert codes == [b""] * 5


def test_no_texts_give_no_rows_and_no_request(server: FakeOpenAI) -> None:
    assert embedder_at(server).embed([]).shape == (0, 32)
    assert server.count == 0


def test_texts_go_in_batches_and_progress_is_told(server: FakeOpenAI) -> None:
    calls: list[tuple[str, int, int]] = []
    vectors = embedder_at(server, batch_size=2).embed(TEXTS, progress=lambda *call: calls.append(call))

    assert inputs(server) == [TEXTS[:2], TEXTS[2:4], TEXTS[4:]]
    assert calls == [("embedding", 2, 5), ("embedding", 4, 5), ("embedding", 5, 5)]
    assert np.array_equal(vectors, hashed(TEXTS))


def test_a_request_holds_no_more_characters_than_it_may(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_embedder, "MAX_REQUEST_CHARACTERS", 10)
    texts = ["four", "sixsix", "x", "a text that is longer than all may be together", "y", "z"]

    vectors = embedder_at(server).embed(texts)

    assert inputs(server) == [["four", "sixsix"], ["x"], [texts[3]], ["y", "z"]]
    assert np.array_equal(vectors, hashed(texts))


def test_a_very_long_text_is_embedded_by_its_beginning(server: FakeOpenAI) -> None:
    embedder_at(server).embed(["word " * MAX_TEXT_CHARACTERS, " " * MAX_TEXT_CHARACTERS + "late"])

    assert [len(text) for text in server.last.body["input"]] == [MAX_TEXT_CHARACTERS, 4]


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", "\u3000\xa0"])
def test_a_blank_text_is_not_sent_and_gets_a_fixed_unit_row(server: FakeOpenAI, blank: str) -> None:
    vectors = embedder_at(server).embed([blank, "sow", blank])

    assert inputs(server) == [["sow"]]
    assert np.array_equal(vectors[0], vectors[2])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert np.array_equal(vectors[1], hashed(["sow"])[0])
    assert np.array_equal(embedder_at(server).embed_question(blank)[0], vectors[0])


def test_texts_that_cannot_be_encoded_are_embedded(server: FakeOpenAI) -> None:
    assert embedder_at(server).embed(["half \ud800", "😀 Eskişehir \0"]).shape == (2, 32)


def test_rows_are_put_back_in_order(server: FakeOpenAI) -> None:
    server.behave("shuffled")

    assert np.array_equal(embedder_at(server).embed(TEXTS), hashed(TEXTS))


def test_rows_of_another_length_are_made_unit_rows(server: FakeOpenAI) -> None:
    server.behave("unnormalised")

    vectors = embedder_at(server).embed(TEXTS)

    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert np.allclose(vectors, hashed(TEXTS), atol=1e-6)


# Faults


def fault_of(embedder: HttpEmbedder, texts: list[str] = TEXTS) -> ProviderFault:
    with pytest.raises(ProviderFault) as raised:
        embedder.embed(texts)
    return raised.value


def test_a_wrong_dimension_names_both_numbers_and_the_setting(server: FakeOpenAI) -> None:
    server.behave("wrong_dimension")

    fault = fault_of(embedder_at(server))

    assert "33 numbers, not of 32" in str(fault)
    assert "embedding.dimension" in fault.hint


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("down", "cannot be reached"),
        ("garbage", "JSON object"),
        ("wrong_json", "4 vectors for 5 texts"),
        ("rude", "JSON object"),
        ("refuses", "0 vectors for 5 texts"),
        ("huge", "sent more than"),
        ("status:400", "status 400"),
        ("status:401", "status 401"),
        ("status:429", "status 429"),
        ("status:302", "redirect"),
    ],
)
def test_a_fault_says_that_what_was_done_is_kept(server: FakeOpenAI, mode: str, told: str) -> None:
    server.behave(mode)

    fault = fault_of(embedder_at(server))

    assert told in str(fault)
    assert fault.hint.endswith("What was stored before is kept: run the same command again to go on.")
    assert "sk-secret" not in str(fault) + fault.hint


@pytest.mark.parametrize("mode", ["slow", "drip", "drip_headers"])
def test_each_request_ends_within_its_seconds(server: FakeOpenAI, mode: str) -> None:
    server.behave(mode, seconds=30 if mode == "slow" else 0.02)

    fault = fault_of(embedder_at(server, seconds=0.2, retries=1))

    assert "within 0.2 s (2 attempts)" in str(fault)
    assert "embedding.seconds" in fault.hint


def test_a_passing_fault_in_the_middle_is_not_noticed(server: FakeOpenAI) -> None:
    server.behave("flaky:3", status=429, retry_after="1")

    assert np.array_equal(embedder_at(server, batch_size=2, retries=3).embed(TEXTS), hashed(TEXTS))
    assert server.count == 6


def test_a_question_does_not_wait_for_many_retries(server: FakeOpenAI) -> None:
    server.behave("status:500")

    with pytest.raises(ProviderFault, match="2 attempts") as raised:
        embedder_at(server, retries=20).embed_question("How deep?")

    assert server.count == 2
    assert "kept" not in raised.value.hint


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, "0 vectors"),
        ({}, "0 vectors"),
        ([], "0 vectors"),
        ([{"index": 0, "embedding": [1.0, 0.0]}] * 2, "2 vectors for 2 texts, or not one for each"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 2, "embedding": [1.0, 0.0]}], "not one for each"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": True, "embedding": [1.0, 0.0]}], "not one for each"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"embedding": [1.0, 0.0]}], "not one for each"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, "x"], "not one for each"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1}], "list of numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": "AACAPw=="}], "list of numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": ["1", "0"]}], "list of numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [None, 1.0]}], "list of numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [True, False]}], "list of numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [[1.0], [0.0]]}], "list of numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [[1.0], 0.0]}], "list of numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [10**300, 0]}], "list of numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": []}], "0 numbers"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [1.0]}], "1 numbers, not of 2"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [0.0, 0.0]}], "without a direction"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [0, 0]}], "without a direction"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [1e300, 1e300]}], "without a direction"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [float("nan"), 1.0]}], "JSON object"),
    ],
)
def test_every_vector_is_checked(server: FakeOpenAI, data: object, told: str) -> None:
    server.behave("replies", text=json.dumps({"data": data}))

    fault = fault_of(embedder_at(server, size=2), ["a", "b"])

    assert told in str(fault)
    assert fault.hint


def test_whole_numbers_are_numbers(server: FakeOpenAI) -> None:
    server.behave("replies", text='{"data": [{"index": 0, "embedding": [3, 4]}]}')

    assert np.allclose(embedder_at(server, size=2).embed(["a"]), [[0.6, 0.8]])


def test_a_question_waits_no_longer_than_its_own_time(server: FakeOpenAI) -> None:
    server.behave("slow", seconds=30)

    with pytest.raises(ProviderFault, match=r"did not finish within 0\.2 s"):
        embedder_at(server, question_seconds=0.2).embed_question("How deep?")


def test_a_service_that_failed_is_left_alone_for_a_while(server: FakeOpenAI) -> None:
    now = [0.0]
    settings = EmbeddingSettings(provider="openai", base_url=server.base_url, retries=0)
    embedder = HttpEmbedder(settings, model="m", dimension=32, key=None, sleep=lambda _: None, clock=lambda: now[0])
    server.behave("status:500")
    with pytest.raises(ProviderFault):
        embedder.embed_question("How deep?")
    server.behave("ok")
    asked = server.count

    with pytest.raises(ProviderFault, match="status 500"):
        embedder.embed_question("How deep?")
    assert server.count == asked

    now[0] = http_embedder.REST_SECONDS
    assert np.array_equal(embedder.embed_question("How deep?")[0], hashed(["How deep?"])[0])
