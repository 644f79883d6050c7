from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from quoth.models.hash_embedder import HashEmbedder
from quoth.types import ModelIdentity


def test_shared_words_make_near_vectors() -> None:
    question, answer, other = HashEmbedder().embed(["sow canola seed", "sow canola seed deep", "fences need approval"])

    assert float(question @ answer) > 0.7
    assert float(question @ other) < 0.3


@pytest.mark.parametrize("text", ["", "?!", "word", "\ud800 lone", "a" * 10_000, "😀"])
def test_every_text_gets_a_unit_vector(text: str) -> None:
    [vector] = HashEmbedder(dimension=32).embed([text])

    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-6


def test_words_that_cancel_out_still_give_a_unit_vector() -> None:
    vectors = HashEmbedder(dimension=1).embed(["a b", "a c", "b c", "a b c d"])

    assert np.array_equal(np.abs(vectors), np.ones((4, 1), dtype=np.float32))


def test_no_texts_give_no_rows() -> None:
    assert HashEmbedder(dimension=32).embed([]).shape == (0, 32)


def test_vectors_do_not_depend_on_the_process() -> None:
    program = (
        "from quoth.models.hash_embedder import HashEmbedder as H; print(H().embed(['sow it deep']).tobytes().hex())"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == HashEmbedder().embed(["sow it deep"]).tobytes().hex()


def test_the_identity_says_that_it_is_no_model() -> None:
    assert HashEmbedder(dimension=64).identity == ModelIdentity("hash", "1", "float32", 64)


def test_progress_is_told() -> None:
    calls: list[tuple[str, int, int]] = []
    HashEmbedder().embed(["a", "b"], progress=lambda *call: calls.append(call))

    assert calls == [("embedding", 1, 2), ("embedding", 2, 2)]
