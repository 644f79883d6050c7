from __future__ import annotations

import numpy as np
import pytest

from quoth.evaluation.evaluate import RESAMPLES, QuestionGroups, groups_of, interval, resampled, two_sided
from quoth.evaluation.measures import Floats

from .samples import GOLD, item


def test_questions_about_one_document_stand_or_fall_together() -> None:
    items = [item(str(number), GOLD, doc_ids=(f"{number % 25}.md",)) for number in range(50)]
    groups = groups_of(items)

    assert (groups.by, groups.count) == ("document", 25)
    assert all(groups.of[number] == groups.of[number + 25] for number in range(25))


def test_few_documents_say_too_little_so_words_are_compared() -> None:
    items = [item(str(number), GOLD, text=f"What  is {number % 40}?", doc_ids=("a.md",)) for number in range(80)]

    assert (groups_of(items).by, groups_of(items).count) == ("question text", 40)


def test_a_small_set_is_resampled_question_by_question() -> None:
    items = [item(str(number), GOLD, text="The same?") for number in range(5)]

    assert (groups_of(items).by, groups_of(items).count) == ("question", 5)


def test_every_resample_draws_whole_groups_and_as_many_as_there_are() -> None:
    groups = QuestionGroups("document", np.array([0, 0, 1, 2], dtype=np.intp))
    drawn = resampled(groups, lambda weights: weights)

    assert drawn.shape == (RESAMPLES, 4)
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[:, 1:].sum(axis=1) == 3).all()


def test_the_same_questions_are_resampled_the_same_way() -> None:
    groups = QuestionGroups("question", np.arange(30, dtype=np.intp))

    assert np.array_equal(resampled(groups, _weights), resampled(groups, _weights))


def _weights(weights: Floats) -> Floats:
    return weights


def test_the_interval_of_a_share_is_what_the_normal_distribution_says() -> None:
    count, share = 400, 0.3
    hits = (np.arange(count) < share * count).astype(np.float64)
    groups = QuestionGroups("question", np.arange(count, dtype=np.intp))

    ends = interval(resampled(groups, lambda weights: np.einsum("rq,q->r", weights, hits) / weights.sum(axis=1)))

    half = 1.96 * (share * (1 - share) / count) ** 0.5
    assert ends == pytest.approx((share - half, share + half), abs=0.006)


def test_what_is_undefined_is_left_out_of_an_interval() -> None:
    assert interval(np.array([np.nan, 2.0, np.nan])) == (2.0, 2.0)
    assert interval(np.array([np.nan])) is None


def test_chance_is_the_share_of_resamples_on_the_other_side() -> None:
    assert two_sided(np.full(999, 0.1)) == pytest.approx(0.002)
    assert two_sided(np.concatenate([np.full(949, 0.1), np.full(50, -0.1)])) == pytest.approx(2 * 51 / 1000)
    assert two_sided(np.zeros(10)) == 1.0
    assert two_sided(np.array([np.nan])) is None
