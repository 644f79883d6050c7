"""Another reader: any cross-encoder in the usual layout, and what is said when it is none."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from quoth.errors import ModelError
from quoth.models.pair_model import PairModel
from quoth.models.weights import RERANKER_HINT, find_reranker
from quoth.types import SentenceInContext

from .tiny_bert import CONFIG, POSITIONS, WORDS, numpy_logits, write_tiny_bert
from .tiny_graph import INPUTS, token_rows, write_json, write_tiny_graph

QUESTION = "sow canola at 2 cm"
SENTENCES = [SentenceInContext(text, "", "") for text in ("seed in moist soil .", "the board may", "deep", "cm deep")]
# [CLS] sow canola at 2 cm [SEP] seed in moist soil . [SEP]
IDS = [WORDS.index(word) for word in "[CLS] sow canola at 2 cm [SEP] seed in moist soil . [SEP]".split()]
TYPES = [0] * 7 + [1] * 6


def opened(folder: Path, threads: int = 1) -> PairModel:
    weights = find_reranker(str(folder), allow_download=False)
    return PairModel(weights, cache_dir=folder.parent / "cache", threads=threads)


@pytest.mark.parametrize("labels", [1, 2])
def test_a_bert_is_built_from_its_weights(labels: int, tmp_path: Path) -> None:
    [score] = opened(write_tiny_bert(tmp_path / "m", labels=labels)).read(QUESTION, SENTENCES[:1])
    expected = numpy_logits(IDS, TYPES, labels)

    assert score == pytest.approx(expected[0] if labels == 1 else expected[1] - expected[0], abs=2e-4)


@pytest.mark.parametrize("integer", ["INT64", "INT32"])
@pytest.mark.parametrize("inputs", [INPUTS, INPUTS[:2], INPUTS[:1]], ids=len)
@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("name", ["onnx/model.onnx", "model.onnx"])
def test_a_graph_gets_the_inputs_that_it_has(
    name: str, labels: int, inputs: Sequence[str], integer: str, tmp_path: Path
) -> None:
    folder = write_tiny_graph(
        tmp_path / "m", columns=labels, pooled="logits", inputs=inputs, integer=integer, name=name
    )
    [score] = opened(folder).read(QUESTION, SENTENCES[:1])
    types = TYPES if "token_type_ids" in inputs else [0] * len(IDS)
    expected = token_rows(IDS, types, labels).mean(axis=0)

    assert score == pytest.approx(float(expected[0] if labels == 1 else expected[1] - expected[0]), abs=2e-4)


@pytest.mark.parametrize("eight_bits", [False, True])
def test_a_score_depends_on_its_pair_alone(eight_bits: bool, tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=1, pooled="logits", eight_bits=eight_bits)
    model = opened(folder, threads=2)
    together = model.read(QUESTION, SENTENCES)

    assert len(set(together)) == len(SENTENCES)
    assert opened(folder).read(QUESTION, SENTENCES[::-1]) == together[::-1]
    assert [opened(folder).read(QUESTION, [sentence])[0] for sentence in SENTENCES] == together
    assert model.read(QUESTION, []) == []


def test_the_bare_sentence_is_read(tmp_path: Path) -> None:
    model = opened(write_tiny_bert(tmp_path / "m", labels=1))
    in_context = SentenceInContext(SENTENCES[0].text, heading="the board", before="sow canola .")

    assert model.read(QUESTION, [in_context]) == model.read(QUESTION, SENTENCES[:1])


def test_long_and_odd_texts_are_read(tmp_path: Path) -> None:
    model = opened(write_tiny_bert(tmp_path / "m", labels=1))
    whole = SentenceInContext("soil " * POSITIONS, "", "")
    longer = SentenceInContext("soil " * 5_000 + "deep", "", "")

    assert model.read(QUESTION, [whole]) == model.read(QUESTION, [longer])
    assert len(model.read("sow " * 5_000, [longer, SentenceInContext("\ud800", "\0", "😀")])) == 2


def test_a_roberta_reads_two_tokens_less_than_it_has_positions(tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=1, pooled="logits")
    write_json(folder, "config.json", {"model_type": "xlm-roberta", "max_position_embeddings": 514})
    write_json(folder, "tokenizer_config.json", {"model_max_length": 10**30})
    weights = find_reranker(str(folder), allow_download=False)

    assert weights.window(unsaid=10_000) == 512
    write_json(folder, "tokenizer_config.json", {"model_max_length": 128})
    assert weights.window(unsaid=10_000) == 128


def test_another_network_needs_a_graph(tmp_path: Path) -> None:
    folder = write_tiny_bert(tmp_path / "m", labels=1, config={**CONFIG, "model_type": "xlm-roberta"})
    with pytest.raises(ModelError, match=r"model type xlm-roberta.* is not supported without an ONNX graph") as caught:
        opened(folder)
    write_tiny_graph(tmp_path / "graph", columns=1, pooled="logits")
    shutil.copytree(tmp_path / "graph" / "onnx", folder / "onnx")

    assert "optimum-cli export onnx" in caught.value.hint
    assert find_reranker(str(folder), allow_download=False).model == folder / "onnx" / "model.onnx"
    assert opened(folder).read(QUESTION, SENTENCES) == opened(tmp_path / "graph").read(QUESTION, SENTENCES)


@pytest.mark.parametrize("folder", ["bert", "graph"])
def test_more_labels_are_refused(folder: str, tmp_path: Path) -> None:
    write_tiny_bert(tmp_path / "bert", labels=3)
    write_tiny_graph(tmp_path / "graph", columns=3, pooled="logits")

    with pytest.raises(ModelError, match=r"has the shape \(1, 3\), not 1 x 1 or 1 x 2") as caught:
        opened(tmp_path / folder)
    assert "rerank.model" in caught.value.hint


def test_an_encoder_without_a_classifier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not hold a BERT cross-encoder") as caught:
        opened(write_tiny_bert(tmp_path / "m", prefix="bert."))
    assert caught.value.hint == RERANKER_HINT


def test_an_embedding_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the output last_hidden_state has the shape"):
        opened(write_tiny_graph(tmp_path / "m", columns=4, tokens="last_hidden_state"))


def test_an_input_that_quoth_cannot_give_is_named(tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=1, pooled="logits", inputs=("input_ids", "position_ids"))

    with pytest.raises(ModelError, match=r"wants the inputs input_ids \(tensor\(int64\)\), position_ids"):
        opened(folder)


@pytest.mark.parametrize("missing", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_missing_file_is_named(missing: str, tmp_path: Path) -> None:
    folder = write_tiny_bert(tmp_path / "m", labels=1)
    (folder / missing).unlink()

    with pytest.raises(ModelError, match=f"lacks {missing}") as caught:
        opened(folder)
    assert caught.value.hint == RERANKER_HINT


@pytest.mark.parametrize(
    ("model", "why"),
    [("no/such-model", "neither a folder nor in the Hugging Face cache"), ("./no-folder", "is not a folder")],
)
def test_a_model_that_is_nowhere_is_an_error(model: str, why: str) -> None:
    with pytest.raises(ModelError, match=why) as caught:
        find_reranker(model, allow_download=False)
    assert "rerank.download=true" in caught.value.hint


def test_a_damaged_graph_is_an_error_that_does_not_ask_to_delete_the_model(tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=1, pooled="logits")
    (folder / "onnx" / "model.onnx").write_bytes(b"no graph")

    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        opened(folder)
    assert caught.value.hint == "Get the model's files again."


@pytest.mark.parametrize("file", ["onnx/model.onnx", "onnx/model.onnx_data", "tokenizer.json"])
def test_the_revision_changes_with_the_files_and_not_with_the_folder(file: str, tmp_path: Path) -> None:
    folder = write_tiny_graph(tmp_path / "m", columns=1, pooled="logits")
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    first = opened(folder).revision

    assert opened(elsewhere).revision == first == opened(folder).revision
    if file.endswith("model.onnx"):
        shutil.rmtree(folder)
        write_tiny_graph(folder, columns=1, pooled="logits", inputs=INPUTS[:2])
    elif file.endswith("_data"):
        (folder / file).write_bytes(b"weights of a large graph")
    else:
        (folder / file).write_text((folder / file).read_text() + " ")
    assert opened(folder).revision != first
