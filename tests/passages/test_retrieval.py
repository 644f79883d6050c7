"""Retrieval for agents, with real parts: labelled passages, successors, days, filters, statuses and fallbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engines import engine_of
from quoth.answer.ask import ask
from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.domain.profile import load_profile
from quoth.errors import ProviderFault, QuestionError
from quoth.models.hash_embedder import HashEmbedder
from quoth.output.render import json_line, outcome_json, retrieval_json, retrieval_trace_json
from quoth.overrides import Overrides
from quoth.passages.retrieve import retrieve
from quoth.protocols import Embedder, LlmReranker
from quoth.search.engine import Engine
from quoth.settings import IngestSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.types import (
    NO_FILTERS,
    Answer,
    Filters,
    FoundBy,
    FoundPassage,
    LlmScore,
    Question,
    Retrieval,
    RetrieveResult,
    Status,
    Usage,
    Vectors,
)

EMBEDDER = HashEmbedder()
FRONT = "---\ntitle: {title}\ndocument_type: {kind}\neffective_date: {date}\n{more}---\n\n"
DOCUMENTS = {
    "ccr.md": FRONT.format(
        title="Declaration",
        kind="ccr",
        date="2009-06-01",
        more='superseded_by:\n  - {section: "Section 7.3", by: amendment.md}\n',
    )
    + "# Article VII\n\n## Section 7.3 Fences\n\nA rear fence shall not exceed five feet in height.\n\n"
    "## Section 7.4 Sheds\n\nA shed shall not exceed nine feet in height.\n",
    "amendment.md": FRONT.format(title="First Amendment", kind="amendment", date="2022-04-01", more="")
    + "# Section 1\n\nA rear fence shall not exceed six feet in height.\n",
    "guidelines.md": FRONT.format(title="Guidelines", kind="design_guidelines", date="2016-09-01", more="")
    + "# Style\n\nPaint the house in a muted colour.\n\n# Planting\n\nPlant native shrubs along the street.\n",
    "letter.md": FRONT.format(title="Letter", kind="response_letter", date="2021-06-08", more="")
    + "# Decision\n\nThe colour of the house on Lot 12 is denied.\n",
}
FENCE = "How high may a rear fence be, not exceed feet in height?"


class Down:
    """An embedder that cannot be reached."""

    identity = EMBEDDER.identity
    has_tokens = False

    def embed(self, texts: Sequence[str], *, progress: object = None) -> Vectors:
        raise ProviderFault("the server is down", hint="Start it.")

    def embed_tokens(self, texts: Sequence[str], *, progress: object = None) -> tuple[Vectors, list[bytes]]:
        raise ProviderFault("the server is down", hint="Start it.")

    def embed_question(self, text: str) -> tuple[Vectors, None]:
        raise ProviderFault("the server is down", hint="Start it.")


class Reversed:
    """A judge that likes the last passage best, and remembers what it was shown."""

    name = "llm"
    max_passages = 20

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    def score(self, question: str, passages: Sequence[tuple[str, str]]) -> tuple[list[LlmScore], Usage]:
        self.shown = list(passages)
        scores = [(place + 1) / len(passages) for place in range(len(passages))]
        return [LlmScore(score, f"number {place}") for place, score in enumerate(scores)], Usage("m", 7, 3, 1, 0.5)


class Broken(Reversed):
    def score(self, question: str, passages: Sequence[tuple[str, str]]) -> tuple[list[LlmScore], Usage]:
        raise ProviderFault("no valid JSON", hint="Try another model.")


class Rules:
    """An index of governing documents."""

    def __init__(self, place: Path, documents: Mapping[str, str]) -> None:
        for name, text in documents.items():
            (place / "corpus").mkdir(exist_ok=True)
            (place / "corpus" / name).write_bytes(text.encode())
        self.profile = load_profile("governance")
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

    def engine(self, *, embedder: Embedder | None = EMBEDDER, judge: LlmReranker | None = None, **flags: str) -> Engine:
        overrides = Overrides({}, {}, {key.replace("__", "."): value for key, value in flags.items()})
        settings = overrides.over(self.profile.settings, profile=self.profile.name)
        return engine_of(self.profile, settings, embedder=embedder, judge=judge)

    def explain(self, question: str, filters: Filters = NO_FILTERS, *, engine: Engine | None = None) -> RetrieveResult:
        with self.store.read() as reader:
            return retrieve(Question("1", question, filters), reader=reader, engine=engine or self.engine())

    def retrieve(self, question: str, filters: Filters = NO_FILTERS, *, engine: Engine | None = None) -> Retrieval:
        return self.explain(question, filters, engine=engine).retrieval

    def answer(self, question: str, filters: Filters = NO_FILTERS, *, engine: Engine | None = None) -> Answer:
        with self.store.read() as reader:
            asked = ask(Question("1", question, filters), reader=reader, engine=engine or self.engine())
        assert isinstance(asked.outcome, Answer), asked.outcome
        return asked.outcome

    def text(self, doc_id: str) -> str:
        with self.store.read() as reader:
            document = reader.document(doc_id)
        assert document is not None
        return document.text


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Rules:
    return Rules(tmp_path_factory.mktemp("rules"), DOCUMENTS)


def of(retrieval: Retrieval, doc_id: str) -> FoundPassage:
    return next(one for one in retrieval.passages if one.passage.doc_id == doc_id)


def as_of(day: str) -> Filters:
    return replace(NO_FILTERS, as_of=day)


def test_a_passage_shows_its_scores_its_place_and_what_it_is_worth(rules: Rules) -> None:
    found = rules.retrieve(FENCE)
    best = found.passages[0]

    assert found.status is Status.SUCCESS
    assert best.passage.doc_id == "amendment.md"
    assert rules.text("amendment.md")[best.passage.span.start : best.passage.span.end] == best.content
    assert (best.authority, best.document.metadata.effective_date) == ("binding", "2022-04-01")
    assert best.source is FoundBy.BOTH
    assert 0 < best.lexical <= 1 and 0 < best.dense <= 1 and 0 < best.fused <= 1
    assert best.relevance <= best.order <= 1.0


def test_a_superseded_passage_has_its_label_and_comes_after_its_successor(rules: Rules) -> None:
    found = rules.retrieve(FENCE)
    old, new = of(found, "ccr.md"), of(found, "amendment.md")

    assert [one.by for one in old.superseded_by] == ["amendment.md"]
    assert new.superseded_by == ()
    assert old.order < new.order
    assert "Superseded-by: First Amendment (amendment.md)" in found.context.text


def test_a_section_that_is_joined_with_others_keeps_its_label(rules: Rules) -> None:
    joined = of(rules.retrieve("How high may a shed be, not exceed feet?"), "ccr.md")

    assert "Section 7.3" in joined.content and "Section 7.4" in joined.content
    assert [one.by for one in joined.superseded_by] == ["amendment.md"]


def test_the_successor_is_brought_in_though_the_filter_leaves_it_out(rules: Rules) -> None:
    found = rules.retrieve(FENCE, replace(NO_FILTERS, document_types=("ccr",)))

    assert [one.passage.doc_id for one in found.passages] == ["amendment.md", "ccr.md"]
    assert found.filters.document_types == ("ccr",)


def test_the_successor_is_brought_in_though_it_is_worded_otherwise(tmp_path: Path) -> None:
    other = DOCUMENTS | {
        "amendment.md": FRONT.format(title="First Amendment", kind="amendment", date="2022-04-01", more="")
        + "# Section 1\n\nBarriers behind dwellings: two metres.\n"
    }
    found = Rules(tmp_path, other).retrieve(FENCE, engine=None)
    old = of(found, "ccr.md")

    assert of(found, "amendment.md").successor_of == old.passage.id


def test_a_successor_outside_the_documents_asked_for_stays_outside(rules: Rules) -> None:
    found = rules.retrieve(FENCE, replace(NO_FILTERS, doc_ids=("ccr.md",)))

    assert [one.passage.doc_id for one in found.passages] == ["ccr.md"]
    assert found.passages[0].superseded_by
    assert "superseded" in (found.warning or "")


def test_a_chain_of_successors_is_followed_and_a_circle_ends(tmp_path: Path) -> None:
    front = "---\nsuperseded_by: {}\n---\n\n# Rule\n\n"
    chain = {
        "a.md": front.format("b.md") + "A rear fence shall not exceed five feet.\n",
        "b.md": front.format("c.md") + "A rear fence is at most six feet.\n",
        "c.md": front.format("a.md") + "A rear fence is at most seven feet.\n",
    }
    found = Rules(tmp_path, chain).retrieve("How high may a rear fence be, not exceed feet?")

    assert {one.passage.doc_id for one in found.passages} == {"a.md", "b.md", "c.md"}


def test_only_the_end_of_a_chain_is_brought_in(tmp_path: Path) -> None:
    front = "---\n{}---\n\n# Rule\n\n"
    chain = {
        f"{number:02}.md": front.format(f"superseded_by: {number + 1:02}.md\n") + f"Barrier rule number {number}.\n"
        for number in range(1, 12)
    }
    chain["00.md"] = front.format("superseded_by: 01.md\n") + "A rear fence shall not exceed five feet.\n"
    chain["12.md"] = front.format("") + "Barriers behind dwellings: two metres.\n"
    found = Rules(tmp_path, chain).retrieve("How high may a rear fence be, not exceed feet?")

    assert of(found, "12.md").successor_of == of(found, "00.md").passage.id


def test_never_more_passages_than_asked_for_and_the_rule_in_force_stays(rules: Rules) -> None:
    found = rules.retrieve(FENCE, engine=rules.engine(context__max="1"))

    assert [one.passage.doc_id for one in found.passages] == ["amendment.md"]


def test_successors_push_out_no_side_of_a_conflict(tmp_path: Path) -> None:
    replaced = "---\nsuperseded_by: {}\n---\n\n# Rule\n\n"
    many = {f"old{n}.md": replaced.format(f"new{n}.md") + f"A rear fence of kind {n} is high.\n" for n in range(8)}
    many |= {f"new{n}.md": f"# Rule\n\nBarriers of sort {n}.\n" for n in range(8)}
    many |= {
        name: FRONT.format(title=name, kind="city_code", date="2018-07-01", more="")
        + f"# Fences\n\nA rear fence shall not exceed {feet} feet in height.\n"
        for name, feet in (("city.md", "seven"), ("county.md", "eight"))
    }
    desk = Rules(tmp_path, many)
    found = desk.retrieve("How high may a rear fence be?", engine=desk.engine(context__floor="0.3"))
    shown = {one.passage.doc_id for one in found.passages}

    assert found.conflicts
    assert {"city.md", "county.md"} <= shown
    assert len(found.passages) <= 8
    assert {one.successor_of for one in found.passages if one.successor_of} <= {
        one.passage.id for one in found.passages
    }


def test_where_not_every_side_of_a_conflict_fits_the_warning_says_so(tmp_path: Path) -> None:
    two = {
        name: FRONT.format(title=name, kind="city_code", date="2018-07-01", more="")
        + f"# Fences\n\nA rear fence shall not exceed {feet} feet in height.\n"
        for name, feet in (("city.md", "seven"), ("county.md", "eight"))
    }
    desk = Rules(tmp_path, two)
    engine = desk.engine(context__max="1", context__nothing="0", decision__support_score="0")
    found = desk.retrieve("How high may a rear fence be?", engine=engine)

    assert len(found.passages) == 1
    assert "no room for every side" in (found.warning or "")


def test_a_day_before_the_amendment_has_the_old_rule_in_force(rules: Rules) -> None:
    found = rules.retrieve(FENCE, as_of("2021-06-30"))

    assert [one.passage.doc_id for one in found.passages][:1] == ["ccr.md"]
    assert of(found, "ccr.md").superseded_by == ()
    assert all(one.passage.doc_id != "amendment.md" for one in found.passages)
    assert "Superseded-by" not in found.context.text


def test_the_day_itself_has_the_new_rule_in_force(rules: Rules) -> None:
    assert rules.retrieve(FENCE, as_of("2022-04-01")).passages[0].passage.doc_id == "amendment.md"


def test_an_answer_follows_the_day_as_well(rules: Rules) -> None:
    def quoted(filters: Filters) -> str:
        return rules.answer(FENCE, filters).citations[0].sentence.text

    assert quoted(NO_FILTERS) == "A rear fence shall not exceed six feet in height."
    assert quoted(as_of("2021-06-30")) == "A rear fence shall not exceed five feet in height."


def test_before_every_document_there_is_nothing(rules: Rules) -> None:
    found = rules.retrieve(FENCE, as_of("1999-01-01"))

    assert (found.status, found.passages, found.context.text) == (Status.NO_RESULTS, (), "")
    assert found.message == "No passage of the corpus passes the filters."


def test_a_type_named_in_the_question_filters(rules: Rules) -> None:
    found = rules.retrieve("According to the guidelines, what colour is a house painted?")

    assert found.detected == ("design_guidelines",)
    assert {one.document.metadata.document_type for one in found.passages} == {"design_guidelines"}


def test_a_type_given_by_the_asker_wins(rules: Rules) -> None:
    chosen = replace(NO_FILTERS, document_types=("response_letter",))
    found = rules.retrieve("According to the guidelines, what colour is a house painted?", chosen)

    assert found.detected == ()
    assert {one.document.metadata.document_type for one in found.passages} == {"response_letter"}


def test_detection_can_be_switched_off(rules: Rules) -> None:
    engine = rules.engine(retrieval__detect_types="false", context__floor="0", context__nothing="0")
    found = rules.retrieve("According to the guidelines, what colour is a house painted?", engine=engine)

    assert {one.passage.doc_id for one in found.passages} > {"guidelines.md", "letter.md"}


def test_a_type_of_which_there_is_nothing_is_dropped_with_a_note(rules: Rules) -> None:
    engine = rules.engine(context__nothing="0")
    found = rules.retrieve("How high may a rear fence be according to the city code?", engine=engine)

    assert found.detected == ("city_code",)
    assert found.filters.document_types == ()
    assert "city_code" in (found.warning or "")
    assert found.passages


def test_a_type_that_is_only_hinted_at_gives_way_to_a_better_answer(rules: Rules) -> None:
    found = rules.retrieve("Which restrictions of colour are there, is the house painted in a muted colour?")

    assert found.detected == ("ccr",)
    assert found.filters.document_types == ()
    assert found.passages[0].passage.doc_id == "guidelines.md"
    assert found.warning is None


def test_a_filter_on_what_binds_goes_by_the_type_where_the_document_says_nothing(rules: Rules) -> None:
    engine = rules.engine(
        context__nothing="0", context__max="20", context__low_max="20", retrieval__detect_types="false"
    )

    def documents(*, binding: bool) -> set[str]:
        found = rules.retrieve("fence colour house shed", replace(NO_FILTERS, is_binding=binding), engine=engine)
        assert all((one.authority == "binding") is binding for one in found.passages)
        return {one.passage.doc_id for one in found.passages}

    assert documents(binding=True) == {"ccr.md", "amendment.md"}
    assert documents(binding=False) == {"guidelines.md", "letter.md"}


def test_full_text_without_a_hit_does_not_call_the_corpus_empty(rules: Rules) -> None:
    found = rules.retrieve("xyzzy plugh", engine=rules.engine(retrieval__mode="lexical", embedder=None))

    assert found.message == "No passage holds a word of this question."


def test_a_day_that_is_none_is_refused_wherever_it_comes_from(rules: Rules) -> None:
    with pytest.raises(QuestionError, match="is no day"):
        rules.retrieve(FENCE, as_of("garbage"))


def test_a_status_below_the_floor_comes_with_a_warning_and_the_best_few(rules: Rules) -> None:
    engine = rules.engine(context__floor="0.99", context__low_max="2", context__nothing="0")
    found = rules.retrieve(FENCE, engine=engine)

    assert found.status is Status.LOW_CONFIDENCE
    assert len(found.passages) == 2
    assert "may not hold the answer" in (found.warning or "")
    assert found.context.text


def test_nothing_above_the_lower_bound_is_no_result(rules: Rules) -> None:
    found = rules.retrieve("quantum chromodynamics lattice gauge", engine=rules.engine(context__nothing="0.5"))

    assert (found.status, found.passages, found.context.blocks) == (Status.NO_RESULTS, (), ())
    assert found.message == "No passage of the corpus is relevant to this question."


def test_at_most_so_many_passages_are_given(rules: Rules) -> None:
    engine = rules.engine(context__max="1", context__floor="0")

    assert len(rules.retrieve("What colour is a house painted?", engine=engine).passages) == 1


def test_without_the_embedder_full_text_goes_on_and_says_so(rules: Rules) -> None:
    found = rules.retrieve(FENCE, engine=rules.engine(embedder=Down()))

    assert found.degraded == ("dense",)
    assert found.weights == (1.0, 0.0)
    assert "the server is down" in (found.warning or "")
    assert found.passages[0].passage.doc_id == "amendment.md"
    assert {one.source for one in found.passages} == {FoundBy.FULL_TEXT}
    assert all(one.dense == 0 for one in found.passages)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_an_answer_goes_on_without_the_embedder_as_well(rules: Rules, mode: str) -> None:
    outcome = rules.answer(FENCE, engine=rules.engine(embedder=Down(), retrieval__mode=mode))

    assert outcome.citations[0].sentence.text == "A rear fence shall not exceed six feet in height."
    assert "dense" in outcome.notes.degraded
    assert "the server is down" in outcome.notes.warnings[0]
    assert outcome_json(outcome)["run_notes"]["warnings"] == list(outcome.notes.warnings)


def test_full_text_alone_is_never_called_calibrated(rules: Rules) -> None:
    engine = rules.engine(embedder=Down(), calibration__threshold="0.9999")

    assert rules.answer(FENCE, engine=engine).notes.calibrated is False


def test_a_judge_has_the_last_word_on_relevance_and_boosts_still_order(rules: Rules) -> None:
    judge = Reversed()
    retrieved = rules.explain(FENCE, engine=rules.engine(judge=judge))
    by_id = {one.passage.id: one for one in retrieved.trace.passages}

    assert retrieved.trace.reranker == "llm"
    assert retrieved.trace.usage == Usage("m", 7, 3, 1, 0.5)
    assert [by_id[shown].relevance for shown, _ in judge.shown] == pytest.approx(
        [(place + 1) / len(judge.shown) for place in range(len(judge.shown))], abs=1e-6
    )
    assert retrieved.retrieval.best == 1.0
    assert all(one.reasoning for one in retrieved.retrieval.passages)
    assert any("Declaration > Article VII" in text and "superseded" in text for _, text in judge.shown)


def test_a_judge_that_fails_leaves_the_order_before_it_and_says_so(rules: Rules) -> None:
    plain = rules.retrieve(FENCE)
    found = rules.retrieve(FENCE, engine=rules.engine(judge=Broken()))

    assert [one.passage.id for one in found.passages] == [one.passage.id for one in plain.passages]
    assert found.degraded == ("rerank",)
    assert "no valid JSON" in (found.warning or "")


def test_a_judge_orders_the_sentences_of_an_answer_too_and_may_fail(rules: Rules) -> None:
    judge = Reversed()
    judged = rules.answer(FENCE, engine=rules.engine(judge=judge, decision__abstain="false"))
    fallen = rules.answer(FENCE, engine=rules.engine(judge=Broken()))

    assert len(judge.shown) > 1
    assert judged.citations[0].sentence.id == judge.shown[-1][0]
    assert "rerank" in fallen.notes.degraded
    assert fallen.citations == rules.answer(FENCE).citations


def test_sources_in_force_that_disagree_are_both_given_and_named(tmp_path: Path) -> None:
    city = DOCUMENTS | {
        "city.md": FRONT.format(title="City Code", kind="city_code", date="2018-07-01", more="")
        + "# Fences\n\nA rear fence shall not exceed seven feet in height.\n"
    }
    desk = Rules(tmp_path, city)
    question = "How high may a rear fence be?"
    found = desk.retrieve(question)

    (conflict,) = found.conflicts
    assert conflict.says == ("six feet", "seven feet")
    assert {one.sentence.doc_id for one in conflict.statements} == {"amendment.md", "city.md"}
    assert {"amendment.md", "city.md"} <= {one.passage.doc_id for one in found.passages}

    answer = desk.answer(question)
    assert [one.says for one in answer.conflicts] == [("six feet", "seven feet")]
    assert {one.sentence.doc_id for one in answer.citations} >= {"amendment.md", "city.md"}


def test_a_rule_and_its_successor_are_no_conflict(rules: Rules) -> None:
    assert rules.retrieve(FENCE).conflicts == ()
    assert rules.answer(FENCE).conflicts == ()


def test_the_same_question_gives_the_same_bytes(rules: Rules) -> None:
    one, other = rules.explain(FENCE), rules.explain(FENCE)

    assert json_line(retrieval_json(one.retrieval)) == json_line(retrieval_json(other.retrieval))
    assert json_line(retrieval_trace_json(one)) == json_line(retrieval_trace_json(other))


def test_each_stage_is_told_when_it_is_done(rules: Rules) -> None:
    stages: list[str] = []
    with rules.store.read() as reader:
        retrieve(Question("1", FENCE, NO_FILTERS), reader=reader, engine=rules.engine(), done=stages.append)

    assert stages == ["analyse", "search", "passages", "rerank", "choose", "context"]
