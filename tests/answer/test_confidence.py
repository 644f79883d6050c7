"""Confidence: made from a few numbers that can be read, each with its share."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from quoth.answer.confidence import answer_features, confidence_of, outlook_of
from quoth.answer.doubts import NO_DOUBTS
from quoth.domain.profile import load_profile
from quoth.search.logistic import Logistic
from quoth.search.question_analysis import analyse
from quoth.settings import RetrievalSettings
from quoth.types import (
    NO_FILTERS,
    Analysis,
    Candidate,
    Confidence,
    EncodedQuestion,
    Outlook,
    Question,
    QuestionTokens,
    Quote,
    Ranked,
    RegionKind,
    Sentence,
    Span,
    Support,
)

MODEL = Logistic(-1.0, {"support": 1.0, "gap": 0.5, "agreement": 0.25, "coverage": 2.0, "missing": -1.5})
ENCODED = EncodedQuestion(
    "sow deep",
    None,
    QuestionTokens(((0, 3), (4, 8)), np.zeros((2, 2), dtype=np.float32), np.zeros(2, dtype=np.float32)),
    np.array([0.25, 0.75], dtype=np.float32),
)


def analysis(text: str = "How deep is it sown?") -> Analysis:
    return analyse(Question("1", text, NO_FILTERS), profile=load_profile("general"), settings=RetrievalSettings())


def ranked(place: int, relevance: float, text: str = "Sow.", matches: tuple[float, ...] = (0.5, 0.5)) -> Ranked:
    sentence = Sentence("a.md", Quote(Span(place, place + 1), text), RegionKind.PARAGRAPH, (), None, None, None, {})
    support = Support(relevance, odds(relevance), {}, matches)
    return Ranked(Candidate(sentence, 0.1, 0.1, (), b""), 0, 0.1, relevance, relevance, support)


def odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_the_parts_are_what_they_are_called() -> None:
    found = [ranked(9, 0.5, matches=(0.2, 0.9)), ranked(0, 0.8, matches=(0.6, 0.1)), ranked(5, 0.2)]
    parts = answer_features(found, analysis(), ENCODED)

    assert parts["support"] == pytest.approx(odds(0.8))
    assert parts["gap"] == pytest.approx(odds(0.8) - odds(0.5))
    assert parts["agreement"] == pytest.approx((odds(0.5) + odds(0.2)) / 2)
    assert parts["coverage"] == pytest.approx(0.25 * 0.6 + 0.75 * 0.9)
    assert parts["missing"] == 0


def test_names_and_numbers_that_the_best_sentences_do_not_mention_are_missing() -> None:
    asked = analysis("Did Acme sow at 3 cm in Ohio in 1987?")

    assert answer_features([ranked(0, 0.9, "Acme sowed at 30 mm in Ohio in 1987.")], asked, ENCODED)["missing"] == 0
    assert answer_features([ranked(0, 0.9, "Acme sowed at 30 mm in Ohio.")], asked, ENCODED)["missing"] == 1
    assert answer_features([ranked(0, 0.9, "Nothing.")], asked, ENCODED)["missing"] == 2


def test_every_term_is_shown_and_they_add_up() -> None:
    found = confidence_of(
        [ranked(0, 0.8), ranked(3, 0.4)], analysis=analysis(), encoded=ENCODED, doubts=NO_DOUBTS, model=MODEL
    )

    assert list(found.terms) == ["intercept", *MODEL.weights]
    assert found.value == pytest.approx(1 / (1 + math.exp(-sum(found.terms.values()))), abs=1e-6)


def test_a_missing_name_lowers_the_confidence() -> None:
    asked = analysis("Did Acme sow deep?")
    with_name = confidence_of(
        [ranked(0, 0.8, "Acme sows.")], analysis=asked, encoded=ENCODED, doubts=NO_DOUBTS, model=MODEL
    )
    without = confidence_of(
        [ranked(0, 0.8, "They sow.")], analysis=asked, encoded=ENCODED, doubts=NO_DOUBTS, model=MODEL
    )

    assert without.value < with_name.value


def test_the_order_of_the_sentences_does_not_matter() -> None:
    found = [ranked(9, 0.5), ranked(0, 0.8), ranked(5, 0.5)]
    one = confidence_of(found, analysis=analysis(), encoded=ENCODED, doubts=NO_DOUBTS, model=MODEL)

    assert confidence_of(found[::-1], analysis=analysis(), encoded=ENCODED, doubts=NO_DOUBTS, model=MODEL) == one


def test_without_a_model_the_best_fused_score_stands_for_it() -> None:
    found = confidence_of([ranked(0, 0.8)], analysis=analysis(), encoded=ENCODED, doubts=NO_DOUBTS, model=None)

    assert (found.value, found.terms) == (0.1, {})


def test_without_support_the_model_is_not_asked() -> None:
    unread = replace(ranked(0, 0.8), support=None)

    assert confidence_of([unread], analysis=analysis(), encoded=ENCODED, doubts=NO_DOUBTS, model=MODEL).value == 0.1


def test_nothing_found_gives_no_confidence() -> None:
    assert confidence_of([], analysis=analysis(), encoded=ENCODED, doubts=NO_DOUBTS, model=MODEL).value == 0.0


@pytest.mark.parametrize(
    ("terms", "value", "outlook"),
    [
        ({"intercept": -1.0, "support": 0.0}, 0.27, Outlook.MAY_BE_RELEVANT),
        ({"intercept": -1.2, "support": 0.0}, 0.23, Outlook.NOTHING),
        ({"intercept": 0.0, "support": 0.5, "unused": -1.0, "missing": -2.0}, 0.08, Outlook.MAY_BE_RELEVANT),
        ({}, 0.25, Outlook.MAY_BE_RELEVANT),
        ({}, 0.24, Outlook.NOTHING),
    ],
)
def test_what_is_half_as_likely_as_needed_but_for_doubts_may_be_relevant(
    terms: dict[str, float], value: float, outlook: Outlook
) -> None:
    assert outlook_of(Confidence(value, {}, terms), threshold=0.5) is outlook
