"""Near misses: what has no evidence is named, and each of the nearest sentences says plainly why it is no answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from quoth.answer.decision import Case
from quoth.answer.doubts import Sources, doubts_of
from quoth.answer.near_misses import missing, why_not
from quoth.domain.profile import load_profile
from quoth.language.words import fold
from quoth.protocols import Reader
from quoth.search.question_analysis import analyse
from quoth.search.unused_words import with_unused_words
from quoth.settings import RetrievalSettings
from quoth.types import (
    NO_FILTERS,
    Candidate,
    Citation,
    Document,
    IndexInfo,
    Metadata,
    ModelIdentity,
    Objection,
    Question,
    Quote,
    QuoteRole,
    Ranked,
    Reason,
    RegionKind,
    Selection,
    Sentence,
    Span,
    Supersession,
    Tags,
)

ABOUT = Metadata(None, None, None, None, (), None, {}, False, (), None, None)
UNKNOWN = Objection(Reason.UNKNOWN_ENTITY, "Unknown.")


class Words:
    """All that is asked of a reader here: how often a term occurs in one text."""

    info = IndexInfo(3, 1, "", ModelIdentity("fake", "1", "fp32", 8), "general", "", 1, 1)

    def __init__(self, text: str) -> None:
        self._text = fold(text)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: self._text.count(fold(term)) for term in terms}


def case(question: str, *texts: str, profile: str = "agriculture", supporting: Sequence[Sentence] = ()) -> Case:
    """A question over a corpus of one document that holds these texts."""
    text = "\n".join(texts)
    document = Document("a.md", text, "", "", "utf-8", "text", "", ABOUT)
    ranked = tuple(Ranked(Candidate(one, 0.5, 0.5, (), b""), 0, 0.5, 0.5, 0.5, None) for one in supporting)
    asked = Question("1", question, NO_FILTERS)
    reader = cast(Reader, Words(text))
    plain = analyse(asked, profile=load_profile(profile), settings=RetrievalSettings())
    analysis, sources = with_unused_words(plain, reader), Sources((), (document,), reader)
    return Case(
        analysis=analysis,
        ranked=ranked,
        selection=Selection((), (), ranked, 0.0, 0.0),
        confidence=0.1,
        min_support=1,
        threshold=0.3,
        sources=sources,
        doubts=doubts_of(analysis, sources),
        sure=False,
    )


def sentence(text: str, *, tags: Tags | None = None, section: tuple[str, ...] = ()) -> Sentence:
    quote = Quote(Span(0, len(text)), text)
    return Sentence("a.md", quote, RegionKind.PARAGRAPH, section, lead=None, page=None, ocr=None, tags=tags or {})


def why(
    question: str,
    one: Sentence | str,
    *,
    objection: Objection = UNKNOWN,
    about: Metadata = ABOUT,
    supporting: Sequence[Sentence] = (),
    profile: str = "agriculture",
    score: float = 0.5,
) -> str:
    found = sentence(one) if isinstance(one, str) else one
    rest = (None, None, None, None, found.text, None, QuoteRole.CONTEXT, (), ())
    citation = Citation(found, score, "", about, *rest)
    asked = case(question, found.text, profile=profile, supporting=supporting)
    return why_not(citation, asked, analysis=asked.analysis, objection=objection, profile=load_profile(profile))


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("What seeding depth for rye?", "Sow canola at 2.5 cm.", "It states 2.5 cm for canola, nothing for rye."),
        ("How deep is rye sown?", "Sow maize at 4 to 5 cm.", "It states 4 to 5 cm for corn, nothing for rye."),
        ("How deep is rye sown?", "Barley wants 3 cm.", "It states 3 cm for barley, nothing for rye."),
        ("How deep is rye sown?", "Canola wants 2 cm, wheat 4 cm.", "It does not mention rye."),
        ("How deep is rye sown?", "Canola wants 2 cm, never 5 cm.", "It mentions canola, not rye."),
        ("How deep is rye sown?", "Canola takes 90 days.", "It mentions canola, not rye."),
        ("How deep is rye sown?", "Sow shallow.", "It does not mention rye."),
        ("How deep is rye sown?", "See Fig. 1.", "It does not mention rye."),  # `fiğ` is Turkish for vetch
        ("What was sown in 2017?", "In 2019 oats were sown.", "It mentions 2019, not 2017."),
        (
            "What happened on March 5, 2021?",
            "On 6 March 2021 it rained.",
            "It mentions 6 March 2021, not March 5, 2021.",
        ),
        ("What of Lot 305?", "The fence on Lot 47 is new.", "It mentions Lot 47, not Lot 305."),
        ("What does Ivan Smith grow?", "Jane Miller grows flax.", "It does not mention Ivan Smith."),
        ("What did Ivan Smith do in 1994?", "It rained.", "It does not mention Ivan Smith or 1994."),
    ],
)
def test_a_name_that_is_not_there_and_what_stands_in_its_place(question: str, text: str, said: str) -> None:
    assert why(question, text) == said


def test_a_quantity_under_a_heading_is_put_down_to_the_text_and_not_to_the_sentence() -> None:
    under_soy = sentence("Set seed 3 cm deep.", tags={"crop": ("soy",)}, section=("Soybeans",))
    under_two = sentence("Set seed 3 cm deep.", tags={"crop": ("soy", "corn")})

    assert why("How deep is rye sown?", under_soy) == "It states 3 cm in a text on soy, nothing for rye."
    assert why("How deep is rye sown?", under_two) == "It does not mention rye."


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("Why sow at 8 cm?", "Sow at 2.5 cm.", "It states 2.5 cm, not 8 cm."),
        ("Why sow at 8 cm?", "Sow at 2.5 cm or 5 cm.", "It does not state 8 cm."),
        ("Why sow at 8 cm?", "Sow in May.", "It does not state 8 cm."),
        ("Why are 17 feet allowed?", "Seven (7) feet are allowed.", "It states 7 feet, not 17 feet."),
    ],
)
def test_a_number_that_is_not_there_and_what_is(question: str, text: str, said: str) -> None:
    assert why(question, text, profile="general") == said


def test_where_names_and_numbers_are_there_the_telling_absent_words_are_told() -> None:
    objection = Objection(Reason.LOW_CONFIDENCE, "Low.")

    assert why("Which hives should I rent?", "Bees are useful.", objection=objection) == (
        "It does not mention 'hives' or 'rent'."
    )


def test_where_every_word_is_there_the_check_decides_what_is_said() -> None:
    near = sentence("Bees need hives.")
    too_few = Objection(Reason.INSUFFICIENT_SUPPORT, "Few.")

    assert why("Which hives need bees?", near, objection=too_few, supporting=[near]) == (
        "It supports an answer, but not enough other sentences do."
    )
    assert why("Which hives need bees?", near, objection=too_few) == (
        "It may be about the question, but it is not sure to answer it."
    )
    assert why("Which hives need bees?", near, objection=too_few, score=0.05) == "It is unlikely to answer it."


def test_what_has_been_replaced_says_by_what() -> None:
    old = Metadata(None, None, None, None, (Supersession("new.md", None),), None, {}, False, (), None, None)

    assert why("Which hives?", "Ten hives.", objection=Objection(Reason.SUPERSEDED_ONLY, "Old."), about=old) == (
        "It has been replaced by new.md."
    )


@pytest.mark.parametrize(
    ("question", "parts", "named"),
    [
        ("What did Ivan Smith sow in 1994?", (), ("1994", "Ivan Smith")),
        ("Why sow canola at 8 cm?", (), ("8 cm",)),
        ("What depth for canola and rye?", ("rye",), ("rye",)),
        ("How is canola sold, and where is it pressed?", ("where is it pressed",), ("where is it pressed",)),
        ("Which hives suit canola?", (), ("hives",)),
        ("How is canola sown?", (), ()),
    ],
)
def test_what_has_no_evidence_is_named_once(question: str, parts: tuple[str, ...], named: tuple[str, ...]) -> None:
    asked = case(question, "Canola is sown at 2 cm.")
    assert missing(asked, asked.analysis, parts) == named
