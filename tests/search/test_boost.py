"""Boosts change the order of the evidence, never its scores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engines import engine_of
from quoth.domain.profile import Profile, load_profile
from quoth.overrides import NO_OVERRIDES
from quoth.search.boosts import boost
from quoth.search.question_analysis import analyse
from quoth.settings import RetrievalSettings, Settings
from quoth.types import (
    NO_FILTERS,
    Candidate,
    DocumentInfo,
    Filters,
    Metadata,
    Question,
    Quote,
    Ranked,
    RegionKind,
    Sentence,
    Span,
    Supersession,
    Tags,
)

AGRICULTURE, GOVERNANCE, GENERAL = (load_profile(name) for name in ("agriculture", "governance", "general"))
PLAIN = Metadata(None, None, None, None, (), None, {}, False, (), None, None)


def ranked(score: float, *, doc_id: str = "a.md", tags: Tags | None = None, section: tuple[str, ...] = ()) -> Ranked:
    quote = Quote(Span(0, 4), "Sow.")
    sentence = Sentence(doc_id, quote, RegionKind.PARAGRAPH, section, lead=None, page=None, ocr=None, tags=tags or {})
    return Ranked(Candidate(sentence, score, score, ("lexical",), b""), 0, score, score, score, None)


def document(doc_id: str, metadata: Metadata) -> DocumentInfo:
    return DocumentInfo(doc_id, "", "", "utf-8", "markdown", "", 4, 1, 0, metadata)


def boosted(
    *found: Ranked,
    question: str = "How deep?",
    filters: Filters = NO_FILTERS,
    profile: Profile = AGRICULTURE,
    about: Metadata = PLAIN,
    others: dict[str, Metadata] | None = None,
    settings: RetrievalSettings | None = None,
) -> tuple[Ranked, ...]:
    settings = settings or NO_OVERRIDES.over(profile.settings, profile=profile.name).retrieval
    analysis = analyse(Question("1", question, filters), profile=profile, settings=settings)
    documents = {doc_id: document(doc_id, one) for doc_id, one in {"a.md": about, **(others or {})}.items()}
    engine = engine_of(profile, replace(Settings(), retrieval=settings), embedder=None)
    return boost(found, analysis, documents=documents, engine=engine)


def order(one: Ranked, **how: object) -> float:
    return boosted(one, **how)[0].order  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({"crop": ("canola",), "practice": ("disease",)}, 0.63),
        ({"crop": ("canola",), "practice": ("soil",)}, 0.58),
        ({"crop": ("corn",), "practice": ("disease",)}, 0.55),
        ({"crop": ("corn", "canola"), "practice": ("other",)}, 0.58),
        ({"crop": ("other",), "practice": ("other",)}, 0.50),
        ({}, 0.50),
    ],
)
def test_a_crop_adds_8_hundredths_and_a_practice_5(tags: Tags, expected: float) -> None:
    assert order(ranked(0.5, tags=tags), question="Which fungicide for canola?") == expected


def test_a_question_without_tags_boosts_nothing() -> None:
    assert order(ranked(0.5, tags={"crop": ("other",), "practice": ("other",)})) == 0.5


def test_a_boost_can_be_a_factor() -> None:
    settings = RetrievalSettings(tag_boost={"crop": 0.08}, tag_boost_mode="multiply", tag_boost_factor=1.2)
    both = {"crop": ("canola",), "practice": ("disease",)}

    assert order(ranked(0.5, tags=both), question="Which fungicide for canola?", settings=settings) == 0.6


def test_only_the_order_changes() -> None:
    before = ranked(0.5, tags={"crop": ("canola",)})
    (after,) = boosted(before, question="canola")

    assert after.order == 0.58
    assert replace(after, order=before.order) == before


def test_a_boosted_sentence_overtakes_a_slightly_better_one() -> None:
    better = ranked(0.55, doc_id="a.md")
    tagged = ranked(0.50, doc_id="b.md", tags={"crop": ("canola",)})
    found = boosted(better, tagged, question="canola", others={"b.md": PLAIN})

    assert [one.sentence.doc_id for one in found] == ["b.md", "a.md"]


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (replace(PLAIN, is_binding=True), 0.55),
        (replace(PLAIN, document_type="ccr", is_binding=True), 0.55),
        (replace(PLAIN, document_type="ccr"), 0.55),
        (replace(PLAIN, document_type="ccr", is_binding=False), 0.50),
        (replace(PLAIN, document_type="design_guidelines", is_binding=False), 0.525),
        (replace(PLAIN, document_type="response_letter"), 0.50),
        (replace(PLAIN, superseded_by=(Supersession("b.md", None),)), 0.25),
        (replace(PLAIN, is_binding=True, superseded_by=(Supersession("b.md", None),)), 0.275),
        (PLAIN, 0.50),
    ],
)
def test_authority_multiplies(about: Metadata, expected: float) -> None:
    assert order(ranked(0.5), profile=GOVERNANCE, about=about) == expected


def test_nothing_rises_above_1() -> None:
    assert order(ranked(0.97), profile=GOVERNANCE, about=replace(PLAIN, is_binding=True)) == 1.0


def test_a_superseded_section_leaves_the_others_as_they_were() -> None:
    about = replace(PLAIN, superseded_by=(Supersession("b.md", "Section 7.3"),))

    assert order(ranked(0.5, section=("Section 7.3 Fences",)), profile=GOVERNANCE, about=about) == 0.25
    assert order(ranked(0.5, section=("Section 7.31",)), profile=GOVERNANCE, about=about) == 0.5


@pytest.mark.parametrize(("asked", "expected"), [((), 0.25), (("a.md",), 0.5), (("a.md", "b.md"), 0.25)])
def test_who_asks_a_replaced_document_alone_finds_its_text_in_its_place(
    asked: tuple[str, ...], expected: float
) -> None:
    about = Metadata(None, None, None, None, (Supersession("b.md", None),), None, {}, False, (), None, None)

    assert order(ranked(0.5), profile=GOVERNANCE, about=about, filters=Filters(doc_ids=asked)) == expected


def test_a_profile_without_authority_ignores_it() -> None:
    about = Metadata(None, "ccr", True, None, (Supersession("b.md", None),), None, {}, False, (), None, None)

    assert order(ranked(0.5), profile=GENERAL, about=about) == 0.5


def test_nothing_found_gives_nothing() -> None:
    assert boosted() == ()
