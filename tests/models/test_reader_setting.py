"""The setting `rerank.model`: it changes the reader, the identity of what was computed, and the answer says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quoth import Quoth
from quoth.models.cross_encoder import CrossEncoder
from quoth.models.pair_model import PairModel
from quoth.models.weights import Weights
from quoth.wiring import open_cross_encoder

from .tiny_bert import write_tiny_bert

TEXT = "# Seeding\n\nSow canola seed 2 cm deep. Roll the soil.\n"
QUESTION = "How deep should canola be sown?"


@pytest.fixture
def index(minilm: Weights, tmp_path: Path) -> Path:
    assert minilm.name  # late interaction needs the real weights
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "guide.md").write_text(TEXT)
    Quoth.build(tmp_path / "corpus", index=tmp_path / "index")
    return tmp_path / "index"


def test_another_reader_reads_and_says_so(index: Path, tmp_path: Path) -> None:
    model = write_tiny_bert(tmp_path / "reader", labels=1)
    plain, other = Quoth.open(index), Quoth.open(index, settings={"rerank.model": str(model)})
    usual, notes = plain.ask(QUESTION).notes, other.ask(QUESTION).notes

    assert usual.warnings == ()
    assert [warning for warning in notes.warnings if "rerank.model" in warning] == list(notes.warnings) != []
    assert notes.settings != usual.settings
    assert other.circumstances()["confidence"] != plain.circumstances()["confidence"]


def test_other_weights_in_the_same_folder_are_another_reader(index: Path, tmp_path: Path) -> None:
    model = write_tiny_bert(tmp_path / "reader", labels=1)
    settings = {"rerank.model": str(model)}
    before = Quoth.open(index, settings=settings)
    digest, circumstances = before.ask(QUESTION).notes.settings, before.circumstances()
    (model / "tokenizer.json").write_text((model / "tokenizer.json").read_text() + " ")
    open_cross_encoder.cache_clear()  # as in a new process
    after = Quoth.open(index, settings=settings)

    assert after.ask(QUESTION).notes.settings != digest
    assert after.circumstances() != circumstances


def test_the_same_reader_in_another_folder_keeps_a_calibration(index: Path, tmp_path: Path) -> None:
    models = [write_tiny_bert(tmp_path / name, labels=1) for name in ("here", "there")]
    here, there = (Quoth.open(index, settings={"rerank.model": str(model)}) for model in models)

    assert here.circumstances() == there.circumstances()


def test_a_download_that_is_allowed_changes_no_answer(index: Path) -> None:
    settings = Quoth.open(index).settings()

    assert replace(settings, rerank=replace(settings.rerank, download=True)).digest == settings.digest


def test_without_the_setting_the_reader_in_the_package_reads(tmp_path: Path) -> None:
    model = write_tiny_bert(tmp_path / "reader", labels=1)

    assert isinstance(open_cross_encoder(None, download=False), CrossEncoder)
    assert isinstance(open_cross_encoder(str(model), download=False), PairModel)
