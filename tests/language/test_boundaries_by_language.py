"""Sentences in many languages: whole, lossless, and with whole numbers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from check_boundaries import check
from quoth.documents.sentences import split
from quoth.language.boundaries import cuts
from quoth.language.conventions import codes, conventions
from quoth.language.quantities import UNITS

TABLE: dict[str, list[list[str]]] = msgspec.yaml.decode(Path(__file__).with_name("boundaries.yaml").read_bytes())
CASES = [(code, sentences) for code, texts in TABLE.items() for sentences in texts]


def sentences_of(text: str, language: str | None) -> list[str]:
    edges = [0, *cuts(text, 0, len(text), language=language), len(text)]
    return [text[start:end].strip() for start, end in pairwise(edges)]


@pytest.mark.parametrize(("code", "sentences"), CASES, ids=[f"{code} {texts[0][:20]}" for code, texts in CASES])
def test_a_text_is_split_as_a_reader_of_its_language_would(code: str, sentences: list[str]) -> None:
    text = ("" if code in {"zh", "ja"} else " ").join(sentences)

    assert sentences_of(text, code) == sentences


def test_the_table_has_every_language_of_the_first_rank() -> None:
    assert TABLE.keys() >= set("ar de el es fr hi ja ko ro ru th tr vi zh".split())


@pytest.mark.parametrize("code", codes())
def test_the_data_of_each_language_are_complete(code: str) -> None:
    rules = conventions(code)

    assert len(rules.months) in {0, 12}
    assert set(rules.units.values()) <= UNITS.keys()
    assert all(len(pair) == 2 for pair in rules.quotes)
    assert rules.decimal in {".", ","}
    assert all(word == word.lower() for word in rules.abbreviations | rules.starters | rules.month_names)


def test_a_language_without_data_and_an_unknown_one_are_split_too() -> None:
    assert sentences_of("Yana kan dutse. Ta tafi gida.", "ha") == ["Yana kan dutse.", "Ta tafi gida."]
    assert conventions("tlh-x-none").code == "tlh"
    assert conventions("no idea") is conventions(None) is conventions("en-GB")


FRAGMENTS = st.sampled_from(
    [
        *(" ", "\n", "\n\n", "  ", "\u00a0", ". ", "? ", "! ", "; ", "。", "？", "।", "؟ ", "۔ ", "៕", "…", "«", "»"),
        *("„", "“", "”", "(", ")", "「", "」", "¿", "¡", "- ", "# ", "1. ", "II. ", "z. B. ", "и т. д. ", "p. ej. "),
        *("2,5", "1.234,50", "1 234,5", "1,00,000", "٢٫٥", "१२.५", "3. Oktober", "19. yüzyıl", "5 г. ", "vb. "),
        *("กรุงเทพ ", "เมืองหลวงของประเทศไทยและเป็นเมืองที่มีประชากรมากที่สุด ", "อย่างไรก็ตาม ", "土壤", "के लिए", "مدينة"),
        *("Der ", "Bu ", "Он ", "El ", "wort ", "İstanbul", "ılık", "ΑΣ", "word", "12", "Nr. 5 ", "σελ. 3 "),
    ]
)
LANGUAGES = st.sampled_from([*codes(), "sw"])


@given(st.lists(FRAGMENTS, max_size=25).map("".join), LANGUAGES, st.sampled_from(["text", "markdown"]))
@settings(max_examples=400, deadline=None)
def test_any_text_is_split_without_loss_in_every_language(text: str, language: str, form: str) -> None:
    parts = split(text, format=form, language=language)
    spans = [(span.start, span.end) for _, found in parts for span in found]
    skipped = [(region.span.start, region.span.end) for region, _ in parts if region.kind.skipped]
    wrong = {violation.rule for violation in check(text, spans, skipped, language=language)}

    assert wrong.isdisjoint(
        {"uncovered", "covered twice", "out of order", "not trimmed", "inside a number", "inside a grouped number"}
    )
    assert split(text, format=form, language=language) == parts
