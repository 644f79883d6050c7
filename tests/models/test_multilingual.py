"""The multilingual encoder: made once from its package, the same to the bit, and one space for many languages."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quoth.errors import MissingExtra, ModelError
from quoth.models import weights
from quoth.models.multilingual_graph import model_folder
from quoth.models.onnx_embedder import OnnxEmbedder
from quoth.models.weights import MULTILINGUAL, has_multilingual, multilingual_package
from quoth.search.reranking import matches
from quoth.wiring import default_cache_dir

pytestmark = pytest.mark.skipif(not has_multilingual(), reason="the extra 'multilingual' is not installed")

QUESTION = "Wie tief wird Raps gesät?"
SENTENCES = ["Sow rapeseed 1.2 to 2.5 cm deep.", "Owners may not keep goats.", "İnekler geceleri ahırda kalır."]


@pytest.fixture(scope="module")
def multilingual() -> OnnxEmbedder:
    folder = model_folder(multilingual_package(), cache_dir=default_cache_dir())
    return OnnxEmbedder(folder, cache_dir=default_cache_dir(), threads=1)


def test_names_the_model_and_compares_tokens(multilingual: OnnxEmbedder) -> None:
    assert multilingual.identity.name == MULTILINGUAL
    assert multilingual.identity.dimension == 512
    assert multilingual.has_tokens


def test_a_text_comes_out_the_same_whatever_it_is_embedded_with(multilingual: OnnxEmbedder) -> None:
    together, codes = multilingual.embed_tokens([*SENTENCES, QUESTION])
    for text, vector, code in zip([*SENTENCES, QUESTION], together, codes, strict=True):
        alone, [alone_code] = multilingual.embed_tokens([text])
        assert np.array_equal(alone[0], vector)
        assert alone_code == code
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_a_question_finds_its_answer_in_another_language(multilingual: OnnxEmbedder) -> None:
    vectors, codes = multilingual.embed_tokens(SENTENCES)
    question, tokens = multilingual.embed_question(QUESTION)
    assert np.argmax(vectors @ question) == 0
    assert tokens is not None
    assert tokens.weights is not None
    late = matches(tokens, codes) @ tokens.weights
    assert np.argmax(late) == 0


def test_content_words_count_for_more_than_function_words(multilingual: OnnxEmbedder) -> None:
    text = "the goats of the owners"
    _, tokens = multilingual.embed_question(text)
    assert tokens is not None
    assert tokens.weights is not None
    heavy = [text[slice(*span)] for span, weight in zip(tokens.spans, tokens.weights, strict=True) if weight > 10]
    assert "".join(heavy).replace(" ", "") == "atsowners"  # `goats` is two pieces


def test_a_damaged_package_is_refused(tmp_path: Path) -> None:
    package = multilingual_package()
    shutil.copytree(package.directory, tmp_path / "resources")
    with (tmp_path / "resources" / "sp.model").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ModelError, match="is damaged"):
        model_folder(replace(package, directory=tmp_path / "resources"), cache_dir=tmp_path / "cache")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra) as raised:
        multilingual_package()
    assert "quoth[multilingual]" in raised.value.hint
