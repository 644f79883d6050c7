"""Coverage: a part is supported by sentences that speak of it, and what no part supports is no longer asked for."""

from __future__ import annotations

import pytest

from quoth.answer.sub_answers import best_for, evidence_of, speaks_of, unsupported_parts, without_unsupported
from quoth.domain.profile import load_profile
from quoth.search.question_analysis import analyse
from quoth.search.sub_questions import sub_questions_of
from quoth.settings import RetrievalSettings
from quoth.types import (
    NO_FILTERS,
    Analysis,
    Candidate,
    Objection,
    Question,
    Quote,
    Ranked,
    Reason,
    RegionKind,
    Sentence,
    Span,
    SubAnswer,
    SubQuestion,
    Tags,
)

NO_EVIDENCE = Objection(Reason.INSUFFICIENT_SUPPORT, "None.")


def analysed(text: str) -> tuple[Analysis, tuple[SubQuestion, ...]]:
    profile, settings = load_profile("agriculture"), RetrievalSettings()
    analysis = analyse(Question("1", text, NO_FILTERS), profile=profile, settings=settings)
    return analysis, sub_questions_of(analysis, profile=profile, settings=settings)


def ranked(
    text: str, score: float = 0.5, *, section: tuple[str, ...] = (), tags: Tags | None = None, doc_id: str = "a.md"
) -> Ranked:
    quote = Quote(Span(0, len(text)), text)
    sentence = Sentence(doc_id, quote, RegionKind.PARAGRAPH, section, lead=None, page=None, ocr=None, tags=tags or {})
    return Ranked(Candidate(sentence, score, score, (), b""), 0, score, score, score, None)


def anything(_: Ranked) -> bool:
    return True


def test_a_sentence_speaks_of_a_part_by_its_words_headings_tags_or_document() -> None:
    _, (canola, wheat) = analysed("What depth for canola and wheat?")

    assert speaks_of(ranked("Sow rapeseed at 2 cm.").sentence, canola)
    assert speaks_of(ranked("Sow at 2 cm.", section=("Canola",)).sentence, canola)
    assert speaks_of(ranked("Sow at 2 cm.", doc_id="canola/guide.md").sentence, canola)
    assert speaks_of(ranked("Sow at 2 cm.", tags={"crop": ("canola",)}).sentence, canola)
    assert not speaks_of(ranked("Sow rapeseed at 2 cm.").sentence, wheat)


@pytest.mark.parametrize(
    ("text", "early", "late"),
    [
        ("Early blight makes rings.", True, False),
        ("Late blight makes blotches.", False, True),
        ("Early blight is dry, late blight is greasy.", True, True),
        ("Blight spreads in rain.", False, False),
    ],
)
def test_what_two_parts_share_tells_neither(text: str, *, early: bool, late: bool) -> None:
    _, (first, second) = analysed("What is the difference between early blight and late blight?")
    sentence = ranked(text).sentence

    assert (speaks_of(sentence, first), speaks_of(sentence, second)) == (early, late)


def test_only_what_supports_and_speaks_of_a_part_is_evidence_for_it() -> None:
    _, (canola, _) = analysed("What soil suits canola and wheat?")
    near, far, other = ranked("Canola likes loam.", 0.6), ranked("Canola is yellow.", 0.1), ranked("Wheat likes clay.")

    assert evidence_of(canola, [near, other, far], rivals=[], supports=lambda one: one.fused > 0.2) == (near,)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Sow rye at 3 cm.", True),
        ("Rye | 3-4 | 6", True),
        ("Rye mulch of 6 t/ha hampers weeds.", False),
        ("Rye may go in up to 10 October.", False),
        ("Rye covers the ground.", False),
    ],
)
def test_where_a_number_is_asked_for_the_evidence_could_state_it(text: str, *, counts: bool) -> None:
    _, (_, rye) = analysed("What seeding depth for canola and rye?")

    assert bool(evidence_of(rye, [ranked(text)], rivals=[], supports=anything)) is counts


def test_for_a_clause_its_own_words_come_first() -> None:
    _, (_, harvest) = analysed("How deep should I sow canola, and when is it harvested?")
    telling, vague = ranked("Canola is harvested in July."), ranked("Canola is yellow.", 0.9)

    assert evidence_of(harvest, [vague, telling], rivals=[[]], supports=anything) == (telling,)


def test_a_clause_in_other_words_is_supported_by_what_answers_it_better_than_the_others() -> None:
    _, (_, harvest) = analysed("How deep should I sow canola, and when is it harvested?")
    own, shared = ranked("Combine canola in July.", 0.6), ranked("Sow canola in May.", 0.5)

    assert evidence_of(harvest, [own, shared], rivals=[[ranked("Sow canola in May.", 0.7)]], supports=anything) == (
        own,
    )


def covers(text: str, *, supported: list[bool]) -> tuple[Analysis, list[SubAnswer]]:
    analysis, parts = analysed(text)
    return analysis, [
        SubAnswer(part, (ranked(part.text),) if good else (), None if good else NO_EVIDENCE)
        for part, good in zip(parts, supported, strict=True)
    ]


def test_what_only_an_unsupported_part_names_is_no_longer_asked_for() -> None:
    analysis, found = covers("What depth for canola and wheat?", supported=[True, False])
    left = without_unsupported(analysis, found)

    assert [group[0].text for group in left.entities] == ["canola"]
    assert left.tags["crop"] == ("canola",)


@pytest.mark.parametrize("supported", [[True, True], [False, False]])
def test_a_question_with_all_or_no_parts_supported_stays_whole(supported: list[bool]) -> None:
    analysis, found = covers("What depth for canola and wheat?", supported=supported)

    assert without_unsupported(analysis, found) is analysis


def test_a_part_is_unsupported_without_evidence_or_when_none_of_it_is_quoted() -> None:
    _, found = covers("What depth for canola, wheat and corn?", supported=[True, True, False])
    quoted = {found[0].evidence[0].sentence.id}
    found[1] = SubAnswer(found[1].sub_question, (ranked("Wheat.", doc_id="b.md"),), None)

    assert unsupported_parts(found, quoted) == ("wheat", "corn")


def test_the_best_evidence_says_something_to_the_whole_question_too() -> None:
    _, parts = analysed("How can I tell early blight from late blight?")
    apart, alone = ranked("Early blight has rings, late blight none.", 0.6), ranked("Early blight.", 0.7, doc_id="b.md")
    cover = SubAnswer(parts[0], (alone, apart), None)

    assert best_for(cover, [apart]) == [apart.sentence.id, alone.sentence.id]
    assert best_for(cover, []) == [alone.sentence.id, apart.sentence.id]
