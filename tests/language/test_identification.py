from __future__ import annotations

import sys

import pytest

from quoth.language import identification
from quoth.language.identification import language_of
from quoth.types import primary_language

QUESTIONS = {
    "ar": "ما هي مدة الإشعار التي ينص عليها العقد؟",
    "de": "Wie lang ist die Kündigungsfrist des Vertrags?",
    "el": "Ποια είναι η προθεσμία καταγγελίας της σύμβασης;",
    "en": "How long is the notice period of the contract?",
    "es": "¿Cuál es el plazo de preaviso del contrato?",
    "fr": "Quel est le délai de préavis du contrat ?",
    "hi": "अनुबंध की नोटिस अवधि कितनी है और किस पर लागू होती है?",
    "ja": "契約の解約予告期間はどのくらいですか。",
    "ko": "계약 해지 통지 기간은 얼마입니까?",
    "pl": "Jaki jest okres wypowiedzenia umowy?",
    "ro": "Care este termenul de preaviz al contractului?",
    "ru": "Каков срок уведомления о расторжении договора?",
    "th": "ระยะเวลาแจ้งล่วงหน้าของสัญญาคือเท่าไร",
    "tr": "Sözleşmenin fesih ihbar süresi ne kadardır?",
    "vi": "Thời hạn thông báo chấm dứt hợp đồng là bao lâu?",
    "zh": "合同的通知期限是多长？",
}


@pytest.mark.parametrize("code", sorted(QUESTIONS))
def test_the_language_of_a_question_is_recognised_whatever_the_corpus_is_written_in(code: str) -> None:
    assert language_of(QUESTIONS[code]) == code
    assert language_of(QUESTIONS[code], ("en",)) == code
    assert language_of(QUESTIONS[code], ("de",)) == code


@pytest.mark.parametrize("text", ["", "42", "pH 6.5?", "Newton", "?!"])
def test_too_little_text_is_unsure(text: str) -> None:
    assert language_of(text) is None


def test_a_script_that_one_language_uses_needs_no_length() -> None:
    assert language_of("ไทย") == "th"
    assert language_of("東京") == "zh"
    assert language_of("東京は") == "ja"


def test_in_doubt_a_likely_language_is_taken() -> None:
    assert language_of("Was kostet das?") is None
    assert language_of("Was kostet das?", ("de",)) == "de"


def test_plain_english_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    identification._model.cache_clear()

    assert language_of("How deep should the seeds of the crop be sown?") == "en"


def test_a_name_in_another_script_does_not_change_the_language() -> None:
    assert language_of("The capital of Japan, 東京, is the largest of its cities.") == "en"


@pytest.mark.parametrize(
    ("tag", "code"),
    [("de-AT", "de"), ("EN_us", "en"), ("zh-Hant-TW", "zh"), ("German", None), ("", None), (None, None)],
)
def test_a_tag_is_reduced_to_its_primary_code(tag: str | None, code: str | None) -> None:
    assert primary_language(tag) == code
