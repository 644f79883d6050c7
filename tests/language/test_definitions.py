"""Defined terms: which sentences define them, and which a text uses."""

from __future__ import annotations

import pytest

from quoth.language.definitions import defined_terms, names_a_term, term_key, terms_used

DEFINITIONS = ("ARTICLE I. DEFINITIONS", "Section 1.1 Terms")


@pytest.mark.parametrize(
    ("sentence", "term"),
    [
        ('"Lot" means any numbered parcel.', "Lot"),
        ("(q) “Rear Yard” shall mean the part behind the house.", "Rear Yard"),
        ("'Fence' is defined as a barrier.", "Fence"),
        ('"Plat" refers to the recorded map.', "Plat"),
        ('For purposes of this Section, the term "Sign" means any board.', "Sign"),
        ('"Owner", as used in this Declaration, means the holder of title.', "Owner"),
        ('"Agent" has the meaning given in Section 4.', "Agent"),
        ("**Lot** means a parcel.", "Lot"),
        ('**"Lot"** means a parcel.', "Lot"),
        ('It takes effect on April 1, 2022 (the "Effective Date").', "Effective Date"),
        ('Corvane Land, LLC (hereinafter "Company") owns it.', "Company"),
        ('Acme ("Seller") sells.', "Seller"),
    ],
)
def test_a_sentence_defines_a_term(sentence: str, term: str) -> None:
    assert defined_terms(sentence, ())[0] == term


@pytest.mark.parametrize(
    ("sentence", "term"),
    [
        ("Lot means any numbered parcel.", "Lot"),
        ("(c) A fence means any barrier.", "fence"),
        ("Rear Yard: the part behind the house.", "Rear Yard"),
    ],
)
def test_under_its_heading_a_definition_needs_no_quotation_marks(sentence: str, term: str) -> None:
    assert defined_terms(sentence, DEFINITIONS)[0] == term
    assert defined_terms(sentence, ("Fences",)) == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "The owner means to build a fence.",
        "This means that the fence must go.",
        'We read the "Guide" and went home.',
        'The gate (see "Fences") is closed.',
        "Lots are sold by the owner.",
    ],
)
def test_other_sentences_define_nothing(sentence: str) -> None:
    assert defined_terms(sentence, DEFINITIONS) == ()


def test_a_sentence_may_define_several_terms() -> None:
    assert defined_terms('"Owner" or "Owners" means the holder of title.', ()) == ("Owner", "Owners")
    assert defined_terms('Ann and Bob (together, the "Parties" and each a "Party") agree.', ()) == ("Parties", "Party")


def test_a_term_is_the_same_in_any_form() -> None:
    assert term_key("Rear Yards") == term_key("rear yard") == ("rear", "yard")
    assert term_key("Short-Term Rentals") == term_key("short-term rental")


def test_the_terms_of_a_text_come_with_their_number_the_longest_first() -> None:
    text = (
        "No Improvement shall be Visible From Neighboring Property. Owners of a Lot keep the Rear Yard. "
        "The ARC and the Owner's Rear Yard are named in Section 7.3 and Article VII. Each Lot counts in June."
    )

    assert terms_used(text) == (
        ("Visible From Neighboring Property", 1),
        ("Rear Yard", 2),
        ("Improvement", 1),
        ("Lot", 2),
        ("ARC", 1),
        ("Owners", 2),
    )


def test_a_word_that_only_opens_sentences_is_no_term() -> None:
    assert terms_used("Fences rot. Fences fall.\n\n(a) Gates rust.") == ()


def test_a_phrase_with_of_may_be_one_term_or_two() -> None:
    used = dict(terms_used("Send the Certificate of Occupancy to us."))

    assert used == {"Certificate of Occupancy": 1, "Certificate": 1, "Occupancy": 1}


@pytest.mark.parametrize(
    ("text", "section", "expected"),
    [
        ("Parapet", DEFINITIONS, True),
        ("**Common Area.**", DEFINITIONS, True),
        ("Parapet", ("Roofs",), False),
        ("Walls are low.", DEFINITIONS, False),
        ("Terms used here:", DEFINITIONS, False),
        ("A wall at the edge of a roof that keeps people away", DEFINITIONS, False),
        ("***", DEFINITIONS, False),
    ],
)
def test_a_text_that_only_names_a_term_is_told_in_a_glossary(
    text: str, section: tuple[str, ...], *, expected: bool
) -> None:
    assert names_a_term(text, section) is expected


@pytest.mark.parametrize(
    "text",
    [
        '"a" ' * 5000,
        '"a"' + " " * 20000,
        '"a" means ' * 2000,
        '("a" ' * 4000,
        "(" + "the " * 5000,
        "*" * 20000,
        '"a", ' * 5000 + "means",
        "'a " * 6000,
        "Aa of " * 3000,
    ],
    ids=lambda text: text[:12],
)
def test_a_text_made_to_be_slow_is_read_to_its_end(text: str) -> None:
    assert isinstance(defined_terms(text, DEFINITIONS), tuple)
    assert isinstance(terms_used(text), tuple)
