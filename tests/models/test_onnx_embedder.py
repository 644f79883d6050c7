"""The embedder with the real weights; without them only the tests that need none run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from quoth.errors import ModelError
from quoth.models.onnx_embedder import OnnxEmbedder, batches
from quoth.models.weights import Weights
from quoth.types import ModelIdentity

from .tiny_bert import CONFIG, HIDDEN, POSITIONS, WORDS

# Made by `tools/compare_with_sentence_transformers.py --reference` (sentence-transformers 6.2.0, torch 2.13.0).
REFERENCE = {
    "Sow canola seed 2 to 3 cm deep.": [
        -0.042404, 0.02333, -0.112641, -0.016943, -0.047062, -0.047737, -0.088195, 0.027847,
    ],
    "The Board may levy a fine of $250.00 under Section 7.3(b).": [
        -0.025203, -0.010156, 0.028975, -0.065302, 0.002439, 0.022116, 0.008694, 0.006096,
    ],
    "Eskişehir'de buğday ekim ayında ekilir; 😀 naïve café.": [
        -0.0316, 0.034846, -0.000848, 0.021964, -0.015501, -0.014786, 0.069477, -0.032151,
    ],
}  # fmt: skip

TEXTS = [
    " ".join(["soil", "depth", "seed", "fence", "owner"][: 1 + index % 5] * (1 + index % 7)) for index in range(90)
]


def test_vectors_equal_those_of_sentence_transformers(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(list(REFERENCE))

    assert np.abs(vectors[:, :8] - np.array(list(REFERENCE.values()))).max() < 1e-4


def test_a_paraphrase_is_nearer_than_another_subject(embedder: OnnxEmbedder) -> None:
    question, answer, other = embedder.embed(
        [
            "How deep should canola be sown?",
            "Plant rapeseed two centimetres below the surface.",
            "The stock market fell.",
        ]
    )

    assert float(question @ answer) > float(question @ other) + 0.2


def test_the_identity_names_the_weights(embedder: OnnxEmbedder) -> None:
    assert embedder.identity == ModelIdentity("all-MiniLM-L6-v2", "53aa51172d14-d1021b8988de", "float32", 384)


def change_weights(model: Weights) -> None:
    from safetensors.numpy import load_file, save_file

    save_file({name: value[::-1].copy() for name, value in load_file(model.model).items()}, model.model)


def change_pooling(model: Weights) -> None:
    model.pooling.parent.mkdir()
    model.pooling.write_text(json.dumps({"pooling_mode_cls_token": True}))


def change_epsilon(model: Weights) -> None:
    model.config.write_text(json.dumps({**CONFIG, "layer_norm_eps": 0.5}))


def change_tokenizer(model: Weights) -> None:
    """Let two words change places; the file keeps its size and its time."""
    before = model.tokenizer.stat()
    text = model.tokenizer.read_text()
    model.tokenizer.write_text(text.replace('"sow"', '"@"').replace('"may"', '"sow"').replace('"@"', '"may"'))
    os.utime(model.tokenizer, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [change_weights, change_pooling, change_epsilon, change_tokenizer])
def test_other_vectors_mean_another_identity(change: Callable[[Weights], None], tiny: Weights, tmp_path: Path) -> None:
    first = OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1)
    change(tiny)
    second = OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1)

    assert not np.allclose(first.embed(["sow canola"]), second.embed(["sow canola"]), atol=1e-3)
    assert second.identity != first.identity
    assert OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1).identity == second.identity


def test_the_window_is_part_of_the_identity_as_far_as_it_counts(tiny: Weights, tmp_path: Path) -> None:
    short, full, beyond = (
        OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1, max_tokens=tokens) for tokens in (8, POSITIONS, 256)
    )
    text = ["sow canola seed at 2 cm deep in moist soil"]

    assert not np.allclose(short.embed(text), full.embed(text), atol=1e-3)
    assert short.identity != full.identity
    assert np.array_equal(full.embed(text * 9), beyond.embed(text * 9))
    assert full.identity == beyond.identity


def test_the_same_model_elsewhere_has_the_same_identity(tiny: Weights, tmp_path: Path) -> None:
    copy = Weights("tiny", Path(shutil.copytree(tiny.directory, tmp_path / "copy")), sha256=None)
    copy.pooling.parent.mkdir()
    copy.pooling.write_text(json.dumps({"pooling_mode_mean_tokens": True}))  # what the other leaves unsaid

    here, there = (OnnxEmbedder(model, cache_dir=tmp_path, threads=1).identity for model in (tiny, copy))
    assert here == there


def test_rows_come_in_the_order_of_the_texts_whatever_they_run_with(embedder: OnnxEmbedder) -> None:
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])

    assert np.array_equal(embedder.embed(TEXTS), alone)
    assert np.array_equal(embedder.embed(TEXTS[::-1]), alone[::-1])


def test_vectors_do_not_depend_on_the_number_of_threads(tiny: Weights, tmp_path: Path) -> None:
    one, three = (OnnxEmbedder(tiny, cache_dir=tmp_path, threads=threads, batch_size=4) for threads in (1, 3))

    assert np.array_equal(one.embed(TEXTS), three.embed(TEXTS))


def test_rows_are_unit_vectors_in_float32(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(TEXTS)

    assert vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5


def test_threads_do_not_disturb_one_another(embedder: OnnxEmbedder) -> None:
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda start: embedder.embed(TEXTS[start:]), range(0, 90, 10)))

    assert all(np.array_equal(result, expected[start * 10 :]) for start, result in enumerate(results))


@pytest.mark.parametrize(
    "text",
    ["", " ", "\x00", "a\x00b", "\ud800", "lone \udfff surrogate", "😀👩‍🌾", "word " * 20_000, "x" * 100_000, "\ufffd"],
    ids=["empty", "space", "nul", "nul inside", "surrogate", "surrogate inside", "emoji", "long", "one word", "U+FFFD"],
)
def test_odd_text_gets_a_unit_vector(text: str, embedder: OnnxEmbedder) -> None:
    [alone] = embedder.embed([text])
    _, among_others = embedder.embed(["before", text])

    assert abs(float(np.linalg.norm(alone)) - 1) < 1e-5
    assert np.array_equal(alone, among_others)


def test_text_beyond_the_window_is_not_read(embedder: OnnxEmbedder) -> None:
    window = "word " * 254  # and the two marks that every text gets

    assert np.array_equal(embedder.embed([window]), embedder.embed([window + "other text"]))
    assert not np.array_equal(embedder.embed([window]), embedder.embed(["word " * 253]))


def test_no_texts_give_no_rows(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_progress_counts_up_to_the_total(tiny: Weights, tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    embedder = OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1, batch_size=4)
    embedder.embed(["sow canola"] * 10, progress=lambda *call: calls.append(call))

    assert calls == [("embedding", 4, 10), ("embedding", 8, 10), ("embedding", 10, 10)]


def test_many_texts_cross_chunks_in_order(tiny: Weights, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1)
    few = ["sow", "canola seed", "the board may"]
    vectors = embedder.embed(few * 3000)

    assert np.array_equal(vectors, np.tile(embedder.embed(few), (3000, 1)))


def test_the_window_is_no_longer_than_the_model_allows(tiny: Weights, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1, max_tokens=256)

    assert embedder.embed(["soil " * 300]).shape == (1, HIDDEN)


def test_a_damaged_tokenizer_is_an_error(tiny: Weights, tmp_path: Path) -> None:
    tiny.tokenizer.write_bytes(b"{}")

    with pytest.raises(ModelError, match=r"tokenizer\.json cannot be read"):
        OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1)


def test_the_tokenizer_of_another_model_is_refused(tiny: Weights, tmp_path: Path) -> None:
    tiny.tokenizer.write_text(tiny.tokenizer.read_text().replace('"board"', f'"board":{len(WORDS)},"extra"'))

    with pytest.raises(ModelError, match="belongs to another model"):
        OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1)


def test_a_batch_holds_one_length_and_no_more_tokens_than_allowed() -> None:
    lengths = [256, 3, 256, 3, 3, 256, 256, 256, 7]

    assert list(batches(lengths, most_texts=2)) == [[1, 3], [4], [8], [0, 2], [5, 6], [7]]
    assert list(batches(lengths, most_texts=32)) == [[1, 3, 4], [8], [0, 2, 5, 6], [7]]


def test_the_module_imports_nothing_heavy() -> None:
    program = (
        "import sys, quoth.models.onnx_embedder, quoth.models.weights\n"
        "print(sorted({'onnx', 'onnxruntime', 'tokenizers', 'safetensors', 'huggingface_hub'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"
