from __future__ import annotations

from pathlib import Path

import pytest

from quoth.errors import NoIndex
from quoth.evaluation.evaluate import evaluate
from quoth.evaluation.judgements import FAULT_CONFIDENCE, judge_each
from quoth.evaluation.labelled_questions import Gold, LabelledQuestion
from quoth.library import Quoth
from quoth.types import NO_FILTERS, AskResult, Filters, Question, Span

TEXT = (
    "# Canola\n\nSow canola at 2.5 cm into moist soil.\n\nRoll the canola field after seeding.\n\n"
    "# Wheat\n\nSow wheat at 4 cm in October.\n"
)
CANOLA = "Sow canola at 2.5 cm into moist soil."
WHEAT = "Sow wheat at 4 cm in October."
HASH = {"embedding.model_name": "hash", "rerank.kind": "late"}


@pytest.fixture(scope="module")
def quoth(tmp_path_factory: pytest.TempPathFactory) -> Quoth:
    place = tmp_path_factory.mktemp("evaluated")
    (place / "fields").mkdir()
    (place / "fields" / "crops.md").write_bytes(TEXT.encode())
    return Quoth.build(place / "fields", index=place / "index", settings=HASH)


def about(id_: str, question: str, gold: str | None, *, doc_ids: tuple[str, ...] = ()) -> LabelledQuestion:
    filters = Filters(doc_ids, {}, (), None, None) if doc_ids else NO_FILTERS
    start = TEXT.index(gold) if gold else 0
    golds = (Gold("crops.md", Span(start, start + len(gold)), gold, ()),) if gold else ()
    return LabelledQuestion(Question(id_, question, filters), gold is not None, golds, "any")


def test_a_live_answer_is_judged_with_every_stage(quoth: Quoth) -> None:
    (one,) = judge_each(quoth, [about("1", CANOLA, CANOLA)], progress=None)

    assert (one.abstained, one.right, one.fault) == (False, True, None)
    assert one.quotes[0].text == CANOLA
    assert one.exactness is not None and one.exactness.citations > 0 and one.exactness.inexact == 0
    assert one.stages is not None
    assert dict(one.stages.ranks) == dict.fromkeys(("lexical", "dense", "fused", "reranked", "selected"), (1,))
    assert one.stages.boosted == one.stages.unboosted == 1


def test_an_abstention_is_judged_by_what_it_withheld(quoth: Quoth) -> None:
    withheld = "Why does Halvorsen sow canola at 2.5 cm into moist soil?"
    answerable, not_answerable = judge_each(
        quoth, [about("1", withheld, CANOLA), about("2", withheld, None)], progress=None
    )

    assert answerable.abstained and answerable.right
    assert (answerable.reason, bool(answerable.detail)) == ("unknown_entity", True)
    assert not_answerable.abstained and not not_answerable.right


def test_a_question_that_cannot_be_asked_counts_as_wrong_and_the_others_go_on(quoth: Quoth) -> None:
    seen: list[tuple[str, int, int]] = []
    judged = judge_each(
        quoth,
        [about("1", "?!", CANOLA), about("2", WHEAT, WHEAT)],
        progress=lambda what, done, total: seen.append((what, done, total)),
    )

    assert judged[0].fault == "question: the question has no words"
    assert (judged[0].right, judged[0].abstained, judged[0].confidence) == (False, False, FAULT_CONFIDENCE)
    assert judged[1].right
    assert seen == [("asking", 1, 2), ("asking", 2, 2)]


def test_a_crash_counts_as_wrong_and_the_others_go_on(quoth: Quoth, monkeypatch: pytest.MonkeyPatch) -> None:
    explain = quoth.explain

    def crash_on_wheat(question: Question) -> AskResult:
        return explain(question) if "wheat" not in question.text else explain(question.text[1 // 0])

    monkeypatch.setattr(quoth, "explain", crash_on_wheat)
    canola, wheat = judge_each(quoth, [about("1", CANOLA, CANOLA), about("2", WHEAT, WHEAT)], progress=None)

    assert canola.right
    assert wheat.fault is not None and wheat.fault.startswith("ZeroDivisionError: ")
    found = evaluate([canola, wheat], notes=()).measure("hit@1")
    assert found is not None and (found.figure.value, found.counted) == (0.5, 2)


def test_filters_of_a_question_hold(quoth: Quoth) -> None:
    (one,) = judge_each(quoth, [about("1", CANOLA, CANOLA, doc_ids=("other.md",))], progress=None)

    assert (one.abstained, one.right, one.reason, one.quotes) == (True, False, "no_results", ())


def test_asking_twice_gives_the_same_evaluation(quoth: Quoth) -> None:
    items = [about("1", CANOLA, CANOLA), about("2", WHEAT, WHEAT), about("3", "Who sells tractors?", None)]
    first, second = (evaluate(judge_each(quoth, items, progress=None), notes=()) for _ in range(2))

    assert first == second


def test_a_search_by_words_alone_has_no_dense_stage(quoth: Quoth, tmp_path: Path) -> None:
    (tmp_path / "crops.md").write_bytes(TEXT.encode())
    words = Quoth.build(tmp_path / "crops.md", index=tmp_path / "i", settings={**HASH, "retrieval.mode": "lexical"})
    (one,) = judge_each(words, [about("1", CANOLA, CANOLA)], progress=None)

    assert one.stages is not None
    assert set(one.stages.ranks) == {"lexical", "fused", "reranked", "selected"}


def test_what_stops_every_question_is_raised(tmp_path: Path) -> None:
    from quoth.overrides import NO_OVERRIDES
    from quoth.settings import Settings
    from quoth.wiring import open_store

    absent = Quoth(open_store(tmp_path / "absent", Settings().store), NO_OVERRIDES)

    with pytest.raises(NoIndex):
        judge_each(absent, [about("1", CANOLA, CANOLA)], progress=None)
