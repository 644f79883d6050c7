"""Retrieval for agents: question -> analyse -> search -> passages -> rerank -> choose -> context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quoth.answer.conflicts.find_conflicts import conflicts_of
from quoth.domain.authority import last_of_chain, statement_of, supersessions, within_successors
from quoth.domain.in_force import as_of
from quoth.errors import ProviderFault
from quoth.passages.context import assemble
from quoth.passages.passage_builder import PassageBuilder, best_passages, gather
from quoth.protocols import Reader
from quoth.search.engine import Engine, Stage, silent
from quoth.search.fusion import SearchResult, fusion_weights
from quoth.search.hybrid_search import hybrid_search, search_within, without_llm
from quoth.search.language_pairs import expected_pair
from quoth.search.missing_shards import PartialResult, missing_shards_note
from quoth.search.question_analysis import analyse
from quoth.settings import ContextSettings
from quoth.types import (
    NO_FILTERS,
    Conflict,
    FoundPassage,
    Question,
    Retrieval,
    RetrievalTrace,
    RetrieveResult,
    Status,
    Supersession,
)


def retrieve(question: Question, *, reader: Reader, engine: Engine, done: Stage = silent) -> RetrieveResult:
    """Return the passages that an agent should read, ranked, labelled and laid out within its token budget."""
    settings = engine.settings
    text = as_of(reader, question.filters.as_of)
    reader = as_of(engine.view_regions(reader, question.filters.regions), question.filters.as_of)
    languages = reader.info.languages
    analysis = analyse(question, profile=engine.profile, settings=settings.retrieval, languages=languages)
    engine = engine.searching_for(expected_pair(analysis.language, reader.info))
    done("analyse")
    search = hybrid_search(analysis, reader=reader, engine=engine, topk=2 * settings.retrieval.candidates)
    done("search")
    builder = PassageBuilder(reader, engine, analysis, scale=engine.scales[engine.scorer(search.encoded)])
    ranked = builder.passages(gather(search.ranked, reader)[: settings.rerank.topk])
    done("passages")
    ranked, search = _llm_reranked(ranked, search, builder)
    done("rerank")
    conflicts = _conflicts(ranked, builder)
    chosen = _with_successors(_chosen(ranked, conflicts, settings.context), ranked, conflicts, search, builder)
    status = _status(ranked, settings.context)
    done("choose")
    context = assemble(
        chosen, reader=text, counter=engine.open_counter(), settings=settings.context, profile=engine.profile
    )
    done("context")
    missing = missing_shards_note(
        reader, question.filters, PartialResult.NO_PASSAGES if status is Status.NO_RESULTS else PartialResult.PASSAGES
    )
    retrieval = Retrieval(
        question=question,
        status=status,
        best=max((found.relevance for found in ranked), default=0.0),
        message=_message(status, search, reader),
        warning=_warning(status, search, chosen, conflicts if status is not Status.NO_RESULTS else (), missing),
        passages=chosen,
        filters=search.filters,
        detected=analysis.document_types,
        kind=analysis.kind,
        weights=fusion_weights(analysis, mode=engine.search_mode(search.encoded)),
        degraded=(*search.degraded, *reader.missing),
        conflicts=conflicts if status is not Status.NO_RESULTS else (),
        context=context,
        index=reader.info.digest,
        settings=engine.settings_digest,
    )
    trace = RetrievalTrace(
        analysis=analysis,
        candidates=len(search.candidates.items),
        passages=ranked,
        reranker=engine.llm_reranker.name if engine.llm_reranker and search.usage else engine.scorer(search.encoded),
        usage=search.usage,
        notes=(*search.notes, *missing),
    )
    return RetrieveResult(retrieval, trace)


def depends_on(question: Question, reader: Reader, engine: Engine) -> dict[str, Any]:
    """Return all that a retrieval depends on, as JSON values. The values of a filter have no order, and count once."""
    filters = question.filters
    return {
        "index": reader.info.digest,
        "settings": engine.settings_digest,
        "profile": engine.profile.source,
        "question": question.text,
        "doc_ids": sorted(set(filters.doc_ids)),
        "tags": {facet: sorted(set(values)) for facet, values in filters.tags.items()},
        "document_types": sorted(set(filters.document_types)),
        "is_binding": filters.is_binding,
        "as_of": filters.as_of,
        "regions": sorted(set(filters.regions)),
        "authors": sorted(set(filters.authors)),
        "years": filters.years,
        "dois": sorted(set(filters.dois)),
        "languages": sorted(set(filters.languages)),
    }


def is_repeatable(retrieved: RetrieveResult) -> bool:
    """Return whether a result would be the same again: nothing degraded, and nothing that a language model scored."""
    return not retrieved.retrieval.degraded and retrieved.trace.usage is None


def still_true(retrieved: RetrieveResult, reader: Reader) -> bool:
    """Return whether every text of a cached retrieval is still, to the letter, what the index holds."""
    texts = [(found.passage.doc_id, found.passage.span, found.content) for found in retrieved.retrieval.passages]
    texts += [(block.document.id, block.span, block.content) for block in retrieved.retrieval.context.blocks]
    documents = {doc_id: reader.document(doc_id) for doc_id, _, _ in texts}
    return all(
        (document := documents[doc_id]) is not None and document.text[span.start : span.end] == content
        for doc_id, span, content in texts
    )


def _llm_reranked(
    ranked: tuple[FoundPassage, ...], search: SearchResult, builder: PassageBuilder
) -> tuple[tuple[FoundPassage, ...], SearchResult]:
    """Rerank the passages with the language model, in one request; without one, or if it fails, keep their order."""
    reranker = builder.engine.llm_reranker
    if reranker is None or not ranked:
        return ranked, search
    best = ranked[: reranker.max_passages]
    try:
        scores, usage = reranker.score(
            builder.analysis.question.text, [(found.passage.id, labelled_text(found)) for found in best]
        )
    except ProviderFault as fault:
        note = without_llm(fault)
        return ranked, replace(search, degraded=(*search.degraded, "rerank"), notes=(*search.notes, note))
    rescored = [builder.rescored(found, score) for found, score in zip(best, scores, strict=True)]
    return best_passages(rescored), replace(search, usage=usage)


def labelled_text(found: FoundPassage) -> str:
    """Return a passage as the language model reads it: with its document, its section and its authority."""
    about = [found.document.metadata.title or found.document.id, *found.passage.section]
    guessed = ", guessed from its title" if found.document.metadata.type_guessed else ""
    superseded = ", superseded" if found.superseded_by else ""
    worth = f" ({found.authority}{guessed}{superseded})" if found.authority else ""
    return f"{' > '.join(about)}{worth}\n\n{found.content}"


def _status(ranked: Sequence[FoundPassage], settings: ContextSettings) -> Status:
    best = max((found.relevance for found in ranked), default=0.0)
    if best >= settings.floor:
        return Status.SUCCESS
    return Status.LOW_CONFIDENCE if best >= settings.nothing else Status.NO_RESULTS


def _chosen(
    ranked: Sequence[FoundPassage], conflicts: Sequence[Conflict], settings: ContextSettings
) -> tuple[FoundPassage, ...]:
    """Choose what is shown: the sides of a conflict, what reaches the floor, and the best `low_max` of what is near."""
    if _status(ranked, settings) is Status.NO_RESULTS:
        return ()
    needed = _sides(ranked, conflicts)
    reaching = [found for found in ranked if found.relevance >= settings.floor]
    near = [found for found in ranked if found.relevance >= settings.nothing][: settings.low_max]
    wanted = dict.fromkeys(found.passage.id for found in (*needed, *reaching, *near))
    kept = set(list(wanted)[: settings.max])
    return best_passages(found for found in ranked if found.passage.id in kept)


def _with_successors(
    chosen: tuple[FoundPassage, ...],
    ranked: Sequence[FoundPassage],
    conflicts: Sequence[Conflict],
    search: SearchResult,
    builder: PassageBuilder,
) -> tuple[FoundPassage, ...]:
    """Add to the chosen passages the best passage of each document that replaces one of them, up to `context.max`.

    Only the most relevant passage and those that reach the floor get successors. Without room for both, the
    superseded passage goes.
    """
    settings = builder.engine.settings.context
    kept = {found.passage.id: found for found in chosen}
    needed = {found.passage.id for found in _sides(chosen, conflicts)}
    best = max((found.relevance for found in chosen), default=0.0)
    for found in chosen:
        if found.passage.id not in kept or found.relevance < min(settings.floor, best):
            continue
        for successor in _successors(found, kept, ranked, search, builder):
            needed |= {found.passage.id, successor.passage.id}
            kept[successor.passage.id] = successor
        while len(kept) > settings.max:
            spare = [other for other in best_passages(kept.values()) if other.passage.id not in needed]
            del kept[spare[-1].passage.id if spare else found.passage.id]
            if not spare:
                break
    return best_passages(kept.values())


def _successors(
    found: FoundPassage,
    kept: Mapping[str, FoundPassage],
    ranked: Sequence[FoundPassage],
    search: SearchResult,
    builder: PassageBuilder,
) -> Iterator[FoundPassage]:
    """Yield the best passage of each document that replaces `found`, unless a passage of it is there already."""
    for doc_id in last_of_chain([by.by for by in replaced(found)], builder.reader):
        if doc_id == found.passage.doc_id or any(other.passage.doc_id == doc_id for other in kept.values()):
            continue
        known = [other for other in ranked if other.passage.doc_id == doc_id]
        for best in (known or _searched_in(doc_id, search, builder))[:1]:
            yield replace(best, successor_of=found.passage.id)


def _sides(ranked: Sequence[FoundPassage], conflicts: Sequence[Conflict]) -> list[FoundPassage]:
    """Return the passages that hold the sides of the conflicts, one passage for each side."""
    wanted = {statement.sentence.id for conflict in conflicts for statement in conflict.statements}
    holding = []
    for found in ranked:
        inside = {sentence.sentence.id for sentence in found.sentences}
        if inside & wanted:
            holding.append(found)
            wanted -= inside
    return holding


def replaced(found: FoundPassage) -> tuple[Supersession, ...]:
    """Return what replaces the sentences found in a passage; the rest of the passage may still be in force."""
    sections = {inside.sentence.section for inside in found.sentences}
    metadata = found.document.metadata
    return tuple(dict.fromkeys(by for section in sorted(sections) for by in supersessions(metadata, section)))


def _searched_in(doc_id: str, search: SearchResult, builder: PassageBuilder) -> tuple[FoundPassage, ...]:
    """Search one document for the question; return nothing if the question's own filters exclude it."""
    filters = within_successors(builder.analysis.question.filters, [doc_id])
    if filters is None:
        return ()
    topk = builder.engine.settings.rerank.topk
    there = search_within(
        filters, builder.analysis, search.encoded, reader=builder.reader, engine=builder.engine, topk=topk
    )
    return builder.passages(gather(there.ranked, builder.reader)[:1])


def _conflicts(ranked: Sequence[FoundPassage], builder: PassageBuilder) -> tuple[Conflict, ...]:
    """Return what the supporting sentences disagree about; nothing in a profile that does not know authority."""
    if builder.engine.profile.authority is None:
        return ()
    least = builder.engine.passage_support
    sentences = {
        found.sentence.id: statement_of(found.sentence, passage.document, builder.engine.profile)
        for passage in ranked
        for found in passage.sentences
        if found.relevance >= least
    }
    return conflicts_of(list(sentences.values()), builder.analysis, compounds=builder.engine.profile.compounds)


def _message(status: Status, search: SearchResult, reader: Reader) -> str | None:
    if status is not Status.NO_RESULTS:
        return None
    if search.candidates.items:
        return "No passage of the corpus is relevant to this question."
    if search.filters != NO_FILTERS:
        return "No passage of the corpus passes the filters."
    return "The corpus is empty." if reader.info.sentences == 0 else "No passage holds a word of this question."


def _warning(
    status: Status,
    search: SearchResult,
    chosen: Sequence[FoundPassage],
    conflicts: Sequence[Conflict],
    missing: Sequence[str],
) -> str | None:
    """Return all that a reader should be careful about, in one text; None if there is nothing."""
    warnings = [*search.notes, *missing]
    if status is Status.LOW_CONFIDENCE:
        warnings.append("No passage is clearly relevant; these come nearest and may not hold the answer.")
    if chosen:
        best = max(chosen, key=lambda found: (found.relevance, found.order))
        if by := supersessions(best.document.metadata, best.sentences[0].sentence.section):
            shown = any(found.passage.doc_id == each.by for found in chosen for each in by)
            where = "see what replaces it" if shown else "what replaces it is not shown here"
            names = ", ".join(each.by for each in by)
            warnings.append(f"The most relevant passage has been superseded by {names}; {where}.")
    sides = {statement.sentence.id for conflict in conflicts for statement in conflict.statements}
    if sides - {inside.sentence.id for found in chosen for inside in found.sentences}:
        warnings.append("There is no room for every side of a conflict; raise context.max.")
    return " ".join(warnings) or None
