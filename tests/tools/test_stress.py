"""The quality gate: what the sample corpora do not answer is refused, and what they answer is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from end_to_end.samples import EXAMPLES, sample_index
from quoth.errors import QuestionError
from quoth.evaluation.labelled_questions import LabelledQuestion, read_labelled
from quoth.library import Quoth
from quoth.types import Abstention
from stress.stress_set import Plan, Stressed, read_plan, refusals, stress_set, true_premises
from stress.swap import SwapKind

CORPORA = ("agriculture", "governance")

# The share of changed questions that must be refused, by what was changed in them: what is reached, less some noise.
FLOORS = {
    SwapKind.ENTITY: 0.90,
    SwapKind.YEAR: 0.97,
    SwapKind.NUMBER: 0.97,
    SwapKind.UNIT: 0.90,
    SwapKind.POLARITY: 0.55,
    SwapKind.PLACE: 0.97,
}
ASKED_OF_A_KIND = 25
"""So many questions of a kind are asked about each corpus, spread over all of them; `make stress` asks all."""
ANSWERED = {"questions": 0.55, "premises": 0.90}
"""The share that must still be answered: of the unchanged questions, and of what their evidence states, asked back.

What is reached, less some noise. Many of the questions are worded quite unlike the documents.
"""


@lru_cache
def items(corpus: str) -> tuple[LabelledQuestion, ...]:
    return read_labelled(EXAMPLES / corpus / "questions.jsonl")


def premises(corpus: str) -> tuple[LabelledQuestion, ...]:
    return true_premises(items(corpus))


@lru_cache
def texts(corpus: str) -> tuple[str, ...]:
    return tuple(path.read_bytes().decode() for path in sorted((EXAMPLES / corpus).rglob("*.md")))


@lru_cache
def plan(corpus: str) -> Plan:
    return read_plan(EXAMPLES / "stress" / f"{corpus}.yaml")


@lru_cache
def stressed(corpus: str) -> tuple[Stressed, ...]:
    return stress_set(items(corpus), texts=texts(corpus), plan=plan(corpus))


def sample(questions: tuple[Stressed, ...]) -> list[Stressed]:
    """Every n-th question of each kind."""
    by_kind = [[one for one in questions if one.kind is kind] for kind in SwapKind]
    return [one for same in by_kind for one in same[:: -(-len(same) // ASKED_OF_A_KIND) or 1]]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Quoth]:
    return {corpus: Quoth.open(sample_index(corpus, tmp_path_factory)) for corpus in CORPORA}


def test_every_kind_of_change_is_refused_as_often_as_its_floor_says(opened: dict[str, Quoth]) -> None:
    refused, totals = dict.fromkeys(SwapKind, 0), dict.fromkeys(SwapKind, 0)
    for corpus in CORPORA:
        for kind, found in refusals(sample(stressed(corpus)), opened[corpus].ask).items():
            refused[kind] += found.refused
            totals[kind] += found.total
    below = {
        kind: f"{refused[kind]} of {totals[kind]}" for kind in FLOORS if refused[kind] < FLOORS[kind] * totals[kind]
    }

    assert below == {}


@pytest.mark.parametrize(("name", "unchanged"), [("questions", items), ("premises", premises)])
def test_what_is_unchanged_is_still_answered(
    name: str, unchanged: Callable[[str], tuple[LabelledQuestion, ...]], opened: dict[str, Quoth]
) -> None:
    asked = [(corpus, item) for corpus in CORPORA for item in unchanged(corpus) if item.answerable]
    refused = [item.question.id for corpus, item in asked if isinstance(opened[corpus].ask(item.question), Abstention)]

    assert len(refused) <= (1 - ANSWERED[name]) * len(asked), refused


def test_the_set_holds_at_least_400_questions_and_some_of_every_kind() -> None:
    kinds = [one.kind for corpus in CORPORA for one in stressed(corpus)]

    assert len(kinds) >= 400
    assert all(kinds.count(kind) >= 40 for kind in SwapKind)


@pytest.mark.parametrize("corpus", CORPORA)
def test_each_changed_question_is_unanswerable_new_and_names_its_original(corpus: str) -> None:
    originals = {item.question.id: item for item in items(corpus)}
    made = stressed(corpus)

    assert (
        len({one.labelled.question.id for one in made})
        == len({one.labelled.question.text for one in made})
        == len(made)
    )
    assert all(originals[one.of].answerable and not one.labelled.answerable for one in made)
    assert not {one.labelled.question.text for one in made} & {item.question.text for item in originals.values()}


@pytest.mark.parametrize("corpus", CORPORA)
def test_every_opposite_that_was_read_is_made(corpus: str) -> None:
    made = {one.labelled.question.text for one in stressed(corpus) if one.kind is SwapKind.POLARITY}

    assert made == plan(corpus).opposites


@pytest.mark.parametrize("corpus", CORPORA)
def test_no_year_or_place_that_was_put_in_is_in_the_corpus(corpus: str) -> None:
    whole = "\n".join(texts(corpus))
    added = [one.after for one in stressed(corpus) if one.kind in {SwapKind.YEAR, SwapKind.PLACE}]

    assert [one for one in added if one in whole] == []


def test_a_plan_that_lacks_a_part_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("terms: [[corn, rice]]\n")

    with pytest.raises(QuestionError, match="is not a plan"):
        read_plan(path)
