from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.evaluation.judgements import Exactness, Judgement, QuotedSentence
from quoth.evaluation.measures import measures_of
from quoth.types import Span

from .samples import GOLD, abstention, answer, item, lost, quote, six, staged


def figures(judged: list[Judgement]) -> dict[str, float]:
    ones = np.ones((1, len(judged)))
    return {one.key: float(one.of(ones)[0]) for one in measures_of(judged)[0]}


def test_hits_and_characters_are_those_counted_by_hand() -> None:
    found = figures(six())

    # Four answerable questions; gold is first, third, first (half of it), nowhere.
    assert (found["hit@1"], found["hit@3"], found["hit@6"]) == (0.5, 0.75, 0.75)
    assert found["char_precision"] == pytest.approx((10 / 20 + 10 / 20 + 1 + 0) / 4)
    assert found["char_recall"] == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert found["char_f1"] == pytest.approx((2 / 3 + 2 / 3 + 2 / 3 + 0) / 4)
    # Five answers, the false one among them.
    assert found["answered_char_precision"] == pytest.approx((0.5 + 0.5 + 1 + 0 + 0) / 5)


def test_decisions_are_those_counted_by_hand() -> None:
    found = figures(six())

    assert found["answer_rate"] == pytest.approx(5 / 6)
    assert found["answer_rate_answerable"] == 1.0
    assert found["false_answer_rate"] == 0.5
    assert found["answer_risk"] == pytest.approx(2 / 5)
    assert found["decided_well"] == pytest.approx(4 / 6)
    assert found["sentences_per_answer"] == pytest.approx((2 + 3 + 1 + 1 + 1) / 5)
    assert found["quote_precision"] == pytest.approx((1 + 1 + 1 + 0 + 0) / (2 + 3 + 1 + 1 + 1))
    assert (found["redundancy_before"], found["redundancy_after"]) == (0.5, 0.25)


def test_quotes_that_are_only_context_count_against_the_precision_of_all_quotes_alone() -> None:
    background = replace(quote(0, 5), role="context")
    found = figures([answer(item("1", GOLD), 0.9, quote(10, 20), background)])

    assert (found["quote_precision"], found["answer_quote_precision"]) == (0.5, 1.0)


def test_the_confidence_is_measured_over_all_questions() -> None:
    found = figures(six())

    assert found["auroc"] == 1.0
    assert found["auroc_answerable"] == 1.0
    assert found["aurc"] == pytest.approx((0 + 0 + 0 + 1 / 4 + 2 / 5 + 3 / 6) / 6)
    assert (found["coverage@5%"], found["coverage@10%"], found["coverage@20%"]) == (0.5, 0.5, 0.5)
    gaps = (0.9 - 1) + 0, (0.8 - 1), (0.7 - 1), 0.6, 0.5, 0.1
    assert found["ece"] == pytest.approx(sum(map(abs, gaps)) / 6)


def test_what_was_withheld_counts_for_the_quotes_and_not_for_the_answers() -> None:
    found = figures([abstention(item("1", GOLD), 0.4, quote(10, 20)), answer(item("2", GOLD), 0.6, quote(0, 5))])

    assert (found["hit@1"], found["answered_hit@1"]) == (0.5, 0.0)
    assert (found["char_recall"], found["answered_char_recall"]) == (0.5, 0.0)
    assert found["auroc"] == 0.0


def test_every_stage_has_its_recall() -> None:
    both = item("2", GOLD, (30, 40), mode="all")
    judged = [
        staged(answer(item("1", GOLD), 0.9, quote(10, 20)), (25,), (3,), (2,), (1,), (1,), boosted=2, unboosted=1),
        staged(answer(both, 0.8, quote(10, 20)), (1, None), (2, 30), (1, 21), (1, None), (1, None), boosted=1),
        staged(answer(item("3"), 0.7, quote(0, 5)), (), (), (), (), ()),
    ]
    found = figures(judged)

    assert [found[f"recall_{name}"] for name in ("lexical", "dense", "fused", "reranked", "selected")] == [
        0.75,
        1.0,
        1.0,
        0.75,
        0.75,
    ]
    assert [found[f"recall@20_{name}"] for name in ("lexical", "dense", "hybrid")] == [0.25, 0.75, 0.75]
    assert found["precision@5_boosted"] == pytest.approx((2 / 5 + 1 / 5) / 2)
    assert found["precision@5_unboosted"] == pytest.approx((1 / 5 + 0) / 2)
    assert found["precision@5_gain"] == pytest.approx(0.2)


def test_pairs_of_tags_are_counted_once_an_answer_and_need_every_facet() -> None:
    soil = {"crop": "canola", "practice": "soil"}
    seeding = {"crop": "canola", "practice": "seeding"}
    untagged = {"crop": "canola", "practice": "other"}
    quotes = [quote(n, n + 1, tags=tags) for n, tags in enumerate((soil, soil, seeding, untagged))]
    one = staged(answer(item("1", GOLD), 0.9, *quotes), (1,), (1,), (1,), (1,), (1,), gained=1)

    assert figures([one])["tag_pairs"] == 2.0
    assert figures([one])["tag_pairs_gained"] == 1.0


def test_highlights_are_measured_where_gold_is_a_short_part_of_the_quote() -> None:
    sentence = QuotedSentence(
        "a.md", 0, 40, "The Rhine empties into the North Sea now", 0.5, {}, highlights=(Span(23, 36),)
    )
    unmarked = replace(sentence, highlights=())
    short = item("1", (27, 36), alternatives=((0, 9),))
    long = item("2", (0, 40))

    assert figures([answer(short, 0.9, quote(50, 60, highlights=()), sentence)])["highlight_f1"] == 1.0  # no `the`
    assert figures([answer(short, 0.9, unmarked)])["highlight_f1"] == 0.0
    assert figures([answer(item("1", (27, 32)), 0.9, sentence)])["highlight_f1"] == pytest.approx(2 / 3)
    both = [answer(short, 0.9, sentence), answer(long, 0.9, unmarked), answer(item("3", (27, 36)), 0.9, unmarked)]
    assert figures(both)["highlight_f1"] == figures(both)["highlighted"] == 0.5
    parts = item("1", (4, 9), (27, 36), mode="all")
    assert figures([answer(parts, 0.9, sentence)])["highlight_f1"] == pytest.approx(4 / 5)
    assert "highlight_f1" not in figures([answer(long, 0.9, unmarked)])


def test_what_cannot_be_measured_is_absent_and_said_to_be() -> None:
    judged = [replace(one, exactness=None) for one in six()]
    measures, absent = measures_of(judged)
    keys = {one.key for one in measures}

    assert "citations_exact" not in keys
    assert not any(key.startswith(("recall_", "recall@", "precision@", "tag_")) for key in keys)
    assert set(absent) == {
        "citations_exact",
        "recall by stage",
        "recall@20",
        "precision@5",
        "tag_pairs",
        "tag_pairs_gained",
        "highlight_f1",
    }


def test_a_search_by_words_alone_has_no_dense_stage() -> None:
    one = staged(answer(item("1", GOLD), 0.9, quote(10, 20)), (1,), (1,), (1,), (1,), (1,))
    assert one.stages is not None
    ranks = {name: found for name, found in one.stages.ranks.items() if name != "dense"}
    measures, absent = measures_of([replace(one, stages=replace(one.stages, ranks=ranks))])

    assert "recall_dense" in absent
    assert {"recall_lexical", "recall@20_lexical", "recall_fused"} <= {one.key for one in measures}


def test_a_question_without_a_result_counts_as_wrong_everywhere() -> None:
    judged = [
        staged(answer(item("1", GOLD), 0.9, quote(10, 20)), (1,), (1,), (1,), (1,), (1,), boosted=1),
        lost(answer(item("2", GOLD), 0.9)),
        lost(answer(item("3"), 0.9)),
    ]
    found = figures(judged)

    assert found["recall_selected"] == found["recall@20_hybrid"] == found["hit@6"] == found["char_f1"] == 0.5
    assert found["precision@5_boosted"] == pytest.approx(0.1)
    assert found["false_answer_rate"] == 1.0
    assert found["answer_risk"] == pytest.approx(2 / 3)
    assert found["answer_rate"] == pytest.approx(1 / 3)
    assert found["aurc"] == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert found["coverage@20%"] == 0.0
    assert found["citations_exact"] == pytest.approx(1 / 3)


QUALITY = ("hit@", "char_", "answer_risk", "answered_", "false_", "decided", "auroc", "aurc", "coverage", "ece")

one_result = st.tuples(
    st.booleans(), st.booleans(), st.booleans(), st.integers(0, 19).map(lambda twentieth: twentieth / 20)
)


# No two as sure as each other: a threshold takes all of a tie or none, so a tie that is broken can gain coverage.
@given(st.lists(one_result, min_size=1, max_size=10, unique_by=lambda result: result[3]), st.data())
def test_losing_a_result_never_helps(results: list[tuple[bool, bool, bool, float]], data: st.DataObject) -> None:
    judged = []
    for number, (answerable, hit, abstained, confidence) in enumerate(results):
        labelled = item(str(number), GOLD) if answerable else item(str(number))
        make = abstention if abstained else answer
        judged.append(make(labelled, confidence, quote(10, 20) if hit else quote(50, 60)))
    place = data.draw(st.integers(0, len(judged) - 1))
    after = [lost(one) if number == place else one for number, one in enumerate(judged)]

    before_figures, after_figures = figures(judged), figures(after)

    for one in measures_of(judged)[0]:
        before, now = before_figures[one.key], after_figures[one.key]
        if one.key.startswith(QUALITY) and np.isfinite(before):
            assert now <= before + 1e-9 if one.better == "higher" else now >= before - 1e-9, one.key


def test_an_inexact_citation_shows() -> None:
    judged = [replace(one, exactness=Exactness(2, 0)) for one in six()]
    judged[3] = replace(judged[3], exactness=Exactness(2, 1))

    assert figures(judged)["citations_exact"] == pytest.approx(11 / 12)
