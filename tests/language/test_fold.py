"""Folding: what is compared without case, accents and typography."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.language.words import fold, singular


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Eskişehir", "eskisehir"),
        ("ESKİŞEHİR", "eskisehir"),
        ("Diyarbakır", "diyarbakir"),
        ("Größe", "grosse"),
        ("Smørrebrød", "smorrebrod"),
        ("Łódź", "lodz"),
        ("Æsop’s œuvre", "aesop's oeuvre"),
        ("e\u0301te\u0301", "ete"),
        ("ﬁeld", "field"),
        ("non‑breaking‐hyphen", "non-breaking-hyphen"),
        ("IĞDIR", "igdir"),
        ("Θεσσαλονίκης", "θεσσαλονικησ"),
        ("مُحَمَّـد", "محمد"),
        ("שָׁלוֹם", "שלום"),
        ("Đà Nẵng", "da nang"),
        ("ёлка", "елка"),
        ("2.5 cm", "2.5 cm"),
        ("", ""),
    ],
)
def test_case_accents_and_variants_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(text=st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(text=st.text(st.characters(codec="latin-1")))
def test_case_makes_no_difference(text: str) -> None:
    assert fold(text.lower()) == fold(text)


@pytest.mark.parametrize(
    ("word", "one"),
    [
        ("fences", "fence"),
        ("cities", "city"),
        ("tomatoes", "tomato"),
        ("boxes", "box"),
        ("churches", "church"),
        ("deere's", "deere"),
        ("farmers'", "farmer"),
        ("grass", "grass"),
        ("fungus", "fungus"),
        ("basis", "basis"),
        ("gas", "gas"),
        ("pies", "pie"),
        ("soil", "soil"),
        ("", ""),
    ],
)
def test_a_plural_or_possessive_ending_is_dropped(word: str, one: str) -> None:
    assert singular(word) == one


@given(word=st.text("abcehiosuxyz'", max_size=12))
def test_the_singular_is_never_longer(word: str) -> None:
    assert len(singular(word)) <= len(word)


def test_a_word_broken_over_two_lines_is_compared_whole_with_its_hyphen_and_without() -> None:
    assert fold("the Hal-\nvorsen farm") == "the halvorsen hal-vorsen farm"
    assert fold("Winston-\nSalem") == "winston-\nsalem"
    assert fold("co\u00adop") == "coop"
