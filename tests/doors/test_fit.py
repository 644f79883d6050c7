"""`quoth fit`: from labelled questions to weights that are used, kept only where they help, and refused elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from quoth.library import Quoth

from .command_line import MINILM, Ran, failed, run, write_files

LATE = {**MINILM, "QUOTH_RERANK_KIND": "late"}
"""Late interaction: the reader would take most of the time, and the fit does not care whose features it weighs."""
CROPS = "barley canola chickpea cotton flax lentil lupin maize millet oats onion potato rice rye sesame sorghum".split()
CROPS += "soybean spelt sunflower tomato triticale vetch wheat yam".split()
ABSENT = "banana cocoa coffee mango olive papaya pepper saffron tea tobacco vanilla walnut".split()


@dataclass(frozen=True, slots=True)
class Sowing:
    """An index of how deep crops are sown, with questions about crops in it and others."""

    folder: Path
    index: Path
    questions: Path

    def run(self, command: str, *arguments: str | Path, folder: Path) -> Ran:
        return run(command, *arguments, "--index", self.index, variables=LATE, folder=folder)


def sentence(crop: str) -> str:
    return f"Sow {crop} at {2 + len(crop) % 3} cm into moist soil."


def question(crop: str, gold: str | None) -> dict[str, Any]:
    text = f"How deep should {crop} be sown?"
    if gold is None:
        return {"id": crop, "question": text, "answerable": False, "gold": []}
    start = len(f"# {gold.title()}\n\n")
    place = {"doc_id": f"{gold}.md", "start": start, "end": start + len(sentence(gold)), "text": sentence(gold)}
    return {"id": crop, "question": text, "answerable": True, "gold": [place]}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def sowing(tmp_path_factory: pytest.TempPathFactory) -> Sowing:
    place = tmp_path_factory.mktemp("sowing")
    files = {f"{crop}.md": f"# {crop.title()}\n\n{sentence(crop)} Harvest {crop} when it is dry.\n" for crop in CROPS}
    folder = write_files(place / "crops", files)
    rows = [*(question(crop, crop) for crop in CROPS), *(question(crop, None) for crop in ABSENT)]
    ran = run("ingest", folder, "--index", place / "index", variables=LATE)
    assert ran.code == 0, ran.talk
    return Sowing(folder, place / "index", write(place / "questions.jsonl", rows))


@pytest.fixture(scope="module")
def fitted(sowing: Sowing, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """What a fit says, and the folder that it wrote its settings file into."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "quoth.yaml").write_text("selection: {max_sentences: 3} # mine\n")
    return sowing.run("fit", sowing.questions, folder=folder), folder


def ask(sowing: Sowing, crop: str, *arguments: str, folder: Path) -> Ran:
    return sowing.run("ask", f"How deep should {crop} be sown?", "--json", *arguments, folder=folder)


def test_a_fit_that_helps_is_shown_and_written(fitted: tuple[Ran, Path]) -> None:
    ran, folder = fitted
    settings = (folder / "quoth.yaml").read_text()
    section = yaml.safe_load(settings)["evidence"]

    assert ran.code == 0, ran.talk
    assert "36 questions: 24 answerable, 12 not" in ran.text
    assert "Held out in 5 folds by text and document" in ran.text
    assert "log loss" in ran.text
    assert "the best sentence: counts" in ran.text
    assert "Written to quoth.yaml" in ran.text
    assert settings.startswith("selection: {max_sentences: 3} # mine\n")
    assert "intercept" in section["sentence"]
    assert section["answer"]["support"] > 0
    assert section["questions"] == 36
    assert section["made_for"]["reranker"] == "late"


def test_the_fitted_weights_are_in_force(sowing: Sowing, fitted: tuple[Ran, Path], tmp_path: Path) -> None:
    _, folder = fitted
    plain, mine = (ask(sowing, "wheat", folder=where).object for where in (tmp_path, folder))
    aside = ask(sowing, "wheat", "--set", "evidence.sentence={}", folder=folder).object

    assert mine["confidence"] != plain["confidence"] == aside["confidence"]
    assert mine["run_notes"]["settings"] != aside["run_notes"]["settings"]


def test_a_second_fit_gives_the_same_bytes(sowing: Sowing, fitted: tuple[Ran, Path]) -> None:
    _, folder = fitted
    before = (folder / "quoth.yaml").read_bytes()
    made = (folder / "quoth.yaml").read_text().replace("reranker: late", "reranker: gone")
    (folder / "stale.yaml").write_text(made)
    again = sowing.run("fit", sowing.questions, "--config", "stale.yaml", "--json", folder=folder)

    assert again.code == 0, again.talk
    assert (folder / "stale.yaml").read_bytes() == before
    result = again.object
    assert result["better"] is True
    assert result["written"] == "stale.yaml"
    losses = {
        name: held_out["log_loss"]
        for name, held_out in result["held_out"]["answers"].items()
        if name in {"in_force", "fitted"}
    }
    assert losses["fitted"] < losses["in_force"]


def test_weights_for_another_reranker_are_refused_with_the_way_out(sowing: Sowing, fitted: tuple[Ran, Path]) -> None:
    _, folder = fitted
    refused = ask(sowing, "wheat", "--set", "rerank.kind=cosine", folder=folder)

    assert failed(refused, "reranker (late then, cosine now)", "quoth fit", "evidence.sentence={}")
    assert ask(sowing, "wheat", "--set", "rerank.kind=cosine", "--set", "evidence.sentence={}", folder=folder).code == 0


def test_a_calibration_from_before_the_fit_no_longer_holds(
    sowing: Sowing, fitted: tuple[Ran, Path], tmp_path: Path
) -> None:
    _, folder = fitted
    made_for = Quoth.open(sowing.index, settings={"rerank.kind": "late"}).circumstances()
    calibration = {"calibration": {"threshold": 0.5, "made_for": made_for}}
    (tmp_path / "before.yaml").write_text(yaml.safe_dump(calibration))
    (tmp_path / "after.yaml").write_text(yaml.safe_dump(calibration) + (folder / "quoth.yaml").read_text())
    after = ask(sowing, "wheat", "--config", "after.yaml", "--set", "selection.max_sentences=6", folder=tmp_path)

    assert ask(sowing, "wheat", "--config", "before.yaml", folder=tmp_path).object["run_notes"]["calibrated"]
    assert failed(after, "calibration", "confidence (late ", " then, late fitted ")


def test_a_fit_to_labels_that_mean_nothing_is_not_kept(sowing: Sowing, tmp_path: Path) -> None:
    """Each question has the gold of another crop, so that nothing in a sentence tells whether it is right."""
    rows = [question(crop, gold) for crop, gold in zip(CROPS, CROPS[7:] + CROPS[:7], strict=True)]
    wrong = write(tmp_path / "wrong.jsonl", [*rows, *(question(crop, None) for crop in ABSENT)])
    ran = sowing.run("fit", wrong, "--json", folder=tmp_path)

    assert ran.code == 1
    assert ran.object["better"] is False
    assert ran.object["message"] in ran.talk
    assert "error: on held-out questions fitted weights are not clearly better: the log loss of " in ran.talk
    assert "hint: The weights in force stay. Label more questions" in ran.talk
    assert not (tmp_path / "quoth.yaml").exists()


def test_too_few_questions_are_refused_before_any_is_asked(sowing: Sowing, tmp_path: Path) -> None:
    few = write(tmp_path / "few.jsonl", [question(crop, crop) for crop in CROPS])

    assert failed(sowing.run("fit", few, folder=tmp_path), "24 answerable and 0 unanswerable", "at least 20 and 10")


def test_without_a_model_there_is_nothing_to_fit(sowing: Sowing, tmp_path: Path) -> None:
    ran = sowing.run("fit", sowing.questions, "--set", "rerank.kind=cosine", folder=tmp_path)

    assert failed(ran, "there are no weights to fit: rerank.kind is cosine", "Set rerank.kind to reader, or to late")


def test_a_question_that_cannot_be_asked_stops_the_fit(sowing: Sowing, tmp_path: Path) -> None:
    ran = sowing.run("fit", sowing.questions, "--set", "retrieval.max_question_characters=9", folder=tmp_path)

    assert failed(ran, "question barley cannot be asked", "take it out")
