"""Question analysis: words to search by, the kind that sets the weights, and what is taken for granted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.domain.profile import load_profile
from quoth.errors import QuestionError
from quoth.search.question_analysis import analyse, normalise
from quoth.settings import RetrievalSettings
from quoth.types import NO_FILTERS, Analysis, Question, QuestionKind


def analysed(text: str, *, profile: str = "general", settings: RetrievalSettings | None = None) -> Analysis:
    question = Question("1", text, NO_FILTERS)
    return analyse(question, profile=load_profile(profile), settings=settings or RetrievalSettings())


@pytest.mark.parametrize(
    ("asked", "searched"),
    [
        (
            "What's the max fence height allowed in my backyard??",
            "What is the max fence height allowed in my backyard",
        ),
        ("What’s  the\tlimit\n?", "What is the limit"),
        ("WHAT'S ALLOWED?!", "What is ALLOWED"),
        ("Why doesn't it grow?", "Why does not it grow"),
        ("Can't I build? Won't it rot?", "Cannot I build? Will not it rot"),
        ("They're tall; I'd ask.", "They are tall; I would ask"),
        ("They've grown, it'll rain", "They have grown, it will rain"),
        ("the 'dry' season's end", "the 'dry' season's end"),
        ("Is Deere's tractor green...", "Is Deere's tractor green"),
        ("ﬁeld ½ inch", "field 1⁄2 inch"),
        ("Canola", "Canola"),
    ],
)  # fmt: skip
def test_the_question_is_made_plain_for_search(asked: str, searched: str) -> None:
    assert normalise(asked) == searched


@given(text=st.text(max_size=80))
def test_plain_stays_plain(text: str) -> None:
    plain = normalise(text)

    assert plain == " ".join(plain.split())
    assert not plain.endswith(("?", "!", "."))


def test_the_question_itself_is_kept_as_asked() -> None:
    assert analysed("What's  it??").question.text == "What's  it??"


@pytest.mark.parametrize(
    ("text", "kind", "dense", "lexical"),
    [
        ("How deep is canola sown?", QuestionKind.GENERAL, 0.70, 0.30),
        ('What does the clause call a "green bridge"?', QuestionKind.TERMINOLOGY, 0.50, 0.50),
        ("Is MON-810 allowed?", QuestionKind.TERMINOLOGY, 0.50, 0.50),
        ("What does tillering mean?", QuestionKind.MEANING, 0.80, 0.20),
        ("What is meant by tillering?", QuestionKind.MEANING, 0.80, 0.20),
        ("What is the definition of a fence?", QuestionKind.MEANING, 0.80, 0.20),
        ('What does "tillering" mean?', QuestionKind.MEANING, 0.80, 0.20),
        ("Where is tillering mentioned?", QuestionKind.LOCATION, 0.40, 0.60),
        ("Where are fences discussed?", QuestionKind.LOCATION, 0.40, 0.60),
        ("Which section covers fences?", QuestionKind.LOCATION, 0.40, 0.60),
        ("Where is canola grown?", QuestionKind.GENERAL, 0.70, 0.30),
    ],
)
def test_the_kind_of_question_sets_the_weights(text: str, kind: QuestionKind, dense: float, lexical: float) -> None:
    analysis = analysed(text)

    assert analysis.kind is kind
    assert analysis.alpha_lexical == lexical
    assert analysis.alpha_semantic == pytest.approx(dense)


def test_a_pinned_weight_holds_for_every_kind() -> None:
    analysis = analysed("Where is tillering mentioned?", settings=RetrievalSettings(alpha_lexical=0.40))

    assert analysis.kind is QuestionKind.LOCATION
    assert analysis.alpha_lexical == 0.40
    assert analysis.alpha_semantic == pytest.approx(0.60)


def test_both_weights_can_be_pinned() -> None:
    analysis = analysed("How deep?", settings=RetrievalSettings(alpha_lexical=0.4, alpha_semantic=0.5))

    assert (analysis.alpha_lexical, analysis.alpha_semantic) == (0.4, 0.5)


def test_terms_are_the_content_words_each_once() -> None:
    assert analysed("How deep is the canola, and the canola, sown?").terms == (("deep",), ("canola",), ("sown",))


def test_numbers_units_and_codes_stay_whole_terms() -> None:
    assert analysed("pH 6.0-7.0 and kg/ha for MON-810").terms == (("pH",), ("6.0-7.0",), ("kg/ha",), ("MON-810",))


def test_a_question_of_function_words_alone_searches_for_them() -> None:
    assert analysed("What is it?").terms == (("What",), ("is",), ("it",))


def test_synonyms_widen_the_terms() -> None:
    terms = analysed("How deep is Maize sown after rapeseed?", profile="agriculture").terms

    assert terms[1] == ("Maize", "corn")
    assert terms[3][0] == "rapeseed"
    assert set(terms[3][1:]) == {"canola", "oilseed rape", "oil-seed rape", "colza"}


def test_a_plural_has_the_synonyms_of_its_singular() -> None:
    assert analysed("soybeans", profile="agriculture").terms[0][1:3] == ("soy", "soya")


def test_keywords_do_not_widen_the_terms() -> None:
    assert analysed("herbicide", profile="agriculture").terms == (("herbicide",),)


def test_tags_of_the_question_are_found_and_others_left_out() -> None:
    assert analysed("Which fungicide for rapeseed?", profile="agriculture").tags == {
        "crop": ("canola",),
        "practice": ("disease",),
    }
    assert analysed("What is the price?", profile="agriculture").tags == {}


@pytest.mark.parametrize(
    "text",
    [
        "May a fence be 12 feet high?",
        "Is 5 cm deep enough?",
        "Can I sow at 5 cm?",
        "What happens if I sow at 5 cm?",
        "What should I do when it rains 20 mm?",
        "Suppose it is 5 °C: what grows?",
    ],
)
def test_a_yes_or_no_or_conditional_question_presumes_no_quantity(text: str) -> None:
    assert analysed(text).quantities == ()


def test_a_plain_question_presumes_its_quantities() -> None:
    text = "Why is canola sown at 5 cm?"
    (quantity,) = analysed(text).quantities

    assert text[quantity.span.start : quantity.span.end] == "5 cm"


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("When it is dry, why is canola sown at 5 cm?", ["5 cm"]),
        ("If it is dry, why is canola sown at 5 cm?", []),
        ("Why are fields with 20 mm of rain, sown at 5 cm, late?", ["5 cm"]),
        ("Where does it say to sow at 5 cm when it rains 20 mm?", ["5 cm", "20 mm"]),
    ],
)
def test_a_when_is_a_case_for_its_clause_and_an_if_for_all_that_follows(text: str, amounts: list[str]) -> None:
    assert [text[one.span.start : one.span.end] for one in analysed(text).quantities] == amounts


def test_a_crop_is_understood_in_any_plural() -> None:
    assert presumed("How are strawberries and mangoes grown?", profile="agriculture") == [["mango"], ["strawberry"]]


def presumed(text: str, *, profile: str = "general") -> list[list[str]]:
    return [[one.text for one in group] for group in analysed(text, profile=profile).entities]


def test_presumed_things_are_found_in_the_question_as_asked() -> None:
    assert presumed("What’s grown in Eskişehir in 2019?") == [["Eskişehir"], ["2019"]]


def test_a_thing_comes_with_what_else_it_is_called() -> None:
    assert presumed("What may the HOA decide?", profile="governance") == [
        ["HOA", "homeowners association", "association"]
    ]


def test_a_crop_is_presumed_under_all_its_names() -> None:
    (names,) = presumed("How deep is maize sown?", profile="agriculture")

    assert names[:2] == ["corn", "maize"]
    assert presumed("How deep is barley sown?", profile="agriculture") == [["barley"]]


def test_a_practice_is_not_presumed() -> None:
    assert presumed("How is it irrigated?", profile="agriculture") == []


def test_the_synonyms_of_a_profile_widen_the_terms() -> None:
    assert analysed("what may the HOA decide", profile="governance").terms[0] == (
        "HOA",
        "homeowners association",
        "association",
    )


@pytest.mark.parametrize("text", ["", "   ", "???", "—…!", "\ufeff\u200b"])
def test_a_question_without_words_cannot_be_asked(text: str) -> None:
    with pytest.raises(QuestionError, match="has no words") as caught:
        analysed(text)

    assert caught.value.hint


def test_a_question_may_be_as_long_as_the_limit_and_no_longer() -> None:
    limit = RetrievalSettings(max_question_characters=5)

    assert analysed("depth", settings=limit).search_text == "depth"
    with pytest.raises(QuestionError, match="6 characters, more than 5"):
        analysed("depths", settings=limit)


def test_an_endless_list_of_words_is_cut_to_what_a_search_can_bear() -> None:
    assert len(analysed(" ".join(f"word{number}" for number in range(300))).terms) == 64


@pytest.mark.parametrize(
    ("lexical", "semantic", "expected"),
    [(None, None, (0.3, 0.7)), (0.6, None, (0.6, 0.4)), (None, 0.6, (0.4, 0.6)), (0.5, 0.2, (0.5, 0.2))],
)
def test_one_weight_alone_leaves_the_rest_to_the_other(
    lexical: float | None, semantic: float | None, expected: tuple[float, float]
) -> None:
    settings = RetrievalSettings(alpha_lexical=lexical, alpha_semantic=semantic)
    found = analyse(Question("1", "How deep?", NO_FILTERS), profile=load_profile("general"), settings=settings)

    assert (found.alpha_lexical, found.alpha_semantic) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("What colour is right according to the guidelines?", ("design_guidelines",)),
        ("According to our Design Guidelines, what colour is right?", ("design_guidelines",)),
        ("Which design standards apply to roofs?", ("design_guidelines",)),
        ("Where in the CC&R says it that pets are allowed?", ("ccr",)),
        ("What do the covenants state about pets?", ("ccr",)),
        ("Does the declaration allow sheds?", ("ccr",)),
        ("Is there a restriction on sheds?", ("ccr",)),
        ("Is there a previous approval of a pergola?", ("response_letter",)),
        ("Is there a precedent for a pergola?", ("response_letter",)),
        ("Was a pergola approved before?", ("response_letter",)),
        ("What is the application process?", ("application_form",)),
        ("How do I submit an application?", ("application_form",)),
        ("What does the city code say about the declaration?", ("ccr", "city_code")),
        ("How long does the process take?", ()),
        ("What was the decision on Lot 47?", ()),
        ("How high may a fence be?", ()),
        ("Is the limit lower than the declaration allows?", ()),
        ("How does it compare with what the guidelines recommend?", ()),
    ],
)  # fmt: skip
def test_the_document_types_that_a_question_names(text: str, types: tuple[str, ...]) -> None:
    assert analysed(text, profile="governance").document_types == types


def test_only_the_profile_knows_document_types() -> None:
    assert analysed("Which design standards apply to roofs?").document_types == ()
