from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.evaluation.labelled_questions import (
    DocumentSpan,
    LabelledQuestion,
    character_scores,
    first_ranks,
    recall,
    touches,
)
from quoth.types import Span

from .samples import GOLD, item


def place(start: int, end: int, doc_id: str = "a.md") -> DocumentSpan:
    return doc_id, Span(start, end)


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        (place(0, 11), True),
        (place(19, 30), True),
        (place(12, 13), True),
        (place(0, 10), False),
        (place(20, 30), False),
        (place(10, 20, "b.md"), False),
    ],
)
def test_a_hit_shares_a_character_of_the_same_document(quoted: DocumentSpan, expected: bool) -> None:
    (gold,) = item("1", GOLD).gold

    assert touches(quoted, gold) is expected


def test_an_alternative_is_as_good() -> None:
    one = item("1", GOLD, alternatives=((40, 44),))

    assert first_ranks([place(0, 5), place(43, 50)], one.gold) == (2,)
    assert character_scores([place(40, 44)], one) == (1.0, 1.0, 1.0)


def test_recall_counts_each_gold_only_where_all_are_asked_for() -> None:
    ranks = (2, None, 9)

    assert recall(ranks, item("1", GOLD)) == 1.0
    assert recall(ranks, item("1", GOLD), at=1) == 0.0
    assert recall(ranks, item("1", GOLD, mode="all")) == pytest.approx(2 / 3)
    assert recall(ranks, item("1", GOLD, mode="all"), at=5) == pytest.approx(1 / 3)
    assert recall((), item("1")) == 0.0


def test_characters_are_counted_by_hand() -> None:
    one = item("1", (10, 20), (30, 50))
    every = item("1", (10, 20), (30, 50), mode="all")
    quotes = [place(5, 15), place(10, 15), place(45, 55)]  # 20 characters, of which 5 + 5 are gold

    assert character_scores(quotes, one) == (0.5, 0.5, 0.5)
    precision, found, f1 = character_scores(quotes, every)
    assert precision == 0.5
    assert found == pytest.approx(10 / 30)
    assert f1 == pytest.approx(2 * 0.5 * (1 / 3) / (0.5 + 1 / 3))


def test_without_quotes_or_gold_there_is_nothing_to_share() -> None:
    assert character_scores([], item("1", GOLD)) == (0.0, 0.0, 0.0)
    assert character_scores([place(10, 20)], item("1")) == (0.0, 0.0, 0.0)
    assert character_scores([place(30, 40)], item("1", GOLD)) == (0.0, 0.0, 0.0)


def test_a_span_of_any_length_costs_nothing() -> None:
    precision, found, _ = character_scores([place(0, 10**15)], item("1", GOLD))

    assert (precision, found) == (10 / 10**15, 1.0)


spans = st.tuples(st.integers(0, 40), st.integers(1, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(
    st.lists(spans, min_size=1, max_size=5), st.lists(spans, min_size=1, max_size=4), st.sampled_from(["any", "all"])
)
def test_counting_intervals_is_counting_characters(
    quoted: list[tuple[int, int]], gold: list[tuple[int, int]], mode: str
) -> None:
    precision, found, _ = character_scores([place(*one) for one in quoted], item("1", *gold, mode=mode))

    assert (precision, found) == pytest.approx(_slowly(quoted, item("1", *gold, mode=mode)))


def _slowly(quoted: list[tuple[int, int]], labelled: LabelledQuestion) -> tuple[float, float]:
    shown = {offset for start, end in quoted for offset in range(start, end)}
    golden = [set(range(one.span.start, one.span.end)) for one in labelled.gold]
    every = set().union(*golden)
    shares = [(len(one & shown), len(one)) for one in golden]
    if labelled.gold_mode == "any":
        found = max(covered / length for covered, length in shares)
    else:
        found = sum(covered for covered, _ in shares) / sum(length for _, length in shares)
    return len(shown & every) / len(shown), found
