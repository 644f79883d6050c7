"""Selection: sentences that add to each other, none that misleads by what it leaves out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import engine_of
from quoth.answer.companions import companions_of
from quoth.answer.completion import complete
from quoth.answer.selection import (
    SentenceTests,
    diversify,
    one_of_each,
    redundancy,
    select,
    sentence_tests,
    worth_quoting,
)
from quoth.answer.whole_clauses import Parts
from quoth.domain.profile import load_profile
from quoth.protocols import PairReader
from quoth.search.question_analysis import analyse
from quoth.search.reading import SentenceReader
from quoth.settings import SelectionSettings, Settings
from quoth.types import (
    NO_FILTERS,
    Candidate,
    Evidence,
    Question,
    Quote,
    QuoteRole,
    Ranked,
    RegionKind,
    Sentence,
    Span,
    SubAnswer,
    SubQuestion,
    Vectors,
)

FROM_A_QUARTER = SentenceTests(lambda one: one.fused >= 0.25, lambda one: one.fused >= 0.1, lambda _one, _other: True)


def sentence(
    text: str, start: int = 0, *, section: tuple[str, ...] = (), kind: RegionKind = RegionKind.PARAGRAPH
) -> Sentence:
    return Sentence(
        "a.md", Quote(Span(start, start + len(text)), text), kind, section, lead=None, page=None, ocr=None, tags={}
    )


def in_a_row(*texts: str) -> list[Sentence]:
    return [sentence(text, 100 * place) for place, text in enumerate(texts)]


class Page:
    """Sentences in reading order, with the parts and the background that they are given."""

    def __init__(
        self,
        sentences: Sequence[Sentence] = (),
        *,
        parts: Mapping[str, Parts] | None = None,
        background: Sequence[Sentence] = (),
    ) -> None:
        self._sentences = list(sentences)
        self._parts = parts or {}
        self._background = background

    def beside(self, one: Sentence) -> tuple[Sentence | None, Sentence | None]:
        place = self._sentences.index(one) if one in self._sentences else len(self._sentences)
        before = self._sentences[place - 1] if 0 < place < len(self._sentences) else None
        after = self._sentences[place + 1] if place + 1 < len(self._sentences) else None
        return before, after

    def neighbours(self, sentences: Sequence[Sentence]) -> list[tuple[Sentence | None, Sentence | None]]:
        return [self.beside(one) for one in sentences]

    def parts(self, one: Sentence) -> Parts:
        return self._parts.get(one.id, Parts((), ()))

    def background(self, one: Sentence) -> Sequence[Sentence]:
        return self._background


def completed(
    chosen: Sequence[Ranked], page: Page, *, sure: int, limit: int, answers: Collection[str] = ()
) -> tuple[Evidence, ...]:
    return complete(chosen, page, also={}, relevance={}, answers=answers, sure=sure, limit=limit)


def only_here(one: Sentence) -> tuple[Sentence, ...]:
    return (one,)


def ranked(one: Sentence, score: float, *, row: int = 0, order: float | None = None) -> Ranked:
    candidate = Candidate(one, score, score, ("lexical",), b"")
    return Ranked(candidate, row, score, score, score if order is None else order, None)


def scored(*scores: float) -> list[Ranked]:
    """Sentences that share nothing, each with its own row."""
    return [ranked(sentence("Sow.", 100 * row), score, row=row) for row, score in enumerate(scores)]


def at_angles(*cosines: float) -> Vectors:
    """A first vector, and others with these cosines to it that are at right angles to each other otherwise."""
    vectors = np.zeros((len(cosines) + 1, len(cosines) + 1), dtype=np.float32)
    vectors[0, 0] = 1
    for row, cosine in enumerate(cosines, 1):
        vectors[row, 0], vectors[row, row] = cosine, np.sqrt(1 - cosine**2)
    return vectors


def rows(chosen: Sequence[Ranked]) -> list[int]:
    return [one.row for one in chosen]


def test_unlike_sentences_are_chosen_best_first() -> None:
    found = diversify(scored(0.9, 0.8, 0.7), at_angles(0, 0), first=[], settings=SelectionSettings())

    assert rows(found) == [0, 1, 2]


def test_what_is_too_much_alike_is_left_out() -> None:
    found = diversify(scored(0.9, 0.8, 0.7), at_angles(0.83, 0.1), first=[], settings=SelectionSettings())

    assert rows(found) == [0, 2]


@pytest.mark.parametrize(("cosine", "kept"), [(0.8199, [0, 1]), (0.8201, [0])])
def test_the_bar_of_likeness_lies_at_82_hundredths(cosine: float, kept: list[int]) -> None:
    assert rows(diversify(scored(0.9, 0.8), at_angles(cosine), first=[], settings=SelectionSettings())) == kept


def test_a_better_sentence_never_gives_way_to_a_worse_one_that_is_less_alike() -> None:
    vectors = at_angles(0.80, 0.0)

    assert rows(diversify(scored(0.9, 0.8, 0.6), vectors, first=[], settings=SelectionSettings())) == [0, 1, 2]


def test_among_sentences_that_support_equally_the_one_that_adds_most_comes_first() -> None:
    vectors = at_angles(0.80, 0.0)

    assert rows(diversify(scored(0.9, 0.8, 0.79), vectors, first=[], settings=SelectionSettings())) == [0, 2, 1]
    by_score_alone = SelectionSettings(mmr_lambda=1.0)
    assert rows(diversify(scored(0.9, 0.8, 0.79), vectors, first=[], settings=by_score_alone)) == [0, 1, 2]


def test_no_more_are_chosen_than_allowed() -> None:
    settings = SelectionSettings(max_sentences=2)

    assert rows(diversify(scored(0.9, 0.8, 0.7), at_angles(0, 0), first=[], settings=settings)) == [0, 1]


def test_the_order_score_decides_what_is_chosen_first() -> None:
    plain, boosted = scored(0.9, 0.8)
    boosted = ranked(boosted.sentence, 0.8, row=1, order=0.95)

    assert rows(diversify([boosted, plain], at_angles(0), first=[], settings=SelectionSettings())) == [1, 0]


def test_equal_sentences_keep_their_order() -> None:
    assert rows(diversify(scored(0.5, 0.5), at_angles(0), first=[], settings=SelectionSettings())) == [0, 1]


def test_what_is_far_behind_the_best_is_not_quoted_to_fill_up() -> None:
    assert rows(worth_quoting(scored(1.0, 0.6, 0.59), min_share=0.6)) == [0, 1]


def test_what_is_worth_quoting_keeps_its_order() -> None:
    low, high = scored(0.8, 1.0)

    assert rows(worth_quoting([low, high], min_share=0.6)) == [0, 1]


def test_nothing_is_worth_quoting_where_nothing_supports() -> None:
    assert worth_quoting([], min_share=0.6) == []


@pytest.mark.parametrize(
    "taking_back",
    [
        "However, not in clay.",
        "However not in clay.",
        "Except in clay.",
        "Unless it rains.",
        "Provided that it rains.",
        "Provided, however, that it rains.",
        "Notwithstanding the above, roll.",
        "But not in clay.",
        "Otherwise roll.",
        "This does not apply to clay.",
        "— however, not in clay.",
    ],
)
def test_a_sentence_comes_with_the_one_that_takes_it_back(taking_back: str) -> None:
    main, after = in_a_row("Sow at 2.5 cm.", taking_back)

    assert companions_of(main, Page([main, after]).beside) == ([after], [])


@pytest.mark.parametrize("after", ["Butter is dear.", "Yeti live there.", "Roll, however.", "Exceptional yields."])
def test_a_sentence_that_goes_on_is_no_companion(after: str) -> None:
    main, other = in_a_row("Sow at 2.5 cm.", after)

    assert companions_of(main, Page([main, other]).beside) == ([], [])


@pytest.mark.parametrize("opening", ["It", "This", "They", "These", "Such", "The latter", "Both", "“It"])
def test_a_sentence_comes_with_the_one_it_refers_to(opening: str) -> None:
    before, main = in_a_row("Canola is small.", f"{opening} must be sown shallow.")

    assert companions_of(main, Page([before, main]).beside) == ([], [before])


@pytest.mark.parametrize("main", ["Italy grows rice.", "This Agreement ends.", "Thistles grow.", "The crop grows."])
def test_a_sentence_that_names_its_subject_needs_no_companion(main: str) -> None:
    before, one = in_a_row("Canola is small.", main)

    assert companions_of(one, Page([before, one]).beside) == ([], [])


def test_a_sentence_can_have_a_companion_on_either_side() -> None:
    before, main, after = in_a_row("Canola is small.", "It is sown shallow.", "However, not in sand.")

    assert companions_of(main, Page([before, main, after]).beside) == ([after], [before])


def test_a_companion_is_never_from_another_section() -> None:
    main = sentence("Sow.", section=("Wheat",))
    after = sentence("However, not here.", 100, section=("Rice",))

    assert companions_of(main, Page([main, after]).beside) == ([], [])


@pytest.mark.parametrize("kind", [RegionKind.HEADING, RegionKind.TABLE_ROW, RegionKind.CODE])
def test_a_companion_is_always_prose(kind: RegionKind) -> None:
    before, main = sentence("Canola", kind=kind), sentence("It is small.", 100)

    assert companions_of(main, Page([before, main]).beside) == ([], [])


def test_a_companion_follows_its_sentence_and_names_it() -> None:
    main, after, other = in_a_row("Sow.", "However, roll.", "Harvest.")
    evidence = completed([ranked(main, 0.9), ranked(other, 0.8)], Page([main, after, other]), sure=1, limit=6)

    assert [(one.sentence, one.companion_of, one.score) for one in evidence] == [
        (main, None, 0.9),
        (after, main.id, 0.9),
        (other, None, 0.8),
    ]


def test_a_sentence_is_listed_once_even_if_it_is_chosen_and_a_companion() -> None:
    main, after = in_a_row("Sow.", "However, roll.")
    evidence = completed([ranked(main, 0.9), ranked(after, 0.8)], Page([main, after]), sure=1, limit=6)

    assert [one.sentence for one in evidence] == [main, after]


def test_a_sentence_whose_companion_does_not_fit_is_left_out() -> None:
    first, main, after, last = in_a_row("Sow.", "Roll.", "However, not in clay.", "Harvest.")
    page = Page([first, main, after, last])
    evidence = completed([ranked(first, 0.9), ranked(main, 0.8), ranked(last, 0.7)], page, sure=1, limit=2)

    assert [one.sentence for one in evidence] == [first, last]


def test_what_takes_the_first_sentence_back_comes_even_beyond_the_limit() -> None:
    before, main, after = in_a_row("Fences are walls.", "They may be 2 m high.", "However, not at corners.")
    evidence = completed([ranked(main, 0.9)], Page([before, main, after]), sure=1, limit=1)

    assert [one.sentence for one in evidence] == [main, after]


def test_the_sentence_referred_to_gives_way_to_the_one_that_takes_back() -> None:
    before, main, after = in_a_row("Fences are walls.", "They may be 2 m high.", "However, not at corners.")
    evidence = completed([ranked(main, 0.9)], Page([before, main, after]), sure=1, limit=2)

    assert [one.sentence for one in evidence] == [main, after]


def test_one_sentence_is_chosen_for_each_part() -> None:
    found = scored(0.9, 0.8, 0.7)
    ids = [one.sentence.id for one in found]

    assert rows(one_of_each(found, [[ids[2]], [ids[1], ids[0]]])) == [2, 1]
    assert rows(one_of_each(found, [["b.md:0-4"], [ids[1]]])) == [1]


def test_a_sentence_that_serves_two_parts_stands_for_both() -> None:
    found = scored(0.9, 0.8)
    ids = [one.sentence.id for one in found]

    assert rows(one_of_each(found, [[ids[0]], [ids[1], ids[0]]])) == [0]


def test_what_a_part_needs_is_quoted_however_weak_and_alike_it_is() -> None:
    found = tuple(scored(0.9, 0.85, 0.3))
    selection = select(
        found,
        at_angles(0.9, 0.9),
        tests=FROM_A_QUARTER,
        sub_evidence=[[found[0].sentence.id], [found[2].sentence.id]],
        places=only_here,
        clauses=Page(),
        settings=SelectionSettings(),
    )

    assert [one.sentence for one in selection.evidence] == [found[0].sentence, found[2].sentence]


def test_no_companion_crowds_out_what_a_part_needs() -> None:
    first, after, other, last = in_a_row("Sow.", "However, not in clay.", "It is late.", "Roll.")
    page = Page([first, after, other, last])
    evidence = completed([ranked(first, 0.9), ranked(other, 0.8)], page, sure=2, limit=2)

    assert [one.sentence for one in evidence] == [first, after, other]


def test_redundancy_is_the_mean_cosine_between_each_two() -> None:
    assert redundancy(at_angles(0.5)) == 0.5
    assert redundancy(at_angles(0.6, 0.3)) == round((0.6 + 0.3 + 0.6 * 0.3) / 3, 4)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_sentences_repeat_nothing(count: int) -> None:
    assert redundancy(at_angles()[:count]) == 0.0


def test_selection_reports_what_supports_and_how_alike_it_was() -> None:
    found = tuple(scored(0.9, 0.85, 0.8, 0.1))
    selection = select(
        found,
        at_angles(0.9, 0.0, 0.0),
        tests=FROM_A_QUARTER,
        sub_evidence=[],
        places=only_here,
        clauses=Page(),
        settings=SelectionSettings(),
    )

    assert [one.sentence for one in selection.evidence] == [found[0].sentence, found[2].sentence]
    assert selection.supporting == found[:3]
    assert selection.redundancy_before == 0.3
    assert selection.redundancy_after == 0.0


def test_context_complements_an_answer_until_there_is_enough() -> None:
    found = tuple(scored(0.9, 0.2, 0.05, 0.15, 0.12))
    selection = select(
        found,
        at_angles(0.0, 0.0, 0.0, 0.0),
        tests=FROM_A_QUARTER,
        sub_evidence=[],
        places=only_here,
        clauses=Page(),
        settings=SelectionSettings(min_support=3),
    )

    assert selection.supporting == found[:1]
    assert [(one.sentence, one.role) for one in selection.evidence] == [
        (found[0].sentence, QuoteRole.ANSWER),
        (found[1].sentence, QuoteRole.CONTEXT),
        (found[3].sentence, QuoteRole.CONTEXT),
    ]


def test_nothing_complements_an_answer_that_is_not_there() -> None:
    selection = select(
        tuple(scored(0.2, 0.15)),
        at_angles(0.0),
        tests=FROM_A_QUARTER,
        sub_evidence=[],
        places=only_here,
        clauses=Page(),
        settings=SelectionSettings(min_support=3),
    )

    assert selection.evidence == ()


@pytest.mark.parametrize(("score", "count"), [(0.25, 1), (0.2499, 0)])
def test_a_sentence_supports_from_the_support_score_on(score: float, count: int) -> None:
    selection = select(
        tuple(scored(score)),
        at_angles(),
        tests=FROM_A_QUARTER,
        sub_evidence=[],
        places=only_here,
        clauses=Page(),
        settings=SelectionSettings(),
    )

    assert (len(selection.supporting), len(selection.evidence)) == (count, count)


def test_support_is_counted_by_fused_score_whatever_the_order() -> None:
    boosted = ranked(sentence("Sow."), 0.2, order=1.0)
    selection = select(
        (boosted,),
        at_angles(),
        tests=FROM_A_QUARTER,
        sub_evidence=[],
        places=only_here,
        clauses=Page(),
        settings=SelectionSettings(),
    )

    assert selection.evidence == ()


@given(
    scores=st.lists(st.floats(0, 1), min_size=1, max_size=8),
    limit=st.integers(1, 6),
    seed=st.integers(0, 2**16),
)
def test_what_is_chosen_is_never_too_many_nor_too_much_alike(scores: list[float], limit: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).standard_normal((len(scores), 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    settings = SelectionSettings(max_sentences=limit)
    chosen = rows(diversify(scored(*scores), vectors, first=[], settings=settings))

    assert 1 <= len(chosen) <= limit
    assert len(set(chosen)) == len(chosen)
    assert all(
        vectors[one] @ vectors[other] <= settings.max_sim_threshold + 1e-6
        for one in chosen
        for other in chosen
        if one < other
    )


@pytest.mark.parametrize(
    ("scores", "supporting"),
    [
        ((0.3, 0.25, 0.1), [0.3]),  # the best one is for the confidence to judge
        ((0.9, 0.6, 0.45), [0.9, 0.6]),
        ((0.15, 0.1), []),
    ],
)
def test_every_sentence_but_the_best_must_be_likely_to_support(
    scores: tuple[float, ...], supporting: list[float]
) -> None:
    profile = load_profile("general")
    settings = Settings()
    engine = replace(
        engine_of(profile, settings, embedder=None),
        sentence_reader=SentenceReader(cast(PairReader, None), most=8, notes=()),
    )
    found = scored(*scores)
    analysis = analyse(Question("1", "How deep?", NO_FILTERS), profile=profile, settings=settings.retrieval)

    tests = sentence_tests(found, analysis, (), engine)

    assert [one.relevance for one in found if tests.supports(one)] == supporting


def test_the_best_sentence_of_a_part_supports_however_sure_another_part_is() -> None:
    profile, settings = load_profile("general"), Settings()
    engine = replace(
        engine_of(profile, settings, embedder=None),
        sentence_reader=SentenceReader(cast(PairReader, None), most=8, notes=()),
    )
    sure, less_sure, other = scored(0.9, 0.3, 0.3)
    analysis = analyse(Question("1", "How deep, and when?", NO_FILTERS), profile=profile, settings=settings.retrieval)
    parts = [SubAnswer(cast(SubQuestion, None), (item,), None) for item in (sure, less_sure)]

    tests = sentence_tests([sure, less_sure, other], analysis, parts, engine)

    assert [tests.supports(item) for item in (sure, less_sure, other)] == [True, True, False]


def test_a_list_comes_whole_even_beyond_the_limit() -> None:
    lead, first, second = in_a_row("Sow so:", "shallow;", "early.")
    page = Page([lead, first, second], parts={lead.id: Parts((first, second), ())})
    evidence = completed([ranked(lead, 0.9)], page, sure=1, limit=1, answers={lead.id})

    assert [(one.sentence, one.companion_of, one.role) for one in evidence] == [
        (lead, None, QuoteRole.ANSWER),
        (first, lead.id, QuoteRole.CONTEXT),
        (second, lead.id, QuoteRole.CONTEXT),
    ]


def test_a_clause_from_elsewhere_comes_only_where_it_fits() -> None:
    rule, exception = in_a_row("Sow in May.", "Rye is sown in fall, notwithstanding Section 1.")
    page = Page([rule, exception], parts={rule.id: Parts((), (exception,))})

    assert len(completed([ranked(rule, 0.9)], page, sure=1, limit=1)) == 1
    assert [one.companion_of for one in completed([ranked(rule, 0.9)], page, sure=1, limit=2)] == [None, rule.id]


def test_items_that_share_a_lead_stand_together() -> None:
    lead = Quote(Span(0, 7), "Sow so:")
    first, second = (replace(one, lead=lead) for one in in_a_row("shallow;", "early."))
    evidence = completed([ranked(second, 0.9), ranked(first, 0.8)], Page([first, second]), sure=1, limit=6)

    assert [(one.sentence, one.companion_of) for one in evidence] == [(second, None), (first, second.id)]


def test_the_sentences_around_an_answer_are_its_context_where_nothing_better_was_found() -> None:
    found = tuple(scored(0.9, 0.15, 0.05))
    around = sentence("Beside it.", 900)
    selection = select(
        found,
        at_angles(0.0, 0.0),
        tests=replace(FROM_A_QUARTER, complements=lambda one: one.fused >= 0.03),
        sub_evidence=[],
        places=only_here,
        clauses=Page(background=[around]),
        settings=SelectionSettings(min_support=3),
    )

    assert [one.sentence for one in selection.evidence] == [found[0].sentence, found[1].sentence, around]
    assert [one.role for one in selection.evidence] == [QuoteRole.ANSWER, QuoteRole.CONTEXT, QuoteRole.CONTEXT]


def test_equal_sentences_are_quoted_once_with_their_other_places() -> None:
    found = tuple(scored(0.9, 0.85, 0.8))
    here, there, other = (one.sentence for one in found)
    selection = select(
        found,
        at_angles(0.0, 0.0),
        tests=FROM_A_QUARTER,
        sub_evidence=[],
        places=lambda one: (there, here) if one in (here, there) else (one,),
        clauses=Page(),
        settings=SelectionSettings(),
    )

    assert [(one.sentence, one.also) for one in selection.evidence] == [(there, (here,)), (other, ())]
