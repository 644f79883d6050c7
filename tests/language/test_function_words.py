from __future__ import annotations

from importlib.resources import files

import msgspec
import pytest

from quoth.language.function_words import asked_words, function_words

LISTED = msgspec.yaml.decode(files("quoth.language").joinpath("function_words.yaml").read_bytes(), type=dict[str, str])


@pytest.mark.parametrize(
    ("language", "question", "words"),
    [
        ("ar", "متى تأسست الجامعة في بيروت؟", "تأسست الجامعة بيروت"),
        ("de", "Wie hoch darf der Zaun höchstens sein?", "hoch Zaun höchstens"),
        ("el", "Πότε ιδρύθηκε το πανεπιστήμιο;", "ιδρύθηκε πανεπιστήμιο"),
        ("es", "¿Cuándo se fundó la universidad?", "fundó universidad"),
        ("fr", "Qu'est-ce que l'eau d'Évian ?", "eau Évian"),
        ("hi", "किसान गेहूँ कब बोते हैं?", "किसान गेहूँ बोते"),
        ("ja", "東京大学はいつ設立されましたか。", "東京 京大 大学 学は 設立 立さ され"),
        ("ko", "울타리의 높이는 얼마입니까?", "울타 타리 리의 높이 이는"),
        ("ro", "Când a fost înființată universitatea?", "înființată universitatea"),
        ("ru", "Когда был основан университет?", "основан университет"),
        ("th", "ใครปลูกข้าว", "ปลู ลูก ูกข กข้ ข้า ้าว"),
        ("tr", "Ankara'daki üniversiteyi kim kurdu?", "Ankara'daki üniversiteyi kurdu"),
        ("vi", "Hàng rào được cao bao nhiêu?", "Hàng rào cao"),
        ("zh", "为审议议案建立了什么组织？", "为审 审议 议议 议案 案建 建立 组织"),
        ("zh", "pH值是多少？", "pH 值"),
    ],
)
def test_a_question_asks_for_its_content_words(language: str, question: str, words: str) -> None:
    assert asked_words(question, language) == words.split()


def test_a_question_of_function_words_alone_keeps_them() -> None:
    assert asked_words("Was ist das?", "de") == ["Was", "ist", "das"]
    assert asked_words("什么", "zh") == ["什么"]


@pytest.mark.parametrize("language", LISTED)
def test_each_list_is_one_of_words(language: str) -> None:
    words = LISTED[language].split()

    assert len(words) > 10
    assert all(any(map(str.isalpha, word)) for word in words)
    assert len(function_words(language)) > len(words) * 0.7  # few are there twice


def test_a_language_without_a_list_has_no_function_words() -> None:
    assert asked_words("Aha oho", "xx") == ["Aha", "oho"]
