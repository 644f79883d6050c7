"""`from quoth import Quoth`: the same engine for programs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from quoth import Abstention, Answer, Question, Quoth, QuothError, Reason, Status
from quoth.errors import NoIndex, QuestionError, SettingsError
from quoth.types import NO_FILTERS, Filters, Outcome

from .command_line import write_files
from .small_corpus import CANOLA, FILES, HALVORSEN, PROFILE, WHEAT, SmallCorpus

SETTINGS = {"embedding.model_name": "hash", "rerank.kind": "late"}


def _said(outcome: Outcome) -> str:
    match outcome:
        case Answer(citations=citations):
            return citations[0].sentence.text
        case Abstention(objection=objection):
            return objection.reason


def test_an_index_is_built_and_asked(tmp_path: Path) -> None:
    write_files(tmp_path / "fields", FILES)
    (tmp_path / "fields.yaml").write_text(PROFILE, encoding="utf-8")

    quoth = Quoth.build(
        tmp_path / "fields", index=tmp_path / "index", profile=str(tmp_path / "fields.yaml"), settings=SETTINGS
    )

    assert _said(quoth.ask(CANOLA)) == CANOLA
    assert _said(quoth.ask(HALVORSEN)) == Reason.UNKNOWN_ENTITY
    assert [document.id for document in quoth.documents()] == sorted(FILES)


def test_an_answer_carries_citations_that_slice_their_documents(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)

    outcome = quoth.ask(CANOLA)

    assert isinstance(outcome, Answer)
    for citation in outcome.citations:
        document = quoth.document(citation.sentence.doc_id)
        assert document is not None
        assert document.quote(citation.sentence.quote.span) == citation.sentence.text
        assert document.sha256 == citation.doc_sha256
        assert citation.sentence in quoth.sentences(document.id)


def test_a_search_is_kept_inside_documents_tags_and_types(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings={**SETTINGS, "decision.abstain": False})
    asked = "Sow wheat or canola into soil"

    def documents(outcome: Outcome) -> set[str]:
        assert isinstance(outcome, Answer)
        return {citation.sentence.doc_id for citation in outcome.citations}

    assert documents(quoth.ask(asked, filters=Filters(doc_ids=["wheat.md"]))) == {"wheat.md"}
    assert documents(quoth.ask(asked, filters=Filters(tags={"crop": "canola"}))) == {"canola.md"}
    assert documents(quoth.ask(asked, filters=Filters(document_types=["guide"]))) == {"canola.md"}


def test_a_wrong_place_question_or_setting_is_an_error_with_a_hint(small: SmallCorpus, tmp_path: Path) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)

    for wrong, kind in (
        (lambda: Quoth.open(tmp_path / "none"), NoIndex),
        (lambda: quoth.ask("?"), QuestionError),
        (lambda: Quoth.open(small.index, settings={"selection.bogus": 1}).ask("How deep?"), SettingsError),
    ):
        with pytest.raises(kind) as caught:
            wrong()
        assert isinstance(caught.value, QuothError)
        assert caught.value.hint


def test_threads_share_one(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)
    together = Barrier(8)

    def ask(question: str) -> Outcome:
        together.wait(timeout=60)
        return quoth.ask(question)

    questions = [CANOLA, WHEAT, HALVORSEN, "Aerate the bin every week."] * 2
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(ask, questions))

    assert outcomes == [quoth.ask(question) for question in questions]
    assert [_said(outcome) for outcome in outcomes[:3]] == [CANOLA, WHEAT, "unknown_entity"]


@pytest.mark.parametrize("workers", [1, 3])
def test_many_questions_come_back_in_their_order(small: SmallCorpus, workers: int) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)
    texts = [CANOLA, "?", WHEAT, HALVORSEN] * 10
    questions = [Question(str(number), text, NO_FILTERS) for number, text in enumerate(texts)]

    outcomes: list[Outcome | QuestionError] = []
    quoth.answer_each(iter(questions), lambda _, outcome: outcomes.append(outcome), workers=workers)

    answered = [None if isinstance(one, QuestionError) else one.question.id for one in outcomes]
    assert answered == [None if text == "?" else str(number) for number, text in enumerate(texts)]


def test_what_the_receiver_of_answers_raises_ends_the_work(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)
    delivered: list[str] = []

    def deliver(question: Question, _: Outcome | QuestionError) -> None:
        delivered.append(question.id)
        if question.id == "2":
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        quoth.answer_each((Question(str(n), WHEAT, NO_FILTERS) for n in range(10_000)), deliver, workers=2)
    assert delivered == ["0", "1", "2"]


def test_questions_that_stop_coming_end_the_work(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)

    def questions() -> list[Question]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quoth.answer_each((one for _ in range(1) for one in questions()), lambda *_: None, workers=2)


def test_an_open_one_answers_from_what_is_ingested_later(own: SmallCorpus) -> None:
    quoth = Quoth.open(own.index, settings=SETTINGS)
    before = quoth.info
    barley = "Sow barley at 3 cm before April."
    assert _said(quoth.ask(barley)) != barley

    write_files(own.folder, {"barley.md": f"# Barley\n\n{barley}\n"})
    Quoth.build(own.folder, index=own.index, settings=SETTINGS)

    assert _said(quoth.ask(barley)) == barley
    assert quoth.info.generation == before.generation + 1
    assert quoth.info.digest != before.digest


def test_filters_are_given_in_one_place(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)

    with pytest.raises(TypeError, match="filters of its own"):
        quoth.ask(Question("1", WHEAT, NO_FILTERS), filters=Filters(doc_ids=["canola.md"]))


def test_a_follow_up_leans_on_the_questions_before(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)
    before = "Do we sow canola at 2.5 cm into moist soil?"
    meant = "Why do we sow canola at 2.5 cm into moist soil?"
    leaning = quoth.ask("why?", previous=before)

    assert (leaning.question.text, leaning.understood) == ("why?", meant)
    assert leaning == quoth.ask("why?", previous=[before])
    assert _said(leaning) == _said(quoth.ask(meant))
    assert quoth.ask(meant, previous=before).understood is None
    assert quoth.ask("why?").understood is None
    with pytest.raises(TypeError, match="previous questions"):
        quoth.ask(Question("1", "why?", NO_FILTERS), previous=before)


def test_one_document_may_be_named_without_a_list(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)

    assert quoth.ask(WHEAT, filters=Filters(doc_ids="wheat.md")) == quoth.ask(
        WHEAT, filters=Filters(doc_ids=["wheat.md"])
    )
    assert isinstance(quoth.ask(WHEAT, filters=Filters(doc_ids="wheat.md")), Answer)


def test_passages_are_retrieved_with_a_context(small: SmallCorpus) -> None:
    found = Quoth.open(small.index, settings=SETTINGS).retrieve(CANOLA, filters=Filters(doc_ids="canola.md"))

    assert found.status is Status.SUCCESS
    assert found.passages[0].content in small.source("canola.md")
    assert found.context.text.startswith("[SOURCE 1]\nDocument: Canola\n")


def test_a_question_has_its_own_day(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=SETTINGS)

    with pytest.raises(TypeError, match="filters of its own"):
        quoth.retrieve(Question("1", CANOLA, NO_FILTERS), filters=Filters(as_of="2021-01-01"))
    with pytest.raises(QuestionError, match="is no day"):
        quoth.retrieve(CANOLA, filters=Filters(as_of="21/1/2021"))


def test_a_result_is_kept_and_given_again(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings={**SETTINGS, "cache.memory_mb": 7})
    stages: list[str] = []
    first = quoth.explain_retrieval(CANOLA, done=stages.append)
    assert "search" in stages
    stages.clear()
    again = quoth.explain_retrieval(Question("other id", CANOLA, NO_FILTERS), done=stages.append)

    assert stages == ["cache"]
    assert again.retrieval.question.id == "other id"
    assert again.retrieval.passages == first.retrieval.passages
    assert again.retrieval.context == first.retrieval.context


def test_other_filters_settings_or_days_are_other_results(small: SmallCorpus) -> None:
    values = {**SETTINGS, "cache.memory_mb": 8}
    quoth = Quoth.open(small.index, settings=values)
    stages: list[str] = []
    quoth.retrieve(CANOLA)
    quoth.explain_retrieval(CANOLA, filters=Filters(doc_ids="canola.md"), done=stages.append)
    quoth.explain_retrieval(CANOLA, filters=Filters(as_of="2020-01-01"), done=stages.append)
    quoth.explain_retrieval(CANOLA, most=1, done=stages.append)
    Quoth.open(small.index, settings={**values, "rerank.topk": 7}).explain_retrieval(CANOLA, done=stages.append)

    assert "cache" not in stages


def test_an_ingest_never_leaves_a_stale_result_behind(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "fields", {"a.md": "# Canola\n\nSow canola at 2 cm.\n"})
    values = {**SETTINGS, "cache.memory_mb": 9}
    quoth = Quoth.build(folder, index=tmp_path / "index", settings=values)
    assert "2 cm" in quoth.retrieve("How deep to sow canola?").context.text

    write_files(folder, {"a.md": "# Canola\n\nSow canola at 3 cm.\n"})
    Quoth.build(folder, index=tmp_path / "index", settings=values)

    assert "3 cm" in quoth.retrieve("How deep to sow canola?").context.text
