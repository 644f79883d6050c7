"""Rarity: what general English says about a word, whatever the corpus and the case."""

from __future__ import annotations

import pytest

from quoth.language.rarity import STRANGE, TELLING, is_english, rarity


@pytest.mark.parametrize("word", ["the", "feet", "behind", "best", "house", "he's", "stand-alone", "V6", "2017", ""])
def test_plain_words_and_words_with_digits_say_nothing(word: str) -> None:
    assert rarity(word) < 0.05


@pytest.mark.parametrize(
    "word", ["airbnb", "AIRBNB", "Airbnb", "caspofungin", "fluoxetine", "cytometry", "quorum", "Eskişehir"]
)
def test_words_that_english_hardly_knows_say_most_in_any_case(word: str) -> None:
    assert rarity(word) == STRANGE


def test_a_rarer_word_says_more() -> None:
    assert 0 < rarity("pool") < rarity("percentage") < TELLING < rarity("vineyards") < STRANGE


@pytest.mark.parametrize(
    ("form", "base"), [("folks", "folk"), ("sprayed", "spray"), ("renting", "rent"), ("slower", "slow")]
)
def test_a_form_is_no_rarer_than_its_base(form: str, base: str) -> None:
    assert rarity(form) <= rarity(base)


def test_a_word_is_no_form_of_one_that_it_only_begins_like() -> None:
    assert rarity("seed") > rarity("see")


def test_the_rarest_part_of_a_compound_counts() -> None:
    assert rarity("airbnb-style") == rarity("airbnb")


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("How much caspofungin is sprayed on wheat?", True),
        ("What is Catecholaminergic tachycardia?", True),
        ("airbnb rental rules", True),
        ("Wie hoch ist die Gebühr für einen Antrag?", False),
        ("¿Cuánto cuesta la licencia de obras?", False),
        ("Eskişehir'de ne zaman ekilir?", False),
    ],
)
def test_english_is_known_by_its_words(text: str, *, english: bool) -> None:
    assert is_english(text) is english


def test_in_other_languages_a_capital_says_more_than_length() -> None:
    assert rarity("1947", "tr") == rarity("ev", "tr") == 0
    assert 0 < rarity("nehir", "tr") == TELLING < rarity("Tesla'nın", "tr") < STRANGE
    assert rarity("iPhone", "de") == rarity("iPhone", "el") == STRANGE
    assert 0 < rarity("Ruf", "de") < rarity("Gartenhaus", "de") == TELLING  # every German noun has a capital
    assert rarity("宇宙飞船", "zh") == rarity("มหาวิทยาลัย", "th") == TELLING
