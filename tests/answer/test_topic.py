"""A sentence about another crop does not support an answer about this one."""

from __future__ import annotations

import pytest

from quoth.answer.selection import on_topic
from quoth.domain.profile import load_profile
from quoth.search.question_analysis import analyse
from quoth.settings import RetrievalSettings
from quoth.types import NO_FILTERS, Question, Quote, RegionKind, Sentence, Span, Tags

AGRICULTURE = load_profile("agriculture")


def serves(question: str, tags: Tags) -> bool:
    sentence = Sentence(
        "a.md", Quote(Span(0, 4), "Sow."), RegionKind.PARAGRAPH, (), lead=None, page=None, ocr=None, tags=tags
    )
    analysis = analyse(Question("1", question, NO_FILTERS), profile=AGRICULTURE, settings=RetrievalSettings())
    return on_topic(sentence, analysis, AGRICULTURE)


@pytest.mark.parametrize(
    ("question", "crops", "expected"),
    [
        ("How deep are soybeans planted?", ("corn",), False),
        ("How deep are soybeans planted?", ("soy",), True),
        ("How deep are soybeans planted?", ("corn", "soy"), True),
        ("How deep are soybeans planted?", ("other",), True),
        ("Is corn planted deeper than soy?", ("corn",), True),
        ("How deep is seed planted?", ("corn",), True),
    ],
)
def test_only_another_crop_is_off_topic(question: str, crops: tuple[str, ...], expected: bool) -> None:
    assert serves(question, {"crop": crops}) is expected


def test_another_practice_is_not_off_topic_since_questions_do_not_presume_it() -> None:
    assert serves("How is corn irrigated?", {"crop": ("corn",), "practice": ("harvest",)})
