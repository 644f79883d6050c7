"""Equal clauses are one quote with several places; what differs in meaning stays apart."""

from __future__ import annotations

import pytest

from quoth.answer.equal_clauses import are_equal, clause_words, equal_clauses
from quoth.domain.profile import load_profile
from quoth.search.question_analysis import analyse
from quoth.settings import RetrievalSettings
from quoth.types import NO_FILTERS, Question, Quote, RegionKind, Sentence, Span

LONG = (
    "The owner of the lot shall keep the wall, the gate and the path along the street in good repair at the cost of"
    " the owner and shall remove snow and ice from the path before noon of the day after it falls"
)


def clause(text: str, start: int = 0, *, section: tuple[str, ...] = (), doc_id: str = "a.md") -> Sentence:
    quote = Quote(Span(start, start + len(text)), text)
    return Sentence(doc_id, quote, RegionKind.PARAGRAPH, section, lead=None, page=None, ocr=None, tags={})


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("No wall may be high.", "no  wall may\nbe high.", True),
        ("(a) No wall may be high.", "9.2.3 No wall may be high.", True),
        (LONG, LONG.replace("the path along", "a path along"), True),
        (LONG, LONG.replace("shall keep", "shall not keep"), False),
        (LONG, LONG.replace("noon", "night"), False),
        ("No wall may exceed 5 feet.", "No wall may exceed 6 feet.", False),
        ("No wall may be high.", "No gate may be high.", False),
    ],
)
def test_only_words_without_meaning_may_differ(first: str, second: str, *, expected: bool) -> None:
    assert are_equal(clause_words(clause(first)), clause_words(clause(second))) is expected


def places(question: str, *found: Sentence, repealed: str = "") -> list[str]:
    analysis = analyse(
        Question("1", question, NO_FILTERS), profile=load_profile("general"), settings=RetrievalSettings()
    )
    equal = equal_clauses(found[0], found, analysis=analysis, in_force=lambda one: one.doc_id != repealed)
    return [one.id for one in equal]


NORTH = clause("No wall may be high.", 0, section=("1 North district",))
SOUTH = clause("No wall may be high.", 100, section=("2 South district",))
EAST = clause("(c) No wall may be high.", 200, section=("3 East district",))
OTHER = clause("No wall may be high.", 0, doc_id="0.md")


def test_the_place_that_the_question_names_is_quoted_and_the_others_follow_in_order() -> None:
    assert places("How high may a wall be?", NORTH, EAST, SOUTH) == [NORTH.id, SOUTH.id, EAST.id]
    assert places("How high may a wall be in the south?", NORTH, EAST, SOUTH) == [SOUTH.id, NORTH.id, EAST.id]


def test_places_in_other_documents_come_last() -> None:
    assert places("How high may a wall be?", SOUTH, OTHER, NORTH) == [SOUTH.id, NORTH.id, OTHER.id]


def test_a_place_that_is_not_in_force_does_not_stand_beside_one_that_is() -> None:
    assert places("How high may a wall be?", NORTH, OTHER, repealed="0.md") == [NORTH.id]
    assert places("How high may a wall be?", OTHER, NORTH, repealed="0.md") == [NORTH.id]
