"""Each check alone: what it objects to, what it lets pass; and the order of the policy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from quoth.answer.decision import (
    CHECKS,
    Case,
    decide,
    insufficient_support,
    is_sure,
    low_confidence,
    no_results,
    superseded_only,
    ungrounded_number,
    unknown_entity,
)
from quoth.answer.doubts import ONE_PAGE, Sources, doubts_of
from quoth.documents.files import SourceFile
from quoth.documents.split_document import ExtractedFile, split_document
from quoth.domain.profile import load_profile
from quoth.language.words import fold, singular
from quoth.protocols import Reader
from quoth.search.question_analysis import analyse
from quoth.search.unused_words import with_unused_words
from quoth.settings import RetrievalSettings
from quoth.types import (
    NO_FILTERS,
    Candidate,
    Confidence,
    Evidence,
    Extract,
    Filters,
    IndexInfo,
    ModelIdentity,
    Objection,
    Question,
    Quote,
    QuoteRole,
    Ranked,
    Reason,
    RegionKind,
    Selection,
    Sentence,
    Span,
    SplitDocument,
)

GENERAL = load_profile("general")
FILLER = "Nothing of note happened here. " * (ONE_PAGE // 30 + 1)


class Library:
    """All that the checks ask of a reader: in how many sentences the words of a term stand together."""

    missing: tuple[str, ...] = ()
    info = IndexInfo(3, 1, "", ModelIdentity("fake", "1", "fp32", 8), "general", "", 1, 1)

    def __init__(self, documents: Sequence[SplitDocument]) -> None:
        self._sentences = [fold(sentence.text) for document in documents for sentence in document.sentences]

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: sum(self._holds(one, term) for one in self._sentences) for term in terms}

    @staticmethod
    def _holds(sentence: str, term: str) -> bool:
        words = {singular(word) for word in re.findall(r"\w+", sentence)}
        return {singular(word) for word in re.findall(r"\w+", fold(term))} <= words


def case(
    question: str = "How deep?",
    *,
    documents: Mapping[str, str] | None = None,
    quotes: Sequence[tuple[str, str]] = (),
    supporting: int | None = None,
    confidence: float = 0.9,
    filters: Filters = NO_FILTERS,
    profile: str = "general",
    sure: bool = False,
) -> Case:
    """A case over a library of `documents`, in which `quotes` (document id, text) were selected."""
    texts = {"a.md": "Sow at 2.5 cm."} if documents is None else documents
    library = {doc_id: _split(doc_id, text) for doc_id, text in texts.items()}
    quoted = [_sentence(doc_id, texts[doc_id], text) for doc_id, text in quotes]
    evidence = tuple(Evidence(one, 0.9, None, QuoteRole.ANSWER, ()) for one in quoted)
    ranked = tuple(Ranked(Candidate(one.sentence, 0.9, 0.9, (), b""), 0, 0.9, 0.9, 0.9, None) for one in evidence)
    analysis = analyse(Question("1", question, filters), profile=load_profile(profile), settings=RetrievalSettings())
    sources = Sources(
        quoted=tuple(one.sentence for one in evidence),
        documents=tuple(library[doc_id].document for doc_id in dict.fromkeys(doc_id for doc_id, _ in quotes)),
        reader=cast(Reader, Library(list(library.values()))),
    )
    analysis = with_unused_words(analysis, sources.reader)
    return Case(
        analysis=analysis,
        ranked=ranked,
        selection=Selection(evidence, (), ranked if supporting is None else ranked[:1] * supporting, 0.0, 0.0),
        confidence=confidence,
        min_support=3,
        threshold=0.30,
        sources=sources,
        doubts=doubts_of(analysis, sources),
        sure=sure,
    )


def _split(doc_id: str, text: str) -> SplitDocument:
    file = SourceFile(doc_id, Path(doc_id), Path(), "markdown")
    extract = Extract(text, None, (), (), {}, ())
    return split_document(ExtractedFile(file, "", "utf-8", "", extract, fields={}, fingerprint=""), GENERAL)


def _sentence(doc_id: str, document: str, text: str) -> Sentence:
    start = document.index(text)
    section = tuple(line.removeprefix("# ") for line in document[:start].splitlines() if line.startswith("# "))[-1:]
    quote = Quote(Span(start, start + len(text)), text)
    return Sentence(doc_id, quote, RegionKind.PARAGRAPH, section, lead=None, page=None, ocr=None, tags={})


def reason(objection: Objection | None) -> str | None:
    return objection.reason if objection else None


def test_a_sure_answer_outweighs_the_doubt_about_a_name_but_not_about_a_number() -> None:
    question, quotes = "What is sown at 8 cm in Eskişehir?", [("a.md", "Sow at 2.5 cm.")]
    given = case(question, quotes=quotes, confidence=0.31, sure=True)
    refused = case(question, quotes=quotes, confidence=0.29, sure=True)
    unsure = case(question, quotes=quotes, confidence=0.99, sure=False)

    assert unknown_entity(given) is None
    assert all(reason(unknown_entity(doubted)) == Reason.UNKNOWN_ENTITY for doubted in (refused, unsure))
    assert all(reason(ungrounded_number(asked)) == Reason.UNGROUNDED_NUMBER for asked in (given, refused, unsure))


@pytest.mark.parametrize("word", ["caspofungin", "Caspofungin", "CASPOFUNGIN"])
def test_a_strange_word_objects_below_a_sure_confidence_in_any_case(word: str) -> None:
    asked = partial(case, f"How much {word} is sown?", quotes=[("a.md", "Sow at 2.5 cm.")])
    objection = Objection(Reason.UNKNOWN_ENTITY, f"'{word}' is not mentioned in the corpus.")

    assert unknown_entity(asked(confidence=0.31, sure=False)) == objection
    assert unknown_entity(asked(confidence=0.29, sure=True)) == objection
    assert unknown_entity(asked(confidence=0.31, sure=True)) is None


def test_a_word_of_english_that_is_never_used_is_only_named_where_the_answer_is_unlikely() -> None:
    asked = partial(case, "How are vineyards and orchards sown behind the house?", quotes=[("a.md", "Sow at 2.5 cm.")])
    detail = "'vineyards' and 'orchards' are not mentioned in the corpus."

    assert unknown_entity(asked(confidence=0.31)) is None
    assert unknown_entity(asked(confidence=0.29)) == Objection(Reason.UNKNOWN_ENTITY, detail)


def test_an_opposite_is_named_below_a_sure_confidence() -> None:
    question, text = "What is the maximum depth?", "The minimum depth is 2 cm."
    asked = partial(case, question, documents={"a.md": text}, quotes=[("a.md", text)], confidence=0.31)
    detail = "The question says 'maximum' where the evidence says 'minimum'."

    assert low_confidence(asked(sure=True)) is None
    assert low_confidence(asked(sure=False)) == Objection(Reason.LOW_CONFIDENCE, detail)


@pytest.mark.parametrize(
    ("value", "terms", "sure"), [(0.8, {"support": 1.0}, True), (0.79, {"support": 1.0}, False), (0.9, {}, False)]
)
def test_only_a_high_probability_is_sure(value: float, terms: dict[str, float], *, sure: bool) -> None:
    assert is_sure(Confidence(value, {}, terms)) is sure


def test_an_empty_hand_is_no_result() -> None:
    assert no_results(case()) == Objection(Reason.NO_RESULTS, "Nothing in the corpus comes near this question.")


def test_an_empty_hand_is_put_down_to_the_filters_where_there_are_any() -> None:
    said = no_results(case(filters=Filters(("b.md",), {}, (), None, None)))

    assert said == Objection(Reason.NO_RESULTS, "No sentence of the corpus passes the filters of the question.")


def test_anything_in_hand_is_a_result() -> None:
    assert no_results(case(quotes=[("a.md", "Sow at 2.5 cm.")])) is None


@pytest.mark.parametrize(
    ("question", "presumed"),
    [
        ("What is sown in Eskişehir?", "'Eskişehir'"),
        ("What did Ivan Smith sow?", "'Ivan Smith'"),
        ("What was sown in 1994?", "'1994'"),
        ("What was sown on March 5, 2021?", "'March 5, 2021'"),
        ("Is MON-810 sown?", "'MON-810'"),
        ('What is a "green bridge"?', "'green bridge'"),
    ],
)
def test_something_that_the_corpus_never_mentions_is_named(question: str, presumed: str) -> None:
    objection = unknown_entity(case(question, quotes=[("a.md", "Sow at 2.5 cm.")]))

    assert objection == Objection(Reason.UNKNOWN_ENTITY, f"{presumed} is not mentioned in the corpus.")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is sown in Eskisehir?", "In Eskişehir canola is sown."),
        ("What did the Deeres build?", "Deere built tractors."),
        ("What was sown in 1994?", "In 1994 canola was sown."),
        ("What was sown on March 5, 2021?", "On 5 March 2021 canola was sown."),
        ("What happened on April 1, 2022?", "---\neffective_date: 2022-04-01\n---\n\nCanola was sown."),
        ("What does the Fence Policy say?", "---\ntitle: Fence Policy\n---\n\nCanola was sown."),
        ("Is MON-810 sown?", "MON 810 is sown."),
        ("What is sown?", "Canola is sown."),
        ("How Deep Should Canola Be Sown?", "Sow canola at 2 cm."),
    ],
)
def test_something_that_the_document_mentions_passes(question: str, text: str) -> None:
    quote = text.rsplit("\n", maxsplit=1)[-1]

    assert unknown_entity(case(question, documents={"a.md": text}, quotes=[("a.md", quote)])) is None


@pytest.mark.parametrize(
    ("question", "text", "profile"),
    [
        ("How deep is maize sown?", "Sow corn at 5 cm.", "agriculture"),
        ("How deep is corn sown?", "Sow zea mays at 5 cm.", "agriculture"),
        ("What may the HOA decide?", "The association decides.", "governance"),
    ],
)
def test_another_name_of_the_same_thing_passes(question: str, text: str, profile: str) -> None:
    documents = {"a.md": text}

    assert unknown_entity(case(question, documents=documents, quotes=[("a.md", text)], profile=profile)) is None


@pytest.mark.parametrize("crop", ["rice", "barley", "rye"])
def test_a_crop_that_the_corpus_does_not_cover_is_named(crop: str) -> None:
    documents = {"a.md": "Sow ryegrass and corn. The price is high."}
    quotes = [("a.md", "The price is high.")]
    said = unknown_entity(case(f"How is {crop} sown?", documents=documents, quotes=quotes, profile="agriculture"))

    assert said is not None
    assert said.detail == f"'{crop}' is not mentioned in the corpus."


def test_the_id_of_the_document_counts_as_a_mention() -> None:
    documents = {"eskisehir.md": "Sow at 2.5 cm."}

    assert unknown_entity(case("What of Eskişehir?", documents=documents, quotes=[(*documents.items(),)[0]])) is None


def test_a_long_document_must_mention_it_itself() -> None:
    documents = {"a.md": "Sow at 2.5 cm. " + FILLER, "b.md": "In Eskişehir it rains."}
    objection = unknown_entity(case("What of Eskişehir?", documents=documents, quotes=[("a.md", "Sow at 2.5 cm.")]))

    assert objection is not None
    assert objection.detail == "'Eskişehir' is not mentioned in the documents that come nearest."


def test_a_page_leaves_its_setting_unsaid_so_the_corpus_is_asked() -> None:
    documents = {"a.md": "Sow at 2.5 cm.", "b.md": "In Eskişehir it rains."}

    assert unknown_entity(case("What of Eskişehir?", documents=documents, quotes=[("a.md", "Sow at 2.5 cm.")])) is None


def test_a_term_made_of_words_that_a_long_document_uses_is_no_stranger() -> None:
    documents = {
        "a.md": "A bridge was built. " + FILLER + "The grass is green.",
        "b.md": "The Green Bridge carries disease.",
    }
    quotes = [("a.md", "A bridge was built.")]

    assert unknown_entity(case("What of the Green Bridge?", documents=documents, quotes=quotes)) is None


def test_one_of_the_quoted_documents_is_enough() -> None:
    documents = {"a.md": "Sow at 2.5 cm. " + FILLER, "b.md": "In Eskişehir it rains. " + FILLER}
    quotes = [("a.md", "Sow at 2.5 cm."), ("b.md", "In Eskişehir it rains.")]

    assert unknown_entity(case("What of Eskişehir?", documents=documents, quotes=quotes)) is None


@pytest.mark.parametrize(
    ("text", "quote", "cut"),
    [
        ("Sow at 2.5 cm. Roll.", "5 cm.", "2.5 cm."),
        ("Sow at 2.5 cm. Roll.", "Sow at 2", "2.5 cm."),
        ("Sow at 2.5 cm. Roll.", "Sow at 2.5", "2.5 cm."),
        ("Use 1,250 kg/ha here.", "250 kg/ha here.", "1,250 kg/ha"),
        ("Use 1,250 kg/ha here.", "Use 1,250 kg", "1,250 kg/ha"),
        ("Keep pH 6.0-7.0 there.", "Keep pH 6.0", "pH 6.0-7.0"),
        ("Sow 1 1/2 inches deep.", "1/2 inches deep.", "1 1/2 inches"),
        ("It fell to -5 °C there.", "5 °C there.", "-5 °C"),
    ],
)
def test_a_quantity_cut_from_its_place_is_caught(text: str, quote: str, cut: str) -> None:
    objection = ungrounded_number(case(documents={"a.md": text}, quotes=[("a.md", quote)]))

    assert objection == Objection(Reason.UNGROUNDED_NUMBER, f"The quote would cut '{cut}' in a.md.")


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Sow at 2.5 cm. Roll.", "Sow at 2.5 cm."),
        ("Sow at 2.5 cm. Roll.", "Roll."),
        ("Sow at 5 in. Roll in 3 days.", "Roll in 3 days."),
        ("Rows: 10\n- 5 cm apart", "Rows: 10"),
        ("Sow in 2019. 5 cm is deep.", "5 cm is deep."),
    ],
)
def test_a_whole_sentence_cuts_nothing(text: str, quote: str) -> None:
    assert ungrounded_number(case(documents={"a.md": text}, quotes=[("a.md", quote)])) is None


def test_a_quantity_that_the_question_presumes_and_no_source_states_is_named() -> None:
    objection = ungrounded_number(case("Why sow at 8 cm?", quotes=[("a.md", "Sow at 2.5 cm.")]))

    assert objection == Objection(Reason.UNGROUNDED_NUMBER, "The question presumes '8 cm', which no source states.")


@pytest.mark.parametrize(
    "question",
    ["Why sow at 2.5 cm?", "Why sow at 25 mm?", "Why sow at 1 in?", "Why sow?", "May I sow at 8 cm?", "Why 8 times?"],
)
def test_a_quantity_that_is_stated_in_any_unit_or_only_asked_about_passes(question: str) -> None:
    assert ungrounded_number(case(question, quotes=[("a.md", "Sow at 2.5 cm.")])) is None


def test_a_quantity_stated_elsewhere_in_a_quoted_document_passes_if_that_is_short() -> None:
    short = "Sow now.\n\nThe depth is 8 cm."
    long = short + "\n\nSow late." * 300

    quotes = [("a.md", "Sow now.")]
    assert ungrounded_number(case("Why sow at 8 cm?", documents={"a.md": short}, quotes=quotes)) is None
    assert ungrounded_number(case("Why sow at 8 cm?", documents={"a.md": long}, quotes=quotes)) is not None


def test_a_unit_that_measures_nothing_in_the_evidence_is_named() -> None:
    text = "Corn needs 150 lb of nitrogen per acre."

    def said(question: str) -> Objection | None:
        return ungrounded_number(case(question, documents={"a.md": text}, quotes=[("a.md", text)]))

    detail = "The question asks for gallons, and no evidence speaks of any."
    assert said("How many gallons does corn need?") == Objection(Reason.UNGROUNDED_NUMBER, detail)
    assert said("How many pounds does corn need?") is None


@pytest.mark.parametrize(
    ("quotes", "supporting", "detail"),
    [
        (3, 0, "No sentence that was found supports an answer by itself."),
        (2, 2, "Only 2 of the 3 sentences that an answer needs were found."),
        (2, 1, "Only 2 of the 3 sentences that an answer needs were found."),
        (3, 1, None),
        (4, 4, None),
    ],
)
def test_quotes_of_either_role_are_counted_if_one_of_them_supports(
    quotes: int, supporting: int, detail: str | None
) -> None:
    objection = insufficient_support(case(quotes=[("a.md", "Sow at 2.5 cm.")] * quotes, supporting=supporting))

    assert objection == (Objection(Reason.INSUFFICIENT_SUPPORT, detail) if detail else None)


@pytest.mark.parametrize(("confidence", "objects"), [(0.0, True), (0.2999, True), (0.30, False), (1.0, False)])
def test_confidence_below_the_threshold_is_too_low(confidence: float, *, objects: bool) -> None:
    said = low_confidence(case(confidence=confidence))

    assert reason(said) == ("low_confidence" if objects else None)


def test_low_confidence_says_what_was_needed() -> None:
    said = low_confidence(case(confidence=0.1))

    assert said is not None
    assert said.detail == "The confidence is 0.10; 0.30 is needed."


REPLACED = "---\nsuperseded_by: b.md\n---\n\nFences: 6 feet."
IN_PART = (
    "---\nsuperseded_by: [{section: Fences, by: b.md}]\n---\n\n# Fences\n\nFences: 6 feet.\n\n# Sheds\n\nOne shed.\n"
)


@pytest.mark.parametrize(
    ("documents", "quotes", "objects"),
    [
        ({"a.md": REPLACED}, [("a.md", "Fences: 6 feet.")], True),
        ({"a.md": REPLACED, "b.md": "Now 8 feet."}, [("a.md", "Fences: 6 feet."), ("b.md", "Now 8 feet.")], False),
        ({"a.md": IN_PART}, [("a.md", "Fences: 6 feet.")], True),
        ({"a.md": IN_PART}, [("a.md", "One shed.")], False),
        ({"a.md": IN_PART}, [("a.md", "Fences: 6 feet."), ("a.md", "One shed.")], False),
        ({"a.md": REPLACED}, [], False),
    ],
)
def test_only_replaced_sentences_are_no_answer(
    documents: dict[str, str], quotes: list[tuple[str, str]], *, objects: bool
) -> None:
    said = superseded_only(case(documents=documents, quotes=quotes))

    assert reason(said) == ("superseded_only" if objects else None)


def test_the_policy_is_in_order_and_names_each_check_by_its_reason() -> None:
    assert list(CHECKS) == [
        "no_results",
        "unknown_entity",
        "ungrounded_number",
        "insufficient_support",
        "low_confidence",
        "superseded_only",
    ]


def test_every_check_is_asked_and_the_first_objection_comes_first() -> None:
    said = decide(
        case("Why does Smith sow at 8 cm?", documents={"a.md": REPLACED}, quotes=[("a.md", "Fences: 6 feet.")],
             supporting=0, confidence=0.0)
    )  # fmt: skip

    assert [reason(one) for _, one in said] == [
        None,
        "unknown_entity",
        "ungrounded_number",
        "insufficient_support",
        "low_confidence",
        "superseded_only",
    ]


def test_a_good_case_passes_every_check() -> None:
    said = decide(case(quotes=[("a.md", "Sow at 2.5 cm.")] * 3))

    assert [one for _, one in said] == [None] * 6
