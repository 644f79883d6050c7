"""What the conditions for a score promise, without a server: no sentence that reaches the score fails them."""

from __future__ import annotations

import re
from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from quoth.stores.postgres.postgres_bounds import LEAST_NORMS, ClassConditions, WeighedVariant, WeighedWords

VARIANTS = st.lists(st.floats(0.01, 30), min_size=1, max_size=3)
GROUPS = st.lists(st.lists(VARIANTS, min_size=1, max_size=3), min_size=1, max_size=7)
AVERAGE = 25.0


def weighed(groups: list[list[list[float]]]) -> WeighedWords:
    """Words of which each lexeme is another one; what the ideal sentence scores only matters for rounding."""
    made = tuple(
        tuple(
            WeighedVariant(place, {f"x{word}w{place}w{part}": weight for part, weight in enumerate(variant)})
            for place, variant in enumerate(group)
        )
        for word, group in enumerate(groups)
    )
    return WeighedWords(made, (1,) * len(made), 1.0, 1000, AVERAGE)


def score(words: WeighedWords, often: dict[str, int], norm: int) -> float:
    """The score of a sentence that holds these lexemes so often: the best variant of each word."""

    def worth(variant: WeighedVariant) -> float:
        if not all(often.get(lexeme) for lexeme in variant.weights):
            return 0.0
        length = 1.2 * (0.25 + 0.75 * norm / AVERAGE)
        return sum(weight / (1 + length / often[lexeme]) for lexeme, weight in variant.weights.items())

    return sum(max(map(worth, group)) for group in words.groups)


def meets(condition: str | None, impacts: set[str]) -> bool:
    """Whether a sentence with these impacts meets a condition, as the server tells."""
    if condition is None:
        return False
    truths = re.sub(r"\w+", lambda found: str(found[0] in impacts), condition)
    return bool(eval(truths.replace("&", " and ").replace("|", " or ")))  # noqa: S307  of True and False alone


def reached(conditions: ClassConditions, impacts: set[str]) -> bool:
    none, anyone, one, several = (meets(condition, impacts) for condition in conditions)
    assert (none or (anyone and one) or several) == any(meets(way, impacts) for way in conditions.ways)
    return none or (anyone and one) or several


@given(GROUPS, st.integers(0, 200), st.data())
def test_a_sentence_meets_the_conditions_for_what_it_scores(
    groups: list[list[list[float]]], norm: int, data: st.DataObject
) -> None:
    words = weighed(groups)
    lexemes = [lexeme for group in words.groups for variant in group for lexeme in variant.weights]
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=len(lexemes), max_size=len(lexemes)))
    often = dict(zip(lexemes, drawn, strict=True))
    own = score(words, often, norm)
    letter = "ABCDEFGHIJKL"[bisect_right(LEAST_NORMS, norm) - 1]
    impacts = {f"{lexeme}{letter}{min(2, times)}" for lexeme, times in often.items() if times}

    assert not own or any(reached(conditions, impacts) for conditions in words.conditions(own))


def test_conditions_name_each_word_seldom() -> None:
    """The server looks at every name in a condition for every sentence that it considers."""
    words = weighed([[[float(weight)]] for weight in range(8, 15)])

    for conditions in words.conditions(35):
        assert (conditions.none_repeated or "").count("x") < 60
        assert (conditions.one_repeated or "").count("x") < 200


def test_a_pasted_page_has_conditions_of_bounded_length() -> None:
    words = weighed([[[float(weight)]] for weight in range(1, 257)])

    assert max(len(way) for conditions in words.conditions(5000) for way in conditions.ways) < 200_000
