"""`quoth docs`, `show`, `status` and `verify`."""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.answer.verification import CitationMismatch, TextOf, Verification, verify_run
from quoth.cli import options
from quoth.documents.encodings import text_sha256
from quoth.documents.files import read_again
from quoth.documents.worker.pool import Extraction
from quoth.errors import QuothError
from quoth.evaluation.judgements import texts_of
from quoth.language.display import Vocabulary, one_line
from quoth.library import Quoth
from quoth.output.render import document_json, json_line, main_tags, passage_json, quotes_json, sentence_json
from quoth.types import Document, DocumentInfo, Passage, Sentence, Span


def docs(
    index: options.Index = options.DEFAULT_INDEX,
    problems: Annotated[
        bool, typer.Option("--problems", help="List what looks wrong, and the files that were refused.")
    ] = False,
    seen_as: options.SeenAs = None,
    as_json: options.AsJson = False,
) -> None:
    """List the documents of the index, or what looks wrong with them and what to do about it.

    Examples: `quoth docs --json`, `quoth docs --problems` and `quoth docs --as board`
    """
    quoth = options.open_quoth(index, seen_as=seen_as)
    if problems:
        _print_problems(quoth, as_json=as_json)
        return
    documents = quoth.documents()
    if as_json:
        for info in documents:
            typer.echo(json_line(document_json(info)))
        return
    from quoth.cli.terminal import OUT, OutputConsole, plain, print_table

    usual = next(iter(quoth.info.languages), "")
    rows = [_listed(info, usual=usual) for info in documents]
    names = [name for name in rows[0] if any(row[name] for row in rows)] if rows else ["document"]
    wide = OutputConsole(highlight=False, emoji=False, width=options.AS_WIDE_AS_NEEDED)
    cells = ([plain(row[name]) for name in names] for row in rows)
    print_table(names, cells, fold=True, console=OUT if OUT.is_terminal else wide)


def _print_problems(quoth: Quoth, *, as_json: bool) -> None:
    from quoth.output.inspection_report import SEVERITIES, inspection_json, page_ranges, problems_of

    with options.progress_bars() as progress:
        inspection = quoth.inspect(progress=progress)
    for shard in inspection.missing:
        typer.echo(f"note: {shard} does not answer; its documents are left out", err=True)
    if as_json:
        for line in inspection_json(inspection):
            typer.echo(json_line(line))
        return
    from quoth.cli.terminal import OUT, plain

    for severity, found in groupby(problems_of(inspection), key=lambda pair: pair[1].severity):
        OUT.print(f"[bold]{SEVERITIES[severity]}[/bold]")
        for doc_id, problem in found:
            where = f"{doc_id}, {page_ranges(problem.pages)}" if problem.pages else doc_id
            OUT.print(f"  {plain(where)}: {plain(problem.detail)}", soft_wrap=True)
            if problem.next_step:
                OUT.print(f"    [dim]{plain(problem.next_step)}[/dim]", soft_wrap=True)
    documents = len(inspection.documents)
    affected = len({doc_id for doc_id, _ in problems_of(inspection)})
    typer.echo(
        f"{affected} of {documents + len(inspection.refused)} documents and refused files have problems", err=True
    )


def _listed(info: DocumentInfo, *, usual: str) -> dict[str, str]:
    """Return a document's row; columns that are empty for every document are hidden.

    `usual` is the language that a document of unknown language is taken to be in.
    """
    about = info.metadata
    return {
        "document": info.id,
        "format": info.format,
        "pages": str(info.pages or ""),
        "sentences": str(info.sentences),
        "type": f"{about.document_type or ''}{' (guessed)' if about.type_guessed else ''}",
        "binding": {True: "yes", False: "no", None: ""}[about.is_binding],
        "effective": about.effective_date or "",
        "superseded by": ", ".join(
            f"{successor.by} ({successor.section or 'all'})" for successor in about.superseded_by
        ),
        "language": about.language or (f"({usual})" if usual else ""),
        "tags": ", ".join(f"{facet} {value}" for facet, values in about.tags.items() for value in values),
        "access": ", ".join(info.access),
        "by": about.byline or "",
        "title": about.title or "",
    }


def show(
    doc_id: Annotated[
        str, typer.Argument(help="The document's id, as `quoth docs` lists it.", autocompletion=options.complete_doc_id)
    ],
    index: options.Index = options.DEFAULT_INDEX,
    text: Annotated[bool, typer.Option("--text", help="Print the canonical text, exactly.")] = False,
    sentences: Annotated[bool, typer.Option("--sentences", help="List every sentence with its place.")] = False,
    passages: Annotated[bool, typer.Option("--passages", help="List every passage with its place.")] = False,
    span: Annotated[
        str | None,
        typer.Option("--span", metavar="START:END", help="Print this slice, and where it stands on its pages."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Show a document: what is known about it, its text, how it was split, or where a quote is printed.

    Example: `quoth show canola/guide.md --sentences --json`
    """
    quoth = options.open_quoth(index)
    document = quoth.document(doc_id)
    if document is None:
        raise QuothError(f"the index holds no document '{doc_id}'", hint="quoth docs lists the ids.")
    if text:
        sys.stdout.buffer.write(document.text.encode("utf-8"))
    elif sentences:
        _show_sentences(document, quoth.sentences(doc_id), as_json=as_json)
    elif passages:
        _show_passages(document, quoth.passages(doc_id), as_json=as_json)
    elif span is not None:
        _show_span(quoth, document, _parsed(span, document), as_json=as_json)
    else:
        info = next(info for info in quoth.documents() if info.id == doc_id)
        _show_about(document, info, as_json=as_json)


def _show_sentences(document: Document, sentences: tuple[Sentence, ...], *, as_json: bool) -> None:
    vocabulary = Vocabulary(document.text)
    for sentence in sentences:
        if as_json:
            typer.echo(json_line(sentence_json(sentence, vocabulary)))
            continue
        span = sentence.quote.span
        page = f"page {sentence.page}" if sentence.page else ""
        about = [sentence.kind.value, page, " > ".join(sentence.section), *main_tags(sentence.tags).values()]
        typer.echo(f"{span.start}-{span.end}\t{' · '.join(filter(None, about))}\t{sentence.text!r}")


def _show_passages(document: Document, passages: tuple[Passage, ...], *, as_json: bool) -> None:
    for passage in passages:
        content = document.quote(passage.span)
        if as_json:
            typer.echo(json_line(passage_json(passage, content)))
            continue
        page = f"page {passage.page}" if passage.page else ""
        about = [f"{passage.tokens} tokens", page, " > ".join(passage.section)]
        typer.echo(f"{passage.span.start}-{passage.span.end}\t{' · '.join(filter(None, about))}\t{content[:80]!r}")


def _parsed(text: str, document: Document) -> Span:
    start, _, end = text.partition(":")
    try:
        span = Span(int(start), int(end))
    except ValueError as error:
        raise QuothError(f"--span {text} is not START:END", hint="For example: --span 1200:1268") from error
    if span.end > len(document.text):
        raise QuothError(f"{document.id} has {len(document.text)} characters", hint="Take offsets from a citation.")
    return span


def _show_span(quoth: Quoth, document: Document, span: Span, *, as_json: bool) -> None:
    """Return the slice and its rectangles, which a viewer can draw on the page."""
    places = quoth.locate(document.id, span.start, span.end)
    if as_json:
        rectangles = [{"page": page, "box": list(box)} for page, box in places]
        slice_ = {"doc_id": document.id, "start": span.start, "end": span.end, "text": document.quote(span)}
        typer.echo(json_line({**slice_, "unit": "point", "rectangles": rectangles}))
        return
    typer.echo(document.quote(span))
    for page, box in places:
        typer.echo(f"page {page}: " + " ".join(f"{side:g}" for side in box))


def _show_about(document: Document, info: DocumentInfo, *, as_json: bool) -> None:
    about = document_json(info)
    if as_json:
        typer.echo(json_line(about))
        return
    for key, value in about.items():
        if value not in (None, [], {}) and (key not in {"type_guessed", "language_recognised"} or value):
            typer.echo(f"{key:<15} {one_line(str(value))}")
    typer.echo(f"{'first line':<15} {next((line for line in document.text.splitlines() if line.strip()), '')!r}")


def status(
    index: options.Index = options.DEFAULT_INDEX,
    quality: Annotated[
        bool, typer.Option("--quality", help="How good retrievals look: those of the query log, or of QUESTIONS.")
    ] = False,
    questions: Annotated[
        Path | None, typer.Option(help="With --quality: retrieve for these questions, one a line or JSONL.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --quality: only what was logged since, e.g. 2026-01-31.")
    ] = None,
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
) -> None:
    """What the index holds, which model and profile made it, and how much room it takes.

    Examples: `quoth status --json` and `quoth status --quality --questions questions.txt`
    """
    if (questions or since) and not quality:
        raise typer.BadParameter("--questions and --since go with --quality")
    quoth = options.open_quoth(index, config=config, assignments=assignments)
    if quality:
        from quoth.cli.evaluation_tables import report

        report(quoth, questions, since, as_json=as_json, quiet=quiet)
        return
    info = quoth.info
    about: dict[str, Any] = {
        "index": quoth.location,
        "documents": info.documents,
        "sentences": info.sentences,
        "languages": dict(info.language_counts) if as_json else _counted(info.language_counts),
        "profile": info.profile_name,
        "model": info.model.name,
        "revision": info.model.revision,
        "precision": info.model.precision,
        "dimension": info.model.dimension,
        "generation": info.generation,
        "format": info.format,
        "digest": info.digest,
        "bytes": quoth.size(),
    }
    if as_json:
        typer.echo(json_line(about))
    else:
        options.print_values(about)


def _counted(languages: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{code} {count:,}" for code, count in languages) or "unknown"


def verify(
    run: Annotated[Path | None, typer.Argument(help="A run file; without one the index itself is checked.")] = None,
    index: options.Index = options.DEFAULT_INDEX,
    root: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Check against the source files under this folder."),
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Check this many random sentences of the index.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Slice every citation again and compare it with its source; exit code 1 when one does not hold.

    Examples: `quoth verify run.jsonl --root guides/` and `quoth verify --index .quoth --sample 200`
    """
    limits = options.overrides(config, assignments).without_profile().ingest
    with Extraction(limits) as extraction:
        text_of = _from_files(root, extraction, limits.max_file_mb) if root else texts_of(options.open_quoth(index))
        if run is None:
            result = _verify_index(options.open_quoth(index), text_of, sample=sample, seed=seed)
        else:
            result = verify_run(results_of(run), text_of)
    for failure in result.failures:
        quoted = f"{failure.doc_id}[{failure.start}:{failure.end}]"
        typer.secho(f"question {failure.question_id}: {quoted}: {failure.why}", err=True, fg="red")
    if as_json:
        typer.echo(json_line(asdict(result)))
    else:
        typer.echo(f"{result.citations - len(result.failures)} of {result.citations} citations are exact")
    if result.failures:
        raise typer.Exit(1)


def results_of(run: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = run.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise QuothError(f"cannot read {run}: {error}", hint="Give the file that quoth batch wrote.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            result = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QuothError(f"{run}, line {number} is not JSON: {error}", hint="Was the run cut off?") from error
        if not _is_result(result):
            raise QuothError(f"{run}, line {number} is no result", hint="Give the file that quoth batch wrote.")
        yield result


def _is_result(line: object) -> bool:
    """Return whether a line has the shape of a result; its citations are checked later."""
    if not isinstance(line, dict):
        return False
    lists = [line.get(name, []) for name in ("answer_sentences", "nearest", "see_also")]
    return all(isinstance(citations, list) for citations in lists) and all(
        isinstance(citation, dict) and isinstance(citation.get("lead") or {}, dict)
        for citations in lists
        for citation in citations
    )


def _from_files(root: Path, extraction: Extraction, most_mb: int) -> TextOf:
    @lru_cache(maxsize=64)
    def text_of(doc_id: str) -> str | None:
        again = read_again(root, doc_id, extraction=extraction, most_mb=most_mb)
        return again[0] if again else None

    return text_of


def _verify_index(quoth: Quoth, text_of: TextOf, *, sample: int | None, seed: int) -> Verification:
    """Check sentences against the texts of the index or the files, and the texts against their hashes."""
    documents = quoth.documents()
    failures = [
        CitationMismatch("-", info.id, 0, info.characters, "the text does not match its hash")
        for info in documents
        if (text := text_of(info.id)) is None or text_sha256(text) != info.sha256
    ]
    ordinals = _sampled(documents, sample, seed)
    checked = verify_run((_as_result(quoth, doc_id, ordinals[doc_id]) for doc_id in sorted(ordinals)), text_of)
    return Verification(checked.citations + len(failures), (*failures, *checked.failures))


def _sampled(documents: Sequence[DocumentInfo], sample: int | None, seed: int) -> dict[str, Container[int]]:
    """Return the ordinals of the sentences to check, by document."""
    if sample is None:
        return {info.id: range(info.sentences) for info in documents}
    every = [(info.id, ordinal) for info in documents for ordinal in range(info.sentences)]
    chosen = random.Random(seed).sample(every, min(sample, len(every)))  # noqa: S311 - a sample, not a secret
    ordinals: dict[str, set[int]] = defaultdict(set)
    for doc_id, ordinal in chosen:
        ordinals[doc_id].add(ordinal)
    return {**ordinals}


def _as_result(quoth: Quoth, doc_id: str, ordinals: Container[int]) -> dict[str, Any]:
    chosen = [sentence for ordinal, sentence in enumerate(quoth.sentences(doc_id)) if ordinal in ordinals]
    return {"question_id": "-", "answer_sentences": [quotes_json(sentence) for sentence in chosen]}
