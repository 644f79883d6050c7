"""Entities: what a question takes for granted, and whether a text mentions it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.language.entities import _word_pattern, entities, mentions, word_occurs
from quoth.types import Entity, EntityKind


def found(question: str) -> list[tuple[str, str]]:
    return [(one.kind.value, one.text) for one in entities(question)]


def only(question: str) -> Entity:
    (one,) = entities(question)
    return one


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How deep is canola sown?", []),
        ("Canola is sown how deep?", []),
        ("What is grown in Eskişehir?", [("name", "Eskişehir")]),
        ("Where does John Deere build tractors?", [("name", "John Deere")]),
        ("What did the University of Guelph find?", [("name", "University of Guelph")]),
        ("Is USDA funding it?", [("name", "USDA")]),
        ("USDA funds what?", [("name", "USDA")]),
        ("Deere's tractors cost what?", [("name", "Deere's")]),
        ("What is the Disclosing Party's Confidential Information?",
         [("name", "Disclosing Party's"), ("name", "Confidential Information")]),
        ("What was sown in 2019?", [("year", "2019")]),
        ("Since the 1990s?", []),
        ("What costs $1999?", []),
        ("What is 2000 m long?", []),
        ("What happened on March 5, 2021?", [("date", "March 5, 2021")]),
        ("What happened on 5th of March?", [("date", "5th of March")]),
        ("What happened on 2021-03-05?", [("date", "2021-03-05")]),
        ("Is MON-810 allowed?", [("code", "MON-810")]),
        ("What is in 11-52-0?", [("code", "11-52-0")]),
        ("What does the V6 stage need?", [("code", "V6")]),
        ("What is the 20th rule?", []),
        ('What does "green bridge" do?', [("quoted", "green bridge")]),
        ("What does “green bridge” do?", [("quoted", "green bridge")]),
        ('What is "the of"?', []),
        ("Who met Ann Lee and Ann Lee in 2019 and 2019?", [("name", "Ann Lee"), ("year", "2019")]),
        ("Sow. Then what about Kansas?", [("name", "Kansas")]),
        ("How many kg per Acre?", []),
        ("", []),
    ],
)  # fmt: skip
def test_particular_things_are_found_in_order(question: str, expected: list[tuple[str, str]]) -> None:
    assert found(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "How Deep Should Canola Be Sown?",
        "Where Is Canola Grown",
        "Best Seeding Depth For Early Spring Canola Fields",
        "WHAT IS THE SEEDING DEPTH OF CANOLA?",
        "What Is the Best Time to Sow Canola?",
    ],
)
def test_where_all_words_are_capitalised_capitals_make_no_name(question: str) -> None:
    assert found(question) == []


@pytest.mark.parametrize(
    ("question", "name"),
    [("What is The Hague known for?", "Hague"), ("Is IBM in trouble?", "IBM"), ("Did I meet Smith?", "Smith")],
)
def test_one_capital_among_small_words_still_makes_a_name(question: str, name: str) -> None:
    assert found(question) == [("name", name)]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is grown in Eskisehir?", "The plain of Eskişehir grows wheat."),
        ("What is grown in Eskişehir?", "ESKISEHIR grows wheat."),
        ("What does the Receiving Party do?", "Receiving parties return it."),
        ("How big are the Twin Cities?", "The Twin Cities are big."),
        ("How big are the Twin Cities?", "St Paul is a twin city."),
        ("What do the Germans sow?", "In Germany wheat is sown."),
        ("What does USDA say?", "The United States Department of Agriculture says no."),
        ("What does USDA say?", "U.S.D.A. says no."),
        ("What does the United States Department say?", "The USD said no."),
        ("What do the United States import?", "The US imports rice."),
        ("What do the United States import?", "Imports of the U.S. rose."),
        ("What does the U.S. import?", "The US imports rice."),
        ("What does the U.S. import?", "The United States import rice."),
        ("What about GMOs?", "A genetically modified organism."),
        ("What was sown in 1994?", "In the 1990s they sowed wheat."),
        ("What happened on March 5, 2021?", "On 5 March 2021 it rained."),
        ("What happened on March 5, 2021?", "effective 2021-03-05"),
        ("What happened on 2021-03-05?", "On March 5th, 2021 it rained."),
        ("What happened on 5 March?", "Dated 2020-03-05."),
        ("What does the V6 stage need?", "At V-6 it needs nitrogen."),
        ("What does the V6 stage need?", "At v 6 it needs nitrogen."),
        ('What does "green bridges" mean?', "A green bridge carries disease."),
        ('What is "Twin Cities" about?', "twin cities"),
    ],
)  # fmt: skip
def test_another_way_of_writing_it_is_a_mention(question: str, text: str) -> None:
    assert mentions(text, only(question))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is grown in Eskişehir?", "The plain of Konya grows wheat."),
        ("Who is Ivan Smith?", "It is so. Tell us what is in it."),
        ("What did Andrea Nowak say?", "An apple a day."),
        ("What do the United States import?", "Tell us what you import."),
        ("Where is Ohio?", "Work out how it operates."),
        ("Who is Li?", "The limit is low."),
        ("What did Ann say?", "The annual report."),
        ("What did John Deere do?", "John sowed." + " Nothing happened." * 20 + " A deer came."),
        ("What was sown in 1994?", "In 1995 and in the 1980s."),
        ("What was sown in 2019?", "Lot 20191 and 12019."),
        ("What happened on March 5, 2021?", "On March 6, 2021 and 2021-03-06."),
        ("What happened on March 5, 2021?", "In March 2021 there were 50."),
        ("What does the V6 stage need?", "At V60 and RV6."),
        ("Is MON-810 allowed?", "MON-8100 is."),
        ('What does "green bridge" mean?', "A green field."),
    ],
)  # fmt: skip
def test_something_else_is_no_mention(question: str, text: str) -> None:
    assert not mentions(text, only(question))


def test_words_of_one_name_may_stand_apart_but_not_far() -> None:
    name = only("What did John Deere do?")

    assert mentions("John, later called Deere", name)
    assert not mentions("John" + "." * 200 + "Deere", name)


def test_a_single_word_of_an_entity_is_looked_up_in_any_form() -> None:
    assert word_occurs("the discloser is bound", "disclosing", EntityKind.NAME)
    assert not word_occurs("it is closed", "disclosing", EntityKind.NAME)


WORDS = st.sampled_from(
    """Eskişehir Ohio Li USDA U.S. GMOs Cities Parties Deere's John of de la and the in is Kansas Ångström What how
    V6 MON-810 11-52-0 2019 1990s 2021-03-05 March 5, 2021 5th “green bridge” "Flies" "city's" Coca-Cola O'Neil AT&T
    Boss Bus' 20 kg pH 6.5 ? . : ( ) canola""".split()
)
QUESTIONS = st.lists(WORDS, max_size=10).map(" ".join)
PLAIN = st.characters(codec="latin-1", categories=["Lu", "Ll", "Nd", "Zs", "Po", "Pd"])


@given(question=QUESTIONS | st.text(PLAIN, max_size=60))
def test_a_text_that_contains_what_the_question_presumes_mentions_it(question: str) -> None:
    for entity in entities(question):
        assert entity.text in question
        assert mentions(question, entity)
        assert mentions(entity.text, entity)
        assert mentions(f"before {entity.text.upper()} after", entity)


@given(name=st.text("abcdefghijklmnoprstuvwyz", min_size=3, max_size=12))
def test_no_name_is_special(name: str) -> None:
    question = f"what did the farmers of {name.title()}x plant?"

    assert [one.text for one in entities(question)] == [f"{name.title()}x"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why was the request from Dr. Halloran denied?", ["Halloran"]),
        ("What was decided for Lot 305?", ["Lot 305"]),
        ("What was decided on application 2023-031?", ["2023-031"]),
        ("Is a range of 5-10 usual?", []),
        ('Is "ZX-4471" safe?', ["ZX-4471"]),
        ("What did Ohio report in 2019?", ["Ohio", "2019"]),
    ],
)
def test_titles_numbers_and_codes_are_read_as_people_do(question: str, expected: list[str]) -> None:
    assert [one.text for one in entities(question)] == expected


def test_a_numbered_thing_is_not_another_of_its_kind() -> None:
    (lot,) = entities("What was decided for Lot 305?")

    assert mentions("The owner of Lot 305 applied.", lot)
    assert not mentions("The owner of Lot 47 applied; 212 lots remain.", lot)


def test_initials_with_an_ampersand_stand_for_the_words() -> None:
    (covenants,) = entities("What do our CC&Rs require?")

    assert mentions("Declaration of Covenants, Conditions and Restrictions", covenants)


def test_a_short_word_is_not_found_inside_a_longer_one() -> None:
    (corn,) = entities("Is this about Corn?")

    assert mentions("Corn is sown.", corn)
    assert not mentions("A corner post.", corn)


@pytest.mark.parametrize(
    ("question", "there", "elsewhere"),
    [
        ("What was decided for Lot 20?", "Lots 19 and 20 were sold.", "The lot is 20 feet deep."),
        ("What does Section 7.3 say?", "See Section 7.3(a).", "Section 7.31 and section 7 differ, by 7.3 feet."),
        (
            "When did the Second Amendment take effect?",
            "the 2nd amendment",
            "A second vote passed the First Amendment.",
        ),
    ],
)
def test_a_number_belongs_to_its_name(question: str, there: str, elsewhere: str) -> None:
    (one,) = entities(question)

    assert mentions(there, one)
    assert not mentions(elsewhere, one)


def test_a_number_after_a_possessive_is_not_part_of_the_name() -> None:
    assert [one.text for one in entities("What became of Maxwell's 20 equations?")] == ["Maxwell's"]


@pytest.mark.parametrize(
    ("name", "derived", "other"),
    [
        ("Italy", "Italian wine", "A vital item."),
        ("China", "Chinese tea", "the chin"),
        ("Maine", "Maine lobster", "The main road."),
        ("Mango", "Two mangoes.", "Manganese and zinc."),
    ],
)
def test_a_name_is_found_in_words_made_from_it_and_in_no_others(name: str, derived: str, other: str) -> None:
    (one,) = entities(f"Is this about {name}?")

    assert mentions(derived, one)
    assert not mentions(other, one)


def test_initials_are_written_together_or_with_a_point_each() -> None:
    (one,) = entities("What does the Airport Authority say?")

    assert mentions("The AA said so.", one)
    assert mentions("The A. A. said so.", one)
    assert not mentions("A. A fence may stand here.", one)


@pytest.mark.parametrize(
    "question",
    [
        "Wie hoch ist die Gebühr für einen Antrag?",
        "Welche Farbe wird für den Zaun zum Nachbarn verlangt?",
        "MAY I KEEP HENS?",
        "QUORUM PERCENTAGE",
    ],
)
def test_german_nouns_and_words_in_capitals_are_no_names(question: str) -> None:
    assert entities(question) == ()


def test_names_in_other_languages_and_german_words_in_english_change_nothing() -> None:
    assert [one.text for one in entities("¿Qué se siembra en Sevilla?")] == ["Sevilla"]
    assert [one.text for one in entities("Why did the roses die in Bonn?")] == ["Bonn"]


_PIECES = st.sampled_from(
    ["city", "cities", "italian", "ital", "y", " ", "0", "5", "05", "2019", "1990s", "mar", "-", "ß"]
)


@given(text=st.lists(_PIECES).map("".join), word=_PIECES.filter(str.isalnum), kind=st.sampled_from(EntityKind))
def test_a_word_is_found_wherever_a_search_for_it_would_find_it(text: str, word: str, kind: EntityKind) -> None:
    assert word_occurs(text, word, kind) == (_word_pattern(word, kind).search(text) is not None)
