"""Parts of a question: split only where there is a sign that several things are asked for."""

from __future__ import annotations

import pytest

from quoth.domain.profile import load_profile
from quoth.search.question_analysis import analyse
from quoth.search.sub_questions import sub_questions_of
from quoth.settings import RetrievalSettings
from quoth.types import Filters, Question, SubQuestion

SCOPE = Filters(("a.md",), {}, (), None, None)


def parts(text: str, *, profile: str = "agriculture") -> tuple[SubQuestion, ...]:
    chosen, settings = load_profile(profile), RetrievalSettings()
    return sub_questions_of(
        analyse(Question("7", text, SCOPE), profile=chosen, settings=settings), profile=chosen, settings=settings
    )


def names(text: str, *, profile: str = "agriculture") -> list[str]:
    return [part.text for part in parts(text, profile=profile)]


def searches(text: str, *, profile: str = "agriculture") -> list[str]:
    return [part.analysis.search_text for part in parts(text, profile=profile)]


@pytest.mark.parametrize(
    ("question", "clauses"),
    [
        (
            "How deep should I sow canola, and when is it harvested?",
            ["How deep should I sow canola", "when is it harvested"],
        ),
        (
            "When should corn be planted? How deep should it be planted?",
            ["When should corn be planted", "How deep should it be planted"],
        ),
        ("Explain what tillering is and when it happens", ["what tillering is", "when it happens"]),
        ("Who repairs the fence and who pays for it?", ["Who repairs the fence", "who pays for it"]),
        ("How tall can a shed be and does it need approval?", ["How tall can a shed be", "does it need approval"]),
        (
            "What's the fine for a fence and what's the fee for a shed?",
            ["What is the fine for a fence", "what is the fee for a shed"],
        ),
        (
            "For canola, how deep is it sown and when is it harvested?",
            ["For canola, how deep is it sown", "For canola, when is it harvested"],
        ),
        ("How big and how tall can a shed be?", ["How big can a shed be", "how tall can a shed be"]),
    ],
)
def test_two_questions_in_one_are_two_parts(question: str, clauses: list[str]) -> None:
    assert names(question) == clauses
    assert all(part.clause for part in parts(question))


@pytest.mark.parametrize(
    ("question", "members"),
    [
        ("Compare canola and wheat in terms of nitrogen needs", ["canola", "wheat"]),
        ("compare the seeding depth of canola with wheat", ["canola", "wheat"]),
        ("Compare the height of a shed and the height of a fence.", ["height of a shed", "height of a fence"]),
        ("What is the difference between early blight and late blight?", ["early blight", "late blight"]),
        ("What is the difference in cost between drip lines and sprinklers?", ["drip lines", "sprinklers"]),
        ("How can I tell early blight from late blight on tomatoes?", ["early blight", "late blight"]),
        ("How do no-till and ploughed soils differ?", ["no-till", "ploughed soils"]),
        ("How does a lease differ from a licence?", ["lease", "licence"]),
        ("drip vs sprinkler irrigation for tomatoes", ["drip", "sprinkler irrigation"]),
        ("What is the yield of canola versus wheat in dry years?", ["canola", "wheat"]),
        ("Which is better, corn or soy?", ["corn", "soy"]),
        ("Which has to be drier for storage, canola, rice or wheat?", ["canola", "rice", "wheat"]),
        ("Which is better for tomatoes: drip or sprinklers?", ["drip", "sprinklers"]),
        ("Swathing or straight-cutting: what are the risks of each?", ["Swathing", "straight-cutting"]),
        ("Is drip irrigation better than sprinklers for tomatoes?", ["drip irrigation", "sprinklers"]),
        ("Is manure or inorganic fertiliser better?", ["manure", "inorganic fertiliser"]),
        ("Does corn or soybean use more water?", ["corn", "soybean"]),
    ],
)
def test_things_that_are_compared_are_parts(question: str, members: list[str]) -> None:
    assert names(question) == members
    assert not any(part.clause for part in parts(question))


@pytest.mark.parametrize(
    ("question", "members"),
    [
        ("What seeding depth for canola and wheat?", ["canola", "wheat"]),
        ("What seeding depth for canola, wheat and rye?", ["canola", "wheat", "rye"]),
        ("What seeding depth for canola as well as winter wheat?", ["canola", "winter wheat"]),
        ("What is the moisture for storing corn and for storing wheat?", ["corn", "wheat"]),
        ("How do I control weeds and insects in rice?", ["weeds", "insects"]),
        ("What was decided on Lot 47 and Lot 112?", ["Lot 47", "Lot 112"]),
        ("What was decided on Lots 47, 50 and 112?", ["Lot 47", "Lot 50", "Lot 112"]),
        ("What are the setbacks in R-1 and R-3?", ["R-1", "R-3"]),
        ("What are the populations of France and Germany?", ["France", "Germany"]),
        ("What did the board decide in 2019 and 2020 respectively?", ["2019", "2020"]),
    ],
)
def test_members_of_one_list_of_the_same_kind_are_parts(question: str, members: list[str]) -> None:
    assert names(question) == members


@pytest.mark.parametrize(
    "question",
    [
        "What are the terms and conditions?",
        "Compare the terms and conditions of both contracts",
        "Where can I buy food and drink?",
        "Who founded Johnson and Johnson?",
        "Is it sown between 5 and 10 cm?",
        "What is the difference between 5 and 10 cm?",
        "How is the research and development budget set?",
        "Where are the rules and regulations posted?",
        "What are the advantages and disadvantages of no-till?",
        "How does a corn and soybean rotation affect nitrogen?",
        "How does corn and soybean intercropping affect nitrogen?",
        "What distance between corn and soybean rows?",
        "How much nitrogen and phosphorus does corn need?",
        "When did Syria and Egypt attack?",
        "What is the policy of the Department of Food and Agriculture?",
        "What was Iqbal studying in England and Germany?",
        "What weakened the foundations of Islam and Muslim society?",
        "What is the response to P and K?",
        "What can and should I do?",
        "When and how should I irrigate?",
        "What is red and is a fruit?",
        "When the plant matures and is dry, what should be done?",
        "If it rains, which rule applies?",
        "The fence between my house and next door is rotten, who pays for a new one?",
        "What is the renewal term? This includes automatic extensions and unilateral extensions.",
        "Is there a right to terminate or is consent required?",
        "Is the limit higher than 5 feet?",
        "Do tomatoes need more water than other crops?",
        "Is our limit lower than what the city allows?",
        "Should I use urea or manure?",
        "Along with mills and mines, where did steam drive machines?",
        "How deep is canola sown?",
        "canola",
    ],
)
def test_one_thing_has_no_parts(question: str) -> None:
    assert names(question) == []


def test_each_part_is_searched_for_as_a_question_of_its_own() -> None:
    assert searches("What seeding depth for canola and wheat?") == [
        "What seeding depth for canola",
        "What seeding depth for wheat",
    ]
    assert searches("Which has to be drier for storage, canola or wheat?") == [
        "canola has to be drier for storage",
        "wheat has to be drier for storage",
    ]
    assert searches("What is the difference in yield between drip and flood on clay?") == [
        "drip in yield on clay",
        "flood in yield on clay",
    ]


def test_a_part_has_the_filters_and_the_words_of_its_own() -> None:
    canola, wheat = parts("What seeding depth for canola and wheat?")

    assert wheat.analysis.question.filters == SCOPE
    assert [group[0] for group in wheat.analysis.terms] == ["seeding", "depth", "wheat"]
    assert (canola.analysis.tags["crop"], wheat.analysis.tags["crop"]) == (("canola",), ("wheat",))


def test_a_later_clause_that_points_back_is_searched_for_with_what_it_points_to() -> None:
    assert searches("How deep should I sow canola, and when is it harvested?")[1] == "when is it harvested, canola"
    assert searches("How tall can a shed be and does it need approval?", profile="general")[1] == (
        "does it need approval, tall shed"
    )


def test_a_later_clause_about_something_else_is_left_alone() -> None:
    assert searches("How deep is canola sown and when is wheat harvested?")[1] == "when is wheat harvested"


def test_what_both_sides_of_a_comparison_are_about_is_searched_for_with_both() -> None:
    swathing, cutting = parts("Swathing or straight-cutting canola: what are the risks of each?")

    assert "canola" in swathing.analysis.search_text
    assert [group[0].text for group in cutting.distinguishing] == ["straight-cutting"]


@pytest.mark.parametrize(
    ("question", "own"),
    [
        ("What is the difference between early blight and late blight?", [["early"], ["late"]]),
        ("What seeding depth for maize and rye?", [["corn"], ["rye"]]),
        ("What was decided on Lots 47 and 112?", [["Lot 47"], ["Lot 112"]]),
        ("How deep should I sow canola, and when is it harvested?", [["deep", "sow"], ["harvested"]]),
    ],
)
def test_a_part_knows_what_only_it_names(question: str, own: list[list[str]]) -> None:
    assert [[group[0].text for group in part.distinguishing] for part in parts(question)] == own


def test_too_many_parts_are_searched_for_as_one() -> None:
    assert names("What depth for canola, wheat, corn, rice and soy?") == []
