from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.language.stems import (
    UNSPACED,
    grams,
    index_stems,
    plain_form,
    stemmed_words,
    word_language,
    word_language_in,
    word_languages,
)
from quoth.types import IndexInfo, ModelIdentity

LANGUAGES = ("ar", "de", "el", "fr", "he", "hi", "ja", "ko", "my", "ro", "ru", "th", "tr", "uk", "vi", "zh")
SAMPLE = st.text(alphabet=st.characters() | st.sampled_from("aZ09 .,-/()'’½²اलด中가ςİıßй\u0301\u093f\u0e31\u064e"))


def wholes(text: str, language: str) -> list[str]:
    return [word.whole for word in stemmed_words(text, language)]


@pytest.mark.parametrize(
    ("language", "alike"),
    [
        ("ar", "الجامعة جامعات الجَامِعَات الجـامعة"),
        ("de", "Universitäten UNIVERSITÄT universitaten"),
        ("el", "πανεπιστήμιο ΠΑΝΕΠΙΣΤΉΜΙΑ πανεπιστημίων"),
        ("es", "Universidad universidades"),
        ("hi", "लड़की लड़कियाँ लड़कियां"),
        ("ro", "ţară țară ţări"),
        ("ru", "зелёный зеленые ЗЕЛЁНОГО"),
        ("tr", "İstanbul istanbul’da İSTANBUL'UN"),
        ("tr", "ışık IŞIKLAR"),
        ("uk", "п'ять п’ять"),
        ("vi", "Đại đại ĐẠI"),
    ],
)
def test_forms_of_a_word_are_one(language: str, alike: str) -> None:
    assert len(set(wholes(alike, language))) == 1


@pytest.mark.parametrize(("language", "apart"), [("ru", "май маи"), ("vi", "ma má mà mả mã mạ"), ("bn", "বড় বড")])
def test_signs_that_part_words_stay(language: str, apart: str) -> None:
    plain = plain_form(apart, language).split()

    assert len(set(plain)) == len(apart.split())


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("de", "6.0-7.0 kg/ha, 4.2(b)(i)", "6.0-7.0 6.0 7.0 kg/ha kg ha 4.2(b)(i) 4.2 b i"),
        ("de", "1.234,50 und 2,5 und 10.000", "1234.50 und 2.5 und 10000"),
        ("fr", "l’eau d'Évian", "l eau d evian"),
        ("hi", "हिन्दी में १२", "हिन्द म 12"),
        ("he", "שָׁלוֹם", "שלום"),
        ("zh", "土壤pH值", "土壤 ph 值 土 壤"),
        ("ja", "ガス", "ガス ガ ス"),
        ("ko", "대학교", "대학 학교 대 학 학 교"),
        ("th", "ปลูกข้าว", "ปลู ลูก ูกข กข้ ข้า ้าว"),
        ("zh", "我", "我"),
    ],
)
def test_what_is_indexed(language: str, text: str, terms: str) -> None:
    assert index_stems(text, language) == terms.split()


@given(SAMPLE, st.sampled_from(LANGUAGES))
def test_no_word_is_empty_or_has_a_space(text: str, language: str) -> None:
    forms = [form for word in stemmed_words(text, language) for form in word.forms]

    assert all(form and not any(map(str.isspace, form)) for form in forms)
    assert set(forms) <= set(index_stems(text, language))


@given(st.text(alphabet="中国大学ปลูกข้าว가나", min_size=1))
def test_n_grams_cover_their_run(text: str) -> None:
    for run in UNSPACED.findall(text):
        assert "".join(gram[0] for gram in grams(run)) in run
        assert run.startswith(next(iter(grams(run))))
        assert run.endswith(list(grams(run))[-1])


def test_threads_stem_alike() -> None:
    text = " ".join(f"{stem}en{number}x Universitäten Häuser" for number, stem in enumerate(["haus", "wand"] * 200))
    expected, found = index_stems(text, "de"), []
    threads = [threading.Thread(target=lambda: found.append(index_stems(text, "de"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 8


@pytest.mark.parametrize(
    ("tag", "code"),
    [("en", ""), ("en-GB", ""), (None, ""), ("und", ""), ("de-AT", "de"), ("nb", "no"), ("zh_Hant", "zh")],
)
def test_english_and_the_unknown_are_left_to_another(tag: str | None, code: str) -> None:
    assert word_language(tag) == code


def test_an_index_lists_its_analyses_the_most_common_first() -> None:
    info = IndexInfo(
        3, 1, "", ModelIdentity("m", "1", "fp32", 8), "general", "", 9, 9, (("de", 4), ("en", 2), ("nb", 1))
    )

    assert word_languages(info) == ("", "de", "no")
    assert (word_language_in(info, "de-CH"), word_language_in(info, None), word_language_in(info, "tr")) == (
        "de",
        "",
        "",
    )
