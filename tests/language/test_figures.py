"""Numbers, quantities, dates and names as different languages write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.language.conventions import codes, conventions
from quoth.language.entities import entities, mentions
from quoth.language.figures import english_figures
from quoth.language.quantities import quantities, quantities_in, same_quantity
from quoth.types import Entity, EntityKind

NUMBERS = [
    ("de", "2,5", 2.5),
    ("de", "1.234,50", 1234.5),
    ("de", "1.234", 1234),
    ("de", "2.5", 2.5),
    ("de", "1'234.50", 1234.5),
    ("ru", "1 234,5", 1234.5),
    ("fr", "1\u202f234\u202f567,25", 1234567.25),
    ("hi", "1,00,000", 100000),
    ("hi", "१२.५", 12.5),
    ("ar", "٢٫٥", 2.5),
    ("ar", "١٬٢٣٤", 1234),
    ("zh", "1,234.50", 1234.5),
    ("tr", "0,125", 0.125),
]


@pytest.mark.parametrize(("code", "written", "value"), NUMBERS)
def test_a_number_is_read_as_its_language_writes_it(code: str, written: str, value: float) -> None:
    figures = english_figures(f"a {written} b", conventions(code))

    assert len(figures) == len(f"a {written} b")
    assert float(figures.split()[1]) == value


@pytest.mark.parametrize("text", ["v1.2.3", "3.10.1990", "192.168.0.1", "1.2.2024", "in 2010 100 people", "1,2,3"])
def test_what_is_no_number_stays(text: str) -> None:
    assert english_figures(text, conventions("de")) == text


@given(st.text(st.sampled_from("0123456789.,'’ \u00a0٫٬٢१ab-"), max_size=30), st.sampled_from(codes()))
def test_no_offset_changes(text: str, code: str) -> None:
    assert len(english_figures(text, conventions(code))) == len(text)


@pytest.mark.parametrize(
    ("code", "text", "quote", "same_as"),
    [
        ("de", "Die Tiefe beträgt 2,5 cm", "2,5 cm", "2.5 cm"),
        ("de", "Es wiegt 1.250 kg", "1.250 kg", "1,250 kg"),
        ("de", "nach 3 bis 5 Jahren", "3 bis 5 Jahren", "3-5 years"),
        ("es", "a 2,5 metros del suelo", "2,5 metros", "2.5 m"),
        ("ru", "глубина 2,5 см", "2,5 см", "2.5 cm"),
        ("ru", "через 5 часов", "5 часов", "5 hours"),
        ("tr", "oran %35 oldu", "%35", "35 %"),
        ("tr", "10 kilometrelik yol", "10 kilometrelik", "10 km"),
        ("zh", "播种深度为2.5厘米左右", "2.5厘米", "2.5 cm"),
        ("zh", "长5公里的路", "5公里", "5 km"),
        ("ja", "深さは2.5センチです", "2.5センチ", "2.5 cm"),
        ("ko", "깊이는 2.5cm입니다", "2.5cm", "2.5 cm"),
        ("th", "ลึก 2.5 เซนติเมตร", "2.5 เซนติเมตร", "2.5 cm"),
        ("el", "βάθος 2,5 εκατοστά", "2,5 εκατοστά", "2.5 cm"),
        ("hi", "क्षेत्र 1,00,000 हेक्टेयर है", "1,00,000 हेक्टेयर", "100,000 ha"),
        ("ar", "العمق ٢٫٥ سم", "٢٫٥ سم", "2.5 cm"),
        ("vi", "sâu 2,5 mét", "2,5 mét", "2.5 m"),
        ("ro", "adâncimea de 2,5 metri", "2,5 metri", "2.5 m"),
    ],
)
def test_a_quantity_equals_the_same_one_in_english(code: str, text: str, quote: str, same_as: str) -> None:
    (found,) = quantities(text, code)
    (english,) = quantities(same_as)

    assert text[found.span.start : found.span.end] == quote
    assert same_quantity(found, english)


def test_a_year_is_no_number_of_years() -> None:
    assert quantities("2008年10月3日", "zh") == quantities("2008년 10월 3일", "ko") == ()


def test_a_quote_may_be_in_the_language_of_the_question_or_of_the_index() -> None:
    (asked,) = quantities("Was passiert nach 1.250 m?", "de")

    assert any(same_quantity(asked, stated) for stated in quantities_in("It is 1,250 m long.", ("de", "en")))


@pytest.mark.parametrize(
    ("code", "question", "named"),
    [
        ("de", "Wie tief wird der Weizen auf dem Acker gesät?", []),
        ("de", "Wer war Carl Wilhelm Scheele?", ["Carl Wilhelm Scheele"]),
        ("de", "Wann trat die NATO dem Vertrag bei?", ["NATO"]),
        ("de", "Wer spielte in der ersten Doctor Who-Serie?", ["Doctor Who"]),
        ("tr", "Ankara'nın nüfusu kaçtır?", []),
        ("tr", "Bugün Ankara'nın nüfusu kaçtır?", ["Ankara"]),
        ("es", "¿Quién fundó la Universidad de Salamanca?", ["Universidad de Salamanca"]),
        ("ru", "Когда родился Александр Пушкин?", ["Александр Пушкин"]),
        ("el", "Πότε γεννήθηκε ο Νίκος Καζαντζάκης;", ["Νίκος Καζαντζάκης"]),
        ("zh", "ENEL案是哪一年发生的？", ["ENEL"]),
        ("de", "WAS IST DIE KÜNDIGUNGSFRIST?", []),
    ],
)
def test_names_in_a_question(code: str, question: str, named: list[str]) -> None:
    assert [entity.text for entity in entities(question, code)] == named


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("de", "Was geschah am 3. Oktober 1990?"),
        ("es", "¿Qué pasó el 3 de octubre de 1990?"),
        ("ru", "Что случилось 3 октября 1990 года?"),
        ("tr", "3 Ekim 1990 tarihinde ne oldu?"),
        ("fr", "Que s'est-il passé le 3 octobre 1990 ?"),
        ("vi", "Điều gì xảy ra ngày 3 tháng 10 năm 1990?"),
        ("zh", "1990年10月3日发生了什么？"),
        ("el", "Τι συνέβη στις 3 Οκτωβρίου 1990;"),
    ],
)
def test_a_date_in_a_question_is_found_in_texts_of_other_languages(code: str, question: str) -> None:
    (date,) = entities(question, code)

    assert (date.kind, date.words) == (EntityKind.DATE, ("oct", "3", "1990"))
    assert mentions("It happened on October 3, 1990.", date, languages=(code, "en"))
    assert mentions("Am 3. Oktober 1990 geschah es.", date, languages=(code, "de"))
    assert mentions("事情发生在1990年10月3日。", date, languages=(code, "zh"))
    assert not mentions("Am 13. Oktober 1990 geschah es.", date, languages=(code, "de"))


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        ("ru", "москва", "Он родился в Москве."),
        ("ru", "пушкин", "Стихи Пушкина читают все."),
        ("tr", "almanya", "Almanya'nın başkenti Berlin'dir."),
        ("el", "αθηνα", "Ο δήμος της Αθήνας."),
        ("de", "jupiter", "Jupiters Monde"),
    ],
)
def test_a_name_is_mentioned_in_any_of_its_forms(code: str, name: str, text: str) -> None:
    assert mentions(text, Entity(name, EntityKind.NAME, (name,)), languages=(code,))
    assert not mentions("Lorem ipsum dolor", Entity(name, EntityKind.NAME, (name,)), languages=(code,))
