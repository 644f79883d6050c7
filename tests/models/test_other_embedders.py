"""Embedding models of other families: what their files say about pooling, prefixes and length is done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from quoth.errors import ModelError
from quoth.models.onnx_embedder import OnnxEmbedder
from quoth.models.weights import Weights, find_weights

from .tiny_bert import WORDS, write_tiny_bert
from .tiny_graph import INPUTS, WIDTH, token_rows, write_json, write_tiny_graph

TEXT = "sow canola seed at 2 cm deep"


def opened(folder: Path, **options: Any) -> OnnxEmbedder:  # noqa: ANN401 - the options of the embedder
    weights = find_weights("tiny", path=folder, allow_download=False)
    return OnnxEmbedder(weights, cache_dir=folder.parent / "cache", threads=1, **options)


def expected(text: str, pooling: str) -> NDArray[np.float32]:
    ids = [WORDS.index(word) for word in ["[CLS]", *text.split(), "[SEP]"]]
    rows = token_rows(ids, [0] * len(ids), WIDTH)
    vector: NDArray[np.float32] = rows[0] if pooling == "cls" else rows.mean(axis=0)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("inputs", [INPUTS, INPUTS[:2]], ids=len)
@pytest.mark.parametrize("integer", ["INT64", "INT32"])
@pytest.mark.parametrize("output", ["last_hidden_state", "token_embeddings"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_graph_of_tokens_is_pooled(
    pooling: str, output: str, integer: str, inputs: Sequence[str], tmp_path: Path
) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=WIDTH, tokens=output, integer=integer, inputs=inputs)
    mode = "pooling_mode_cls_token" if pooling == "cls" else "pooling_mode_mean_tokens"
    write_json(folder, "1_Pooling/config.json", {mode: True})
    embedder = opened(folder)
    [vector] = embedder.embed([TEXT])

    assert embedder.identity.dimension == WIDTH
    assert not embedder.has_tokens
    assert vector.dtype == np.float32
    assert np.allclose(vector, expected(TEXT, pooling), atol=1e-5)
    assert np.array_equal(vector, embedder.embed_question(TEXT)[0])


def test_the_sentence_vector_of_a_graph_is_taken_as_it_is_but_for_its_length(tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=WIDTH, pooled="sentence_embedding", tokens="token_embeddings")
    write_json(folder, "modules.json", [{"type": "sentence_transformers.models.Dense"}])  # it is in the graph

    assert np.allclose(opened(folder).embed([TEXT])[0], expected(TEXT, "mean"), atol=1e-5)


@pytest.mark.parametrize("bert", [True, False])
def test_a_part_behind_the_pooling_is_refused(bert: bool, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    write_tiny_bert(folder) if bert else write_tiny_graph(folder, columns=WIDTH, tokens="last_hidden_state")
    write_json(
        folder, "modules.json", [{"type": f"sentence_transformers.models.{kind}"} for kind in ("Pooling", "Dense")]
    )

    with pytest.raises(ModelError, match="parts that are not supported: Dense"):
        opened(folder)


def test_a_graph_without_a_known_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has the outputs logits, and none of sentence_embedding"):
        opened(write_tiny_graph(tmp_path / "m", columns=WIDTH, pooled="logits"))


def test_a_row_of_an_8_bit_graph_does_not_depend_on_the_others(tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=WIDTH, tokens="last_hidden_state", eight_bits=True)
    texts = ["sow canola seed", "the board may", "deep moist soil", "sow sow sow"]
    embedder = opened(folder)

    assert np.array_equal(embedder.embed(texts), np.vstack([embedder.embed([text]) for text in texts]))


@pytest.mark.parametrize("name", ["document", "passage"])
def test_the_prompts_of_the_model_stand_in_front(name: str, tmp_path: Path) -> None:
    folder = write_tiny_bert(tmp_path / "m")
    plain = opened(folder)
    write_json(folder, "config_sentence_transformers.json", {"prompts": {"query": "may ", name: "the board "}})
    prompted = opened(folder)

    assert np.array_equal(prompted.embed([TEXT]), plain.embed(["the board " + TEXT]))
    assert np.array_equal(prompted.embed_question(TEXT)[0], plain.embed_question("may " + TEXT)[0])
    assert prompted.identity != plain.identity


def test_a_given_prefix_wins_over_that_of_the_model(tmp_path: Path) -> None:
    folder = write_tiny_bert(tmp_path / "m")
    plain = opened(folder)
    write_json(folder, "config_sentence_transformers.json", {"prompts": {"query": "may "}})
    without, other = opened(folder, query_prefix=""), opened(folder, query_prefix="soil ", passage_prefix="seed ")

    assert without.identity == plain.identity
    assert np.array_equal(other.embed_question(TEXT)[0], plain.embed_question("soil " + TEXT)[0])
    assert np.array_equal(other.embed_tokens([TEXT])[0], plain.embed(["seed " + TEXT]))
    assert len({embedder.identity for embedder in (plain, other, opened(folder))}) == 3


def test_with_a_prefix_there_is_no_late_interaction(minilm: Weights, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(minilm, cache_dir=tmp_path, threads=1, query_prefix="query: ")

    assert not embedder.has_tokens
    assert embedder.embed_question(TEXT)[1] is None


def test_the_window_is_that_of_the_model(tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=WIDTH, tokens="last_hidden_state")
    whole = opened(folder)
    write_json(folder, "sentence_bert_config.json", {"max_seq_length": 6})
    short = opened(folder)

    assert np.array_equal(short.embed([TEXT]), whole.embed(["sow canola seed at"]))
    assert short.identity != whole.identity
    write_json(folder, "sentence_bert_config.json", {"max_seq_length": 8192})
    assert find_weights("tiny", path=folder, allow_download=False).window(unsaid=256) == 512


def test_the_pooling_of_a_graph_is_part_of_its_identity(tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=WIDTH, tokens="last_hidden_state")
    first = opened(folder).identity
    write_json(folder, "1_Pooling/config.json", {"pooling_mode_cls_token": True})

    assert opened(folder).identity != first


@pytest.mark.parametrize(
    ("model_type", "fetched"),
    [("bert", {"model.safetensors"}), ("xlm-roberta", {"onnx/model.onnx", "onnx/model.onnx_data"})],
)
def test_only_the_weights_that_are_used_are_downloaded(
    model_type: str, fetched: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fnmatch import fnmatch

    snapshot = tmp_path / "commit"
    hub = {
        **dict.fromkeys(["model.safetensors", "pytorch_model.bin", "onnx/model.onnx", "onnx/model.onnx_data"], "0"),
        **{
            "onnx/model_quantized.onnx": "0",
            "tokenizer.json": "{}",
            "config.json": json.dumps({"model_type": model_type}),
        },
    }

    def fetch(_: str, *, allow_patterns: list[str], local_files_only: bool, revision: str = "main") -> str:
        assert not local_files_only
        assert revision in {"main", "commit"}
        for name, content in hub.items():
            if any(fnmatch(name, pattern) for pattern in allow_patterns):
                (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
                (snapshot / name).write_text(content)
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    weights = find_weights("acme/model", path=None, allow_download=True)
    there = {path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()}

    assert there == fetched | {"tokenizer.json", "config.json"}
    assert {path.relative_to(snapshot).as_posix() for path in weights.files} == fetched
