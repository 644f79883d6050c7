"""Stored token vectors: few bits, and still the same likeness."""

from __future__ import annotations

import numpy as np
import pytest

from quoth.models.onnx_embedder import OnnxEmbedder
from quoth.models.shipped_models import TokenCodec, shipped_codec
from quoth.search.reranking import matches
from quoth.types import Vectors

QUESTION = "How deep should canola be sown in dry soil?"
SENTENCES = [
    "Sow canola 1.2 to 2.5 cm deep.",
    "In dry soil, canola should be sown deeper.",
    "Owners may not keep goats.",
]


@pytest.fixture
def codec() -> TokenCodec:
    found = shipped_codec()
    assert found is not None
    return found


def test_a_token_takes_32_bytes(codec: TokenCodec) -> None:
    assert codec.projection.shape == (384, 64)
    assert codec.encode(np.ones((5, 384), dtype=np.float32)).shape == (5, 32)


def test_codes_are_linear(codec: TokenCodec) -> None:
    vectors = np.random.default_rng(1).standard_normal((7, 384)).astype(np.float32)
    packed = codec.encode(vectors)
    codes = np.hstack([packed & 15, packed >> 4]).astype(np.float32)
    slopes, offsets = codec.question(vectors[:2])
    reduced = vectors @ codec.projection
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True)

    decoded = codec.low + codec.step * codes
    assert np.allclose(slopes @ codes.T + offsets[:, None], reduced[:2] @ decoded.T, atol=1e-5)


def test_the_codes_of_a_token_do_not_depend_on_its_neighbours(codec: TokenCodec) -> None:
    vectors = np.random.default_rng(2).standard_normal((21, 384)).astype(np.float32)
    together = codec.encode(vectors)

    assert np.array_equal(np.vstack([codec.encode(vectors[row : row + 1]) for row in range(21)]), together)
    assert np.array_equal(codec.encode(vectors[3:]), together[3:])


def test_compressed_likeness_stays_near_the_exact_one(embedder: OnnxEmbedder) -> None:
    _, asked = embedder.embed_question(QUESTION)
    assert asked is not None
    _, codes = embedder.embed_tokens(SENTENCES)
    compressed = matches(asked, codes).mean(axis=1)

    def unit(text: str) -> Vectors:
        vectors = embedder.token_vectors(text)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    exact = [float((unit(QUESTION) @ unit(text).T).max(axis=1).mean()) for text in SENTENCES]
    assert np.allclose(compressed, exact, atol=0.1)
    assert np.argsort(compressed).tolist() == np.argsort(exact).tolist() == [2, 0, 1]


def test_token_codes_come_with_the_very_vectors_of_embed(embedder: OnnxEmbedder) -> None:
    vectors, codes = embedder.embed_tokens(SENTENCES)

    assert np.array_equal(vectors, embedder.embed(SENTENCES))
    assert [len(one) % 32 for one in codes] == [0, 0, 0]
    alone = [embedder.embed_tokens([text])[1][0] for text in SENTENCES]
    assert codes == alone


def test_a_question_knows_where_its_tokens_stand(embedder: OnnxEmbedder) -> None:
    vector, asked = embedder.embed_question(QUESTION)

    assert asked is not None
    assert np.array_equal(vector, embedder.embed([QUESTION])[0])
    assert [QUESTION[start:end] for start, end in asked.spans][:5] == ["How", "deep", "should", "can", "ola"]


def test_an_empty_text_has_no_tokens(embedder: OnnxEmbedder) -> None:
    _, codes = embedder.embed_tokens([""])
    _, asked = embedder.embed_question("")

    assert codes == [b""]
    assert asked is not None
    assert matches(asked, codes).shape == (1, 0)
