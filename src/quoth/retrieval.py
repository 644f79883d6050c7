"""The read path of agents: question -> analyse -> search -> passages -> rerank -> adjust -> choose -> context."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from quoth.conflicts import conflicts_of
from quoth.context import assemble
from quoth.corpus.authority import statement_of, supersessions
from quoth.engine import Engine, Stage, silent
from quoth.errors import ProviderFault
from quoth.protocols import Reader
from quoth.retrieve.as_of import as_of
from quoth.retrieve.find import find, search
from quoth.retrieve.fuse import weights_of
from quoth.retrieve.gather import gather
from quoth.retrieve.judged import FALLBACK
from quoth.retrieve.lacking import Result, lacking
from quoth.retrieve.merge import Found
from quoth.retrieve.question import analyse
from quoth.retrieve.shelf import Shelf, best_passages
from quoth.retrieve.successors import last_of_chain, within_successors
from quoth.settings import ContextSettings
from quoth.types import (
    NO_FILTERS,
    Conflict,
    FoundPassage,
    Question,
    Retrieval,
    RetrievalTrace,
    Retrieved,
    Status,
    Supersession,
)


def retrieve(question: Question, *, reader: Reader, engine: Engine, done: Stage = silent) -> Retrieved:
    """The passages that an agent should read, ranked, labelled and laid out within its budget."""
    settings = engine.settings
    reader = as_of(reader, question.filters.as_of)
    analysis = analyse(question, profile=engine.profile, settings=settings.retrieval)
    done("analyse")
    found = find(analysis, reader=reader, engine=engine, topk=2 * settings.retrieval.candidates)
    done("search")
    shelf = Shelf(reader, engine, analysis, scale=engine.scales[engine.scorer(found.probe)])
    ranked = shelf.passages(gather(found.ranked, reader)[: settings.rerank.topk])
    done("passages")
    ranked, found = _judged(ranked, found, shelf)
    done("rerank")
    conflicts = _conflicts(ranked, shelf)
    chosen = _with_successors(_chosen(ranked, conflicts, settings.context), ranked, conflicts, found, shelf)
    status = _status(ranked, settings.context)
    done("choose")
    context = assemble(
        chosen, reader=reader, counter=engine.open_counter(), settings=settings.context, about=shelf.about
    )
    done("context")
    missing = lacking(reader, question.filters, Result.NO_PASSAGES if status is Status.NO_RESULTS else Result.PASSAGES)
    retrieval = Retrieval(
        question=question,
        status=status,
        best=max((one.relevance for one in ranked), default=0.0),
        message=_message(status, found, reader),
        warning=_warning(status, found, chosen, conflicts if status is not Status.NO_RESULTS else (), missing),
        passages=chosen,
        filters=found.filters,
        detected=analysis.document_types,
        kind=analysis.kind,
        weights=weights_of(found.probe, analysis, mode=settings.retrieval.mode),
        degraded=(*found.degraded, *reader.missing),
        conflicts=conflicts if status is not Status.NO_RESULTS else (),
        context=context,
        index=reader.info.digest,
        settings=engine.settings_digest,
    )
    trace = RetrievalTrace(
        analysis, len(found.candidates.items), ranked, _reranker(found, engine), found.usage, (*found.notes, *missing)
    )
    return Retrieved(retrieval, trace)


def still_true(retrieved: Retrieved, reader: Reader) -> bool:
    """Whether every text of a retrieval that was kept somewhere is, to the letter, what the index holds."""
    kept = [(one.passage.doc_id, one.passage.span, one.content) for one in retrieved.retrieval.passages]
    kept += [(one.document.id, one.span, one.content) for one in retrieved.retrieval.context.blocks]
    documents = {doc_id: reader.document(doc_id) for doc_id, _, _ in kept}
    return all(
        (document := documents[doc_id]) is not None and document.text[span.start : span.end] == content
        for doc_id, span, content in kept
    )


def _reranker(found: Found, engine: Engine) -> str:
    """Who had the last word on the order."""
    if found.usage is not None and engine.judge is not None:
        return engine.judge.name
    return engine.scorer(found.probe)


def _judged(ranked: tuple[FoundPassage, ...], found: Found, shelf: Shelf) -> tuple[tuple[FoundPassage, ...], Found]:
    """The passages with the judge's scores, in one request; in the order they had when there is none or it fails."""
    judge = shelf.engine.judge
    if judge is None or not ranked:
        return ranked, found
    best = ranked[: judge.most]
    try:
        judgements, usage = judge.judge(shelf.analysis.question.text, [(one.passage.id, labelled(one)) for one in best])
    except ProviderFault as fault:
        note = f"{FALLBACK}{fault}"
        return ranked, replace(found, degraded=(*found.degraded, "rerank"), notes=(*found.notes, note))
    rescored = [shelf.rescored(one, judgement) for one, judgement in zip(best, judgements, strict=True)]
    return best_passages(rescored), replace(found, usage=usage)


def labelled(one: FoundPassage) -> str:
    """A passage as a judge reads it: with its document, its section and what it is worth."""
    about = [one.document.metadata.title or one.document.id, *one.passage.section]
    worth = f" ({one.authority}{', superseded' if one.superseded_by else ''})" if one.authority else ""
    return f"{' > '.join(about)}{worth}\n\n{one.content}"


def _status(ranked: Sequence[FoundPassage], settings: ContextSettings) -> Status:
    best = max((one.relevance for one in ranked), default=0.0)
    if best >= settings.floor:
        return Status.SUCCESS
    return Status.LOW_CONFIDENCE if best >= settings.nothing else Status.NO_RESULTS


def _chosen(
    ranked: Sequence[FoundPassage], conflicts: Sequence[Conflict], settings: ContextSettings
) -> tuple[FoundPassage, ...]:
    """What is shown: the sides of a conflict, what reaches the floor, and up to `low_max` the best of what is near."""
    if _status(ranked, settings) is Status.NO_RESULTS:
        return ()
    needed = _sides(ranked, conflicts)
    reaching = [one for one in ranked if one.relevance >= settings.floor]
    near = [one for one in ranked if one.relevance >= settings.nothing][: settings.low_max]
    wanted = dict.fromkeys(one.passage.id for one in (*needed, *reaching, *near))
    kept = set(list(wanted)[: settings.max])
    return best_passages(one for one in ranked if one.passage.id in kept)


def _with_successors(
    chosen: tuple[FoundPassage, ...],
    ranked: Sequence[FoundPassage],
    conflicts: Sequence[Conflict],
    found: Found,
    shelf: Shelf,
) -> tuple[FoundPassage, ...]:
    """What was chosen, and for what has been replaced in it the best of what replaces it, within the same number.

    For the most relevant passage and for those that reach the floor. Where there is no room for both, the successor
    stays.
    """
    settings = shelf.engine.settings.context
    kept = {one.passage.id: one for one in chosen}
    needed = {one.passage.id for one in _sides(chosen, conflicts)}
    best = max((one.relevance for one in chosen), default=0.0)
    for one in chosen:
        if one.passage.id not in kept or one.relevance < min(settings.floor, best):
            continue
        for successor in _successors(one, kept, ranked, found, shelf):
            needed |= {one.passage.id, successor.passage.id}
            kept[successor.passage.id] = successor
        while len(kept) > settings.max:
            spare = [other for other in best_passages(kept.values()) if other.passage.id not in needed]
            del kept[spare[-1].passage.id if spare else one.passage.id]
            if not spare:
                break
    return best_passages(kept.values())


def _successors(
    one: FoundPassage, kept: Mapping[str, FoundPassage], ranked: Sequence[FoundPassage], found: Found, shelf: Shelf
) -> Iterator[FoundPassage]:
    """The best passage of each document that replaces what was found in `one`, unless one of it is there already."""
    for doc_id in last_of_chain([by.by for by in replaced(one)], shelf.reader):
        if doc_id == one.passage.doc_id or any(other.passage.doc_id == doc_id for other in kept.values()):
            continue
        known = [other for other in ranked if other.passage.doc_id == doc_id]
        for best in (known or _searched_in(doc_id, found, shelf))[:1]:
            yield replace(best, successor_of=one.passage.id)


def _sides(ranked: Sequence[FoundPassage], conflicts: Sequence[Conflict]) -> list[FoundPassage]:
    """The passages that hold a side of a conflict, one for each side."""
    wanted = {one.sentence.id for conflict in conflicts for one in conflict.statements}
    found = []
    for one in ranked:
        inside = {sentence.sentence.id for sentence in one.sentences}
        if inside & wanted:
            found.append(one)
            wanted -= inside
    return found


def replaced(one: FoundPassage) -> tuple[Supersession, ...]:
    """What replaces the sentences that were found in a passage; the rest of it may be in force, or not."""
    sections = {inside.sentence.section for inside in one.sentences}
    metadata = one.document.metadata
    return tuple(dict.fromkeys(by for section in sorted(sections) for by in supersessions(metadata, section)))


def _searched_in(doc_id: str, found: Found, shelf: Shelf) -> tuple[FoundPassage, ...]:
    """What one document says about the question, unless the asker's own filters leave it out."""
    filters = within_successors(shelf.analysis.question.filters, [doc_id])
    if filters is None:
        return ()
    topk = shelf.engine.settings.rerank.topk
    there = search(filters, shelf.analysis, found.probe, reader=shelf.reader, engine=shelf.engine, topk=topk)
    return shelf.passages(gather(there.ranked, shelf.reader)[:1])


def _conflicts(ranked: Sequence[FoundPassage], shelf: Shelf) -> tuple[Conflict, ...]:
    """What the sentences that support an answer disagree about; without authority nobody knows what is in force."""
    if shelf.engine.profile.authority is None:
        return ()
    least = shelf.engine.settings.decision.support_score
    sentences = {
        one.sentence.id: statement_of(one.sentence, passage.document, shelf.engine.profile)
        for passage in ranked
        for one in passage.sentences
        if one.relevance >= least
    }
    return conflicts_of(list(sentences.values()), shelf.analysis)


def _message(status: Status, found: Found, reader: Reader) -> str | None:
    if status is not Status.NO_RESULTS:
        return None
    if found.candidates.items:
        return "No passage of the corpus is relevant to this question."
    if found.filters != NO_FILTERS:
        return "No passage of the corpus passes the filters."
    return "The corpus is empty." if reader.info.sentences == 0 else "No passage holds a word of this question."


def _warning(
    status: Status,
    found: Found,
    chosen: Sequence[FoundPassage],
    conflicts: Sequence[Conflict],
    missing: Sequence[str],
) -> str | None:
    """Everything that a reader should be careful about, in one text."""
    said = [*found.notes, *missing]
    if status is Status.LOW_CONFIDENCE:
        said.append("No passage is clearly relevant; these come nearest and may not hold the answer.")
    if chosen:
        best = max(chosen, key=lambda one: (one.relevance, one.order))
        said += _superseded(best, {one.passage.doc_id for one in chosen})
    sides = {one.sentence.id for conflict in conflicts for one in conflict.statements}
    if sides - {inside.sentence.id for one in chosen for inside in one.sentences}:
        said.append("There is no room for every side of a conflict; raise context.max.")
    return " ".join(said) or None


def _superseded(best: FoundPassage, shown: Collection[str]) -> Iterator[str]:
    by = supersessions(best.document.metadata, best.sentences[0].sentence.section)
    if by:
        where = "see what replaces it" if any(one.by in shown for one in by) else "what replaces it is not shown here"
        yield f"The most relevant passage has been superseded by {', '.join(one.by for one in by)}; {where}."
