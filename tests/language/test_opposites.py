from __future__ import annotations

import pytest

from quoth.language.opposites import opposed_words


@pytest.mark.parametrize(
    ("question", "evidence", "opposed"),
    [
        ("What is the maximum height of a fence?", "The minimum height is 2 m.", (("maximum", "minimum"),)),
        ("Which field has the highest yield?", "The lowest yield was in field 3.", (("highest", "lowest"),)),
        ("When did prices rise?", "Prices fell in 1929.", (("rise", "fell"),)),
        ("What increases runoff?", "Mulch decreased runoff by half.", (("increases", "decreased"),)),
        ("How long do you wait before the harvest?", "Wait a week after harvesting.", (("before", "after"),)),
        ("How is it stored before 1 May?", "Store it dry after 1 May.", (("before", "after"),)),
        ("What is checked before I travel?", "Check the tyres after you travel.", (("before", "after"),)),
        ("What can be stored WITHOUT a permit?", "Fuel is stored with a permit.", (("without", "with"),)),
    ],
)
def test_a_word_whose_opposite_stands_in_the_evidence_is_found(
    question: str, evidence: str, opposed: tuple[tuple[str, str], ...]
) -> None:
    assert opposed_words(question, evidence) == opposed


@pytest.mark.parametrize(
    ("question", "evidence"),
    [
        ("What is the maximum height?", "The maximum height is 2 m, the minimum 1 m."),
        ("Is parking allowed?", "Parking is prohibited and denied."),
        ("The tenant may park inside.", "The tenant must park outside."),
        ("Is the soil dry or wet?", "The soil is wet."),
        ("How deep is the lake?", "The lake is shallow: 2 m."),
        ("How many days does it rest before racing?", "After 5 days of rest it races."),
        ("Is June warmer than May?", "May is the coldest month."),
        ("How do maximum and minimum differ?", "The minimum is 1 m."),
        ("What is the maximum height?", "A fence is 2 m high."),
        ("", "The minimum is 1 m."),
        ("What is the maximum height?", ""),
    ],
)
def test_a_sentence_that_may_answer_all_the_same_is_not_opposed(question: str, evidence: str) -> None:
    assert opposed_words(question, evidence) == ()
