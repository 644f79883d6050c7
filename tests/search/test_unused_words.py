"""Words that the corpus never uses: found whatever their case, and counted once."""

from __future__ import annotations

import pytest

from quoth.domain.profile import load_profile
from quoth.language.words import fold
from quoth.library import Quoth
from quoth.search.question_analysis import analyse
from quoth.search.unused_words import names_of_unused_words, with_unused_words
from quoth.settings import RetrievalSettings
from quoth.types import NO_FILTERS, Analysis, Filters, Question

RULES = "No dwelling shall be rented for fewer than thirty days. The Association allows fences. Owners sow ivy."
POOLS = "A pool shall be fenced. Trampolines are allowed."


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Quoth:
    place = tmp_path_factory.mktemp("town")
    for name, text in {"rules.md": RULES, "pools.md": POOLS}.items():
        (place / name).write_text(text)
    settings = {"embedding.model_name": "hash"}
    return Quoth.build(place, index=place / ".quoth", profile="governance", settings=settings)


def found(town: Quoth, question: str, filters: Filters = NO_FILTERS) -> Analysis:
    asked = analyse(Question("1", question, filters), profile=load_profile("governance"), settings=RetrievalSettings())
    with town.reading() as reader:
        return with_unused_words(asked, reader)


@pytest.mark.parametrize("word", ["airbnb", "Airbnb", "AIRBNB"])
def test_a_word_is_unused_whatever_its_case(town: Quoth, word: str) -> None:
    analysis = found(town, f"Can I rent my dwelling on {word}?")

    assert list(map(fold, analysis.unused)) == ["airbnb"]
    assert len(names_of_unused_words(analysis)) == (word != "airbnb")


@pytest.mark.parametrize(
    "question",
    [
        "May I be renting a dwelling?",  # an inflection
        "When is ivy sown?",  # an irregular one
        "May a rental be short?",  # a relative
        "What does the HOA allow?",  # a synonym of the profile
        "How many feet behind the best house?",  # plain words
        "What was allowed in 1994 by 2021-014?",  # years and codes are looked up elsewhere
        "Darf man die Wohnung auf einer Plattform vermieten?",  # whose inflections nobody knows here
    ],
)
def test_these_are_not_unused(town: Quoth, question: str) -> None:
    assert found(town, question).unused == ()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Quoth:
    place = tmp_path_factory.mktemp("mixed")
    (place / "de.md").write_text("Die Häuser stehen an breiten Straßen und haben Zäune aus Holz.", encoding="utf-8")
    (place / "zh.md").write_text("北京大学成立于1898年，学校在城市的西边，学生很多。", encoding="utf-8")
    return Quoth.build(place, index=place / ".quoth")


@pytest.mark.parametrize(
    ("question", "unused"),
    [
        ("Wie breit ist die Straße vor dem Haus mit dem Zaun?", ()),
        ("Wie hoch ist das Gartenhaus neben den Häusern?", ("hoch", "Gartenhaus")),
        ("北京大学的学生有多少？", ()),
        ("北京大学的宇宙飞船在城市吗？", ("宇宙飞船",)),
        ("北京大学的Tesla在哪里？", ("Tesla",)),
        ("How wide are the streets?", ()),  # no document is in English, so every word of it is missing
        ("¿Qué altura tienen las casas de la ciudad?", ()),
    ],
)
def test_words_are_unused_in_the_language_of_documents(mixed: Quoth, question: str, unused: tuple[str, ...]) -> None:
    with mixed.reading() as reader:
        asked = analyse(
            Question("1", question, NO_FILTERS),
            profile=load_profile("general"),
            settings=RetrievalSettings(),
            languages=reader.info.languages,
        )
        assert with_unused_words(asked, reader).unused == unused


def test_only_what_the_filters_leave_counts(town: Quoth) -> None:
    question = "Are trampolines allowed?"

    assert found(town, question).unused == ()
    assert found(town, question, Filters(doc_ids="rules.md")).unused == ("trampolines",)


def test_a_quoted_name_is_not_counted_twice(town: Quoth) -> None:
    assert found(town, 'What is an "airbnb" fence?').unused == ()
