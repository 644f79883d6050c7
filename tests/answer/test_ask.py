"""The read path, with real parts: verified quotes, or an abstention that says why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engines import engine_of
from quoth.answer.ask import ask
from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.domain.profile import load_profile
from quoth.errors import OffsetMismatch, QuestionError
from quoth.models.hash_embedder import HashEmbedder
from quoth.output.render import json_line, outcome_json, trace_json
from quoth.overrides import Overrides
from quoth.protocols import Reader
from quoth.search.engine import Engine
from quoth.search.reranking import CosineReranker
from quoth.settings import IngestSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.types import (
    NO_FILTERS,
    Abstention,
    Answer,
    AskResult,
    Candidates,
    Document,
    Filters,
    Outcome,
    Query,
    Question,
    Reason,
)

GUIDES = {
    "canola/guide.md": "# Sowing\r\n\r\nSow canola seed at a depth of 2.5 cm. However, sow deeper in dry soil.\r\n\r\n"
    "# Soil\r\n\r\nCanola grows best at pH 6.0-7.0. It suffers in acid soil.\r\n",
    "corn/guide.md": "# Sowing\n\nPlant maize seed at a depth of 5 cm. Maize needs warm soil.\n",
    "storage.txt": "Store grain below 14 percent moisture. Cool the grain bin in autumn.",
}
RULES = {
    "old.md": "---\ndocument_type: ccr\nsuperseded_by: new.md\n---\n\nA rear fence shall not exceed five feet.\n",
    "new.md": "---\ndocument_type: amendment\neffective_date: 2022-04-01\n---\n\n"
    "A rear fence shall not exceed six feet.\n",
    "guidelines.md": "---\ndocument_type: design_guidelines\n---\n\nA rear fence should not look heavy.\n",
}
EMBEDDER = HashEmbedder()


class Desk:
    """An index of its own, asked under one profile."""

    def __init__(self, place: Path, documents: Mapping[str, str], *, profile: str) -> None:
        for name, text in documents.items():
            (place / "corpus" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "corpus" / name).write_bytes(text.encode())
        self.profile = load_profile(profile)
        self.store = EmbeddedStore(place / "index")
        ingest(
            find_files([place / "corpus"]),
            store=self.store,
            embedder=EMBEDDER,
            profile=self.profile,
            settings=IngestSettings(),
            prune=False,
            progress=None,
        )

    def engine(self, **flags: str) -> Engine:
        """With flags such as `selection__max_sentences="2"`."""
        overrides = Overrides({}, {}, {key.replace("__", "."): value for key, value in flags.items()})
        settings = overrides.over(self.profile.settings, profile=self.profile.name)
        embedder = None if settings.retrieval.mode == "lexical" else EMBEDDER
        reranker = CosineReranker() if settings.rerank.kind == "cosine" else None
        return engine_of(self.profile, settings, embedder=embedder, reranker=reranker)

    def explain(self, question: str, filters: Filters = NO_FILTERS, **flags: str) -> AskResult:
        with self.store.read() as reader:
            return ask(Question("1", question, filters), reader=reader, engine=self.engine(**flags))

    def ask(self, question: str, filters: Filters = NO_FILTERS, **flags: str) -> Outcome:
        return self.explain(question, filters, **flags).outcome

    def answer(self, question: str, filters: Filters = NO_FILTERS, **flags: str) -> Answer:
        outcome = self.ask(question, filters, **flags)
        assert isinstance(outcome, Answer)
        return outcome

    def abstention(self, question: str, filters: Filters = NO_FILTERS, **flags: str) -> Abstention:
        outcome = self.ask(question, filters, **flags)
        assert isinstance(outcome, Abstention)
        return outcome

    def text(self, doc_id: str) -> str:
        with self.store.read() as reader:
            document = reader.document(doc_id)
        assert document is not None
        return document.text


@pytest.fixture(scope="module")
def guides(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("guides"), GUIDES, profile="general")


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("farm"), GUIDES, profile="agriculture")


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("rules"), RULES, profile="governance")


def texts(outcome: Answer) -> list[str]:
    return [one.sentence.text for one in outcome.citations]


def test_an_answer_is_quoted_from_its_document(guides: Desk) -> None:
    outcome = guides.answer("At what depth is canola seed sown?")
    first = outcome.citations[0].sentence

    assert first.text == "Sow canola seed at a depth of 2.5 cm."
    assert (first.doc_id, first.section) == ("canola/guide.md", ("Sowing",))
    assert outcome.notes.decision == ("answered",)


def test_every_quote_is_an_exact_slice_even_behind_carriage_returns(guides: Desk) -> None:
    for question in ("At what depth is canola seed sown?", "At what pH does canola grow best?", "grain moisture"):
        citations = guides.answer(question, decision__abstain="false").citations
        assert citations
        for one in citations:
            span = one.sentence.quote.span
            assert guides.text(one.sentence.doc_id)[span.start : span.end] == one.sentence.text


def test_a_number_range_is_quoted_whole(guides: Desk) -> None:
    assert texts(guides.answer("At what pH does canola grow best?"))[0] == "Canola grows best at pH 6.0-7.0."


def test_what_takes_a_quote_back_is_quoted_too(guides: Desk) -> None:
    first, second = guides.answer("At what depth is canola seed sown?").citations[:2]

    assert second.sentence.text == "However, sow deeper in dry soil."
    assert second.companion_of == first.sentence.id


def test_asking_twice_gives_the_same_bytes(guides: Desk) -> None:
    for question in ("At what depth is canola seed sown?", "Who is Ivan Smith?"):
        once, again = (guides.explain(question) for _ in range(2))

        assert json_line(outcome_json(once.outcome)) == json_line(outcome_json(again.outcome))
        assert json_line(trace_json(once)) == json_line(trace_json(again))


def test_another_index_of_the_same_files_gives_the_same_bytes(guides: Desk, tmp_path: Path) -> None:
    other = Desk(tmp_path, GUIDES, profile="general")
    question = "At what depth is canola seed sown?"

    assert json_line(outcome_json(other.ask(question))) == json_line(outcome_json(guides.ask(question)))


def test_something_unknown_is_declined_with_the_nearest_evidence(guides: Desk) -> None:
    outcome = guides.abstention("At what depth does Ivan Smith sow canola seed?")

    assert outcome.objection.reason is Reason.UNKNOWN_ENTITY
    assert outcome.nearest[0].sentence.text == "Sow canola seed at a depth of 2.5 cm."
    assert len(outcome.nearest) == 3
    assert outcome.confidence > 0
    assert outcome.notes.decision == ("abstained", "unknown_entity")


def test_a_presumed_number_that_nothing_states_is_declined(guides: Desk) -> None:
    outcome = guides.abstention("Why is canola seed sown at a depth of 8 cm?")

    assert outcome.objection.reason is Reason.UNGROUNDED_NUMBER


def test_a_presumed_number_in_another_unit_is_answered(guides: Desk) -> None:
    assert texts(guides.answer("Why is canola seed sown at a depth of 1 inch?"))[0].endswith("2.5 cm.")


def test_a_question_far_from_the_corpus_is_declined(guides: Desk) -> None:
    outcome = guides.abstention("who painted the ceiling of that chapel?")

    assert outcome.objection.reason in {Reason.NO_RESULTS, Reason.INSUFFICIENT_SUPPORT, Reason.LOW_CONFIDENCE}
    assert outcome.confidence < 0.30


def test_a_threshold_that_is_raised_declines_what_was_answered(guides: Desk) -> None:
    question = "At what depth is canola seed sown?"
    confidence = guides.answer(question).confidence
    outcome = guides.abstention(question, decision__abstain_score_thresh=str(min(1.0, confidence + 0.01)))

    assert outcome.objection.reason is Reason.LOW_CONFIDENCE
    assert outcome.confidence == confidence


def test_the_confidence_of_a_question_does_not_depend_on_what_else_is_there(guides: Desk) -> None:
    question = "At what depth is canola seed sown?"
    scope = Filters(("canola/guide.md",), {}, (), None, None)

    assert guides.answer(question, scope).confidence == guides.answer(question).confidence


def test_too_little_support_is_declined(farm: Desk) -> None:
    outcome = farm.abstention("grain moisture percent", Filters(("storage.txt",), {}, (), None, None))

    assert outcome.objection.reason is Reason.INSUFFICIENT_SUPPORT


def test_with_abstention_off_whatever_was_found_is_answered(guides: Desk) -> None:
    outcome = guides.answer("At what depth does Ivan Smith sow canola seed?", decision__abstain="false")

    assert outcome.citations


def test_with_abstention_off_an_empty_hand_is_still_declined(guides: Desk) -> None:
    nowhere = Filters(("none.md",), {}, (), None, None)
    outcome = guides.abstention("How deep?", nowhere, decision__abstain="false")

    assert (outcome.objection.reason, outcome.nearest, outcome.confidence) == (Reason.NO_RESULTS, (), 0.0)


def test_the_scope_of_a_question_is_kept(guides: Desk) -> None:
    scope = Filters(("corn/guide.md",), {}, (), None, None)
    outcome = guides.answer("At what depth is seed planted?", scope, decision__abstain="false")

    assert {one.sentence.doc_id for one in outcome.citations} == {"corn/guide.md"}


def test_a_tag_filters(farm: Desk) -> None:
    only_corn = Filters((), {"crop": ("corn",)}, (), None, None)
    outcome = farm.answer("At what depth is seed sown?", only_corn, decision__abstain="false")

    assert {one.sentence.tags["crop"][0] for one in outcome.citations} == {"corn"}


def test_a_synonym_finds_what_the_document_calls_otherwise(farm: Desk) -> None:
    outcome = farm.answer("depth of corn seed", decision__abstain="false")

    assert texts(outcome)[0] == "Plant maize seed at a depth of 5 cm."


def test_no_more_sentences_than_allowed_are_quoted(guides: Desk) -> None:
    outcome = guides.answer("canola soil seed depth grain", decision__abstain="false", selection__max_sentences="2")

    assert 1 <= len(outcome.citations) <= 2


@pytest.mark.parametrize(
    ("mode", "retriever"), [("hybrid", "hybrid_bm25_dense"), ("lexical", "bm25"), ("dense", "dense")]
)
def test_each_way_of_searching_finds_the_sentence(guides: Desk, mode: str, retriever: str) -> None:
    outcome = guides.answer("depth of canola seed", retrieval__mode=mode, decision__abstain="false")

    assert texts(outcome)[0] == "Sow canola seed at a depth of 2.5 cm."
    assert outcome.notes.retriever == retriever


def test_a_reranker_changes_the_relevance_and_not_the_confidence(guides: Desk) -> None:
    question = "At what depth is canola seed sown?"
    plain, reranked = guides.explain(question), guides.explain(question, rerank__kind="cosine")

    assert reranked.outcome.confidence == plain.outcome.confidence
    assert all(one.relevance == round(one.candidate.dense, 6) for one in reranked.trace.ranked)


def test_boosts_change_the_order_and_not_the_confidence(farm: Desk) -> None:
    question = "At what depth is canola seed sown?"
    boosted = farm.explain(question)
    plain = farm.explain(question, retrieval__tag_boost="{}")

    assert boosted.outcome.confidence == plain.outcome.confidence
    assert {one.sentence.id: one.fused for one in boosted.trace.ranked} == {
        one.sentence.id: one.fused for one in plain.trace.ranked
    }
    assert any(one.order > one.relevance for one in boosted.trace.ranked)


def test_what_replaced_a_rule_comes_before_it(rules: Desk) -> None:
    outcome = rules.answer("How many feet shall a rear fence not exceed?", decision__abstain="false")
    places = [one.sentence.doc_id for one in outcome.citations]

    assert places[0] == "new.md"
    assert outcome.citations[0].authority == "binding"
    assert outcome.citations[0].metadata.effective_date == "2022-04-01"


def test_a_rule_that_was_replaced_is_no_answer_by_itself(rules: Desk) -> None:
    outcome = rules.abstention("How many feet shall a rear fence not exceed?", Filters(("old.md",), {}, (), None, None))

    assert outcome.objection.reason is Reason.SUPERSEDED_ONLY
    assert outcome.nearest[0].sentence.doc_id == "old.md"


def test_the_trace_shows_every_check_by_name(guides: Desk) -> None:
    trace = guides.explain("At what depth does Ivan Smith sow canola seed at 8 cm?").trace
    said = {name: objection is not None for name, objection in trace.objections}

    assert list(said) == [reason.value for reason in Reason]
    assert (said["unknown_entity"], said["ungrounded_number"], said["no_results"]) == (True, True, False)


def test_the_notes_tell_what_was_found(guides: Desk) -> None:
    asked = guides.explain("At what depth is canola seed sown?", rerank__kind="late", rerank__topk="3")
    notes = asked.outcome.notes

    assert notes.k_initial >= len(asked.trace.ranked) == notes.rerank_topk == 3
    assert notes.max_retrieval == max(one.fused for one in asked.trace.ranked)
    assert notes.support_count == len(asked.trace.selection.supporting)
    assert (notes.profile, notes.calibrated, notes.degraded) == ("general", False, ("evidence",))
    with guides.store.read() as reader:
        assert notes.index == reader.info.digest


ONE_IS_ENOUGH = {"selection__min_support": "1", "decision__abstain_score_thresh": "0.3"}


def test_every_part_of_a_question_is_answered_before_anything_else(farm: Desk) -> None:
    outcome = farm.answer(
        "What seed depth for canola and corn?", NO_FILTERS, **ONE_IS_ENOUGH, selection__max_sentences="2"
    )

    assert {one.sentence.doc_id for one in outcome.citations if one.companion_of is None} == {
        "canola/guide.md",
        "corn/guide.md",
    }
    assert outcome.unsupported_parts == ()


def test_a_part_without_evidence_is_named_and_the_rest_is_answered(farm: Desk) -> None:
    outcome = farm.answer("What seed depth for canola and rye?", NO_FILTERS, **ONE_IS_ENOUGH)

    assert texts(outcome)[0] == "Sow canola seed at a depth of 2.5 cm."
    assert outcome.unsupported_parts == ("rye",)
    assert outcome_json(outcome)["unsupported_parts"] == ["rye"]


def test_a_question_none_of_whose_parts_has_evidence_is_declined(farm: Desk) -> None:
    outcome = farm.abstention("What seed depth for oats and rye?", NO_FILTERS, **ONE_IS_ENOUGH)

    assert outcome.unsupported_parts == ("oats", "rye")
    assert set(outcome.missing) == {"oats", "rye"}


def test_an_abstention_says_why_each_of_the_nearest_fails(farm: Desk) -> None:
    outcome = farm.abstention("At what depth is rye seed sown?", NO_FILTERS, **ONE_IS_ENOUGH)

    assert outcome.missing == ("rye",)
    said = {one.sentence.text: one.why for one in outcome.nearest}
    assert all(said.values())
    assert said["Sow canola seed at a depth of 2.5 cm."] == "It states 2.5 cm for canola, nothing for rye."


def test_an_answer_explains_none_of_its_quotes_away(guides: Desk) -> None:
    assert all(one.why is None for one in guides.answer("At what depth is canola seed sown?").citations)


def test_a_question_in_parts_gives_the_same_bytes_again(farm: Desk) -> None:
    once, again = (farm.explain("What seed depth for canola and rye?", NO_FILTERS, **ONE_IS_ENOUGH) for _ in range(2))

    assert json_line(outcome_json(once.outcome)) == json_line(outcome_json(again.outcome))
    assert json_line(trace_json(once)) == json_line(trace_json(again))
    assert [part["text"] for part in trace_json(once)["parts"]] == ["canola", "rye"]


def test_a_question_of_one_part_is_searched_for_once(farm: Desk) -> None:
    with farm.store.read() as reader:
        counting = CountingSearches(reader)
        ask(Question("1", "What seed depth for canola?", NO_FILTERS), reader=counting, engine=farm.engine())  # type: ignore[arg-type]
        assert counting.searches == 1
        ask(Question("1", "What seed depth for canola and rye?", NO_FILTERS), reader=counting, engine=farm.engine())  # type: ignore[arg-type]
        assert counting.searches == 4


class CountingSearches:
    """A real reader that counts."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.searches = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._reader, name)

    def search(self, query: Query) -> Candidates:
        self.searches += 1
        return self._reader.search(query)


@pytest.mark.parametrize("question", ["", "???", "x" * 4_001])
def test_a_question_that_cannot_be_asked_is_an_error(guides: Desk, question: str) -> None:
    with pytest.raises(QuestionError):
        guides.ask(question)


@pytest.mark.parametrize(
    "question",
    ["canola \x00 seed", "canola\udcff seed", "🌾 canola 土", "'); DROP --", "AND OR NOT (", '"canola'],
)
def test_odd_characters_in_a_question_do_no_harm(guides: Desk, question: str) -> None:
    assert json_line(outcome_json(guides.ask(question))).encode()


class ChangedBehindOurBack:
    """A real reader whose documents have changed since they were indexed."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __getattr__(self, name: str) -> object:
        return getattr(self._reader, name)

    def document(self, doc_id: str) -> Document | None:
        found = self._reader.document(doc_id)
        return replace(found, text="\n" + found.text) if found else None


@contextmanager
def changed(desk: Desk) -> Iterator[Reader]:
    with desk.store.read() as reader:
        yield ChangedBehindOurBack(reader)  # type: ignore[misc]  # the rest is passed on


@pytest.mark.parametrize("question", ["At what depth is canola seed sown?", "Where does Ivan Smith sow canola seed?"])
def test_a_quote_that_no_longer_matches_never_leaves(guides: Desk, question: str) -> None:
    with changed(guides) as reader, pytest.raises(OffsetMismatch, match=r"canola/guide\.md"):
        ask(Question("1", question, NO_FILTERS), reader=reader, engine=guides.engine())
