"""Questions and documents in other languages than English: which model, which weights, and what the output says."""

from __future__ import annotations

from pathlib import Path

import pytest

from quoth import wiring
from quoth.answer.calibration import settings_in_force
from quoth.library import Quoth, ingest_paths
from quoth.models.weights import MULTILINGUAL, has_multilingual
from quoth.overrides import NO_OVERRIDES
from quoth.search.language_pairs import LanguagePair, expected_pair
from quoth.settings import ENGLISH_MODEL, CalibrationSettings, EmbeddingSettings, Settings
from quoth.types import NO_FILTERS, Abstention, Answer, ModelIdentity, RunNotes

needs_multilingual = pytest.mark.skipif(not has_multilingual(), reason="the extra 'multilingual' is not installed")

GERMAN = {
    "raps.md": "# Raps\n\nRaps wird 2,5 cm tief in feuchten Boden gesät. Im Frühjahr braucht er Stickstoff.\n",
    "kuh.md": "# Kühe\n\nKühe werden zweimal am Tag gemolken. Frisches Wasser muss immer im Stall stehen.\n",
    "wald.md": "# Wald\n\nDie Eiche ist ein Laubbaum. Im Herbst fallen ihre Früchte, die Eicheln, auf den Waldboden.\n",
}
ENGLISH = {"rules.md": "# Rules\n\nOwners may not keep goats on their lots. Fences must not be higher than six feet.\n"}


def build(folder: Path, texts: dict[str, str], **settings: object) -> Quoth:
    for name, text in texts.items():
        (folder / "docs").mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    return Quoth.build(folder / "docs", index=folder / "index", settings=settings)


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Quoth:
    return build(tmp_path_factory.mktemp("german"), GERMAN)


@needs_multilingual
def test_a_new_index_of_german_documents_is_made_with_the_multilingual_model(german: Quoth) -> None:
    assert german.info.model.name == MULTILINGUAL
    assert german.settings().embedding.model_name == MULTILINGUAL


def test_a_new_index_of_english_documents_is_made_with_the_english_model(tmp_path: Path) -> None:
    assert build(tmp_path, ENGLISH).info.model.name == ENGLISH_MODEL


def test_without_the_extra_the_advice_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "has_multilingual", lambda: False)
    for name, text in GERMAN.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    report = ingest_paths([tmp_path], tmp_path / "index", profile=None, overrides=NO_OVERRIDES)
    assert report.info.model.name == ENGLISH_MODEL
    assert "quoth[multilingual]" in report.advice[0]
    again = ingest_paths([tmp_path], tmp_path / "index", profile=None, overrides=NO_OVERRIDES)
    assert again.info.model.name == ENGLISH_MODEL


def test_the_choice_goes_by_the_known_languages() -> None:
    chosen, advice = wiring.for_documents(EmbeddingSettings(), [None, "en", "de"])
    assert (chosen.model_name, advice) == (ENGLISH_MODEL, "")
    by_hand = EmbeddingSettings(model_name="hash")
    assert wiring.for_documents(by_hand, ["de", "de"]) == (by_hand, "")
    made_with = ModelIdentity(MULTILINGUAL, "1", "float32", 512)
    assert wiring.for_index(EmbeddingSettings(), made_with).model_name == MULTILINGUAL


def test_auto_and_the_english_model_are_the_same_settings() -> None:
    named = Settings(embedding=EmbeddingSettings(model_name=ENGLISH_MODEL))
    assert Settings().digest == named.digest
    assert Settings(embedding=EmbeddingSettings(model_name=MULTILINGUAL)).digest != named.digest


@needs_multilingual
def test_a_german_question_is_answered_without_the_english_reader(german: Quoth) -> None:
    outcome = german.ask("Wie tief wird Raps gesät?")
    assert isinstance(outcome, Answer)
    assert outcome.citations[0].sentence.text == "Raps wird 2,5 cm tief in feuchten Boden gesät."
    assert outcome.notes.degraded == ("reader",)
    assert "not in English (de)" in outcome.notes.warnings[0]
    assert german.ask("Wie tief wird Raps gesät?") == outcome


@needs_multilingual
def test_a_name_that_no_document_has_is_refused_in_german_too(german: Quoth) -> None:
    outcome = german.ask("Wie tief wird der iPhone-Raps in den Boden gesät?")
    assert isinstance(outcome, Abstention)
    assert outcome.objection.detail == "'iPhone-Raps' is not mentioned in the corpus."


@needs_multilingual
def test_an_english_question_finds_german_evidence_and_says_so(german: Quoth) -> None:
    asked = german.explain("How deep is rapeseed sown?", filters=NO_FILTERS)
    assert asked.trace.ranked[0].sentence.doc_id == "raps.md"
    assert "reader" not in asked.trace.ranked[0].support.features  # type: ignore[union-attr]
    assert asked.outcome.notes.degraded == ("reader",)
    assert "one language (en) and the evidence in another (de)" in asked.outcome.notes.warnings[0]


@needs_multilingual
def test_numbers_and_years_are_kept_to_between_languages(german: Quoth) -> None:
    asked = german.explain("Why was rapeseed sown 9 cm deep in 1987?")
    assert not isinstance(asked.outcome, Answer)
    assert {group[0].text for group in asked.trace.analysis.entities} == {"1987"}


def test_english_is_judged_by_the_reader(tmp_path: Path) -> None:
    outcome = build(tmp_path, ENGLISH).ask("May owners keep goats?")
    assert outcome.notes.degraded == ()
    assert _without_warnings(outcome.notes)


def _without_warnings(notes: RunNotes) -> bool:
    return not notes.warnings


@needs_multilingual
def test_the_users_own_fit_takes_the_mark_away(german: Quoth, tmp_path: Path) -> None:
    built = build(tmp_path, GERMAN)
    plain = built.engine()
    made_for = wiring.fit_circumstances_of(built.info, plain.settings, store="embedded", language="de")
    fit = {
        "evidence.sentence": {"intercept": -5.0, "late": 5.0, "cosine": 1.0, "lexical": 2.0},
        "evidence.answer": {"intercept": 3.0, "support": 1.0},
        "evidence.made_for": made_for,
    }
    fitted = Quoth.open(tmp_path / "index", settings=fit)
    outcome = fitted.ask("Wie tief wird Raps gesät?")
    assert outcome.notes.degraded == ()
    assert not outcome.notes.warnings
    assert fitted.ask("How deep is rapeseed sown?").notes.degraded == ("reader",)


def test_a_calibration_is_in_force_for_its_own_language() -> None:
    settings = Settings(calibration=CalibrationSettings(threshold=0.4, made_for={"language": "de"}))

    def is_in_force(language: str | None) -> bool:
        kept = settings_in_force(settings, NO_FILTERS, degraded=(), missing_shards=(), language=language)
        return kept.calibration.threshold is not None

    assert is_in_force("de")
    assert not is_in_force("tr")
    assert not is_in_force(None)
    assert not is_in_force("de, across")


@needs_multilingual
def test_the_pair_goes_by_the_languages_of_the_index(german: Quoth) -> None:
    pairs = [expected_pair(language, german.info) for language in ("de", "en", "tr")]
    assert pairs == [LanguagePair.SAME, LanguagePair.ACROSS, LanguagePair.ACROSS]
