"""`quoth export-quotes`, `import-quotes` and `export-pdf`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.cli import options
from quoth.errors import QuothError

if TYPE_CHECKING:
    from quoth.citations.web_annotations import ImportedQuote
    from quoth.output.json_types import AnswerJson
    from quoth.protocols import Reader


class ExportFormat(StrEnum):
    ANNOTATIONS = "annotations"
    MARKDOWN = "markdown"
    HTML = "html"
    LINKS = "links"
    BIBTEX = "bibtex"
    RIS = "ris"
    CSL = "csl"


Run = Annotated[str, typer.Argument(help="The file that `quoth batch` wrote; - for standard input.")]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="The address that the sources stand below.")
]


def export_quotes(
    run: Run,
    form: Annotated[ExportFormat, typer.Option("--format", "-f", help="What to write.")] = ExportFormat.MARKDOWN,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write; standard output if absent.")
    ] = None,
    base_url: BaseUrl = None,
    index: options.Index = options.DEFAULT_INDEX,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Write the quotes of a run for other programs and for people, after comparing each with its document.

    `markdown` and `html` are reports with numbered sources, `annotations` are W3C Web Annotations, `links` are
    addresses that a browser opens at the quote, and `bibtex`, `ris` and `csl` are the cited documents for reference
    managers.

    Example: `quoth export-quotes run.jsonl --format html -o report.html`
    """
    from quoth.citations.cited_quotes import checked_base

    base = None if base_url is None else checked_base(base_url)
    if form is ExportFormat.LINKS and base is None:
        raise typer.BadParameter("links need the address of the sources: --base-url URL", param_hint="--format")
    questions = _questions(run)
    if output is not None:
        options.check_output(output, questions=run)
    with options.open_quoth(index, config=config, assignments=assignments).reading() as reader:
        options.write_output(_exported(questions, reader, form, base), output)


def _questions(run: str) -> tuple[AnswerJson, ...]:
    from quoth.citations.cited_quotes import read_run

    with options.lines_of(run) as lines:
        return read_run(lines, name=run)


def _exported(questions: Sequence[AnswerJson], reader: Reader, form: ExportFormat, base_url: str | None) -> str:
    from quoth.citations import bibliography, reports
    from quoth.citations.cited_quotes import answer_quotes, cited_documents, shown_of
    from quoth.citations.text_fragments import quote_link
    from quoth.citations.web_annotations import annotations_json

    is_report = form in {ExportFormat.MARKDOWN, ExportFormat.HTML}
    quotes = [it for one in questions for it in shown_of(one)] if is_report else answer_quotes(questions)
    documents = cited_documents(quotes, reader)
    if is_report:
        report = reports.make_report(questions, documents, base_url=base_url)
        return reports.report_markdown(report) if form is ExportFormat.MARKDOWN else reports.report_html(report)
    match form:
        case ExportFormat.ANNOTATIONS:
            collection = annotations_json(questions, documents, base_url=base_url)
            return json.dumps(collection, ensure_ascii=False, indent=2) + "\n"
        case ExportFormat.BIBTEX:
            return bibliography.bibtex(documents.values(), base_url=base_url)
        case ExportFormat.RIS:
            return bibliography.ris(documents.values(), base_url=base_url)
        case ExportFormat.CSL:
            return bibliography.csl_json(documents.values(), base_url=base_url)
    return "".join(f"{quote_link(quote, documents[quote.doc_id], base_url=base_url or '')}\n" for quote in quotes)


def import_quotes(
    annotations: Annotated[str, typer.Argument(help="A JSON file of Web Annotations; - for standard input.")],
    base_url: BaseUrl = None,
    index: options.Index = options.DEFAULT_INDEX,
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Turn Web Annotations into quotes of the index, each at its exact place.

    An annotation that the index does not bear out is refused by name, and the exit code is 1.

    Example: `quoth import-quotes notes.jsonld --base-url https://example.org/library --json`
    """
    from quoth.citations.cited_quotes import checked_base
    from quoth.citations.web_annotations import ImportedQuote, read_annotations
    from quoth.language.display import one_line

    base = None if base_url is None else checked_base(base_url)
    with options.lines_of(annotations) as lines:
        try:
            content = json.loads(lines.read().removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            hint = "Give Web Annotations, as quoth export-quotes --format annotations writes them."
            raise QuothError(f"{annotations} is not JSON: {error}", hint=hint) from error
    refused = []
    with options.open_quoth(index, config=config, assignments=assignments).reading() as reader:
        for found in read_annotations(content, reader, base_url=base):
            if isinstance(found, ImportedQuote):
                _print_imported(found, as_json=as_json)
            else:
                refused.append(one_line(f"{found.annotation}: {found.why} ({found.code})"))
    options.exit_after(refused)


def _print_imported(found: ImportedQuote, *, as_json: bool) -> None:
    from quoth.language.display import one_line
    from quoth.output.render import json_line

    start, end, words = found.span.start, found.span.end, found.document.quote(found.span)
    if not as_json:
        typer.echo(f"{one_line(found.document.id)}[{start}:{end}]\t{found.found_by}\t{one_line(words)}")
        return
    place = {"doc_id": found.document.id, "start": start, "end": end, "text": words}
    about = {"doc_sha256": found.document.sha256, "found_by": found.found_by, "note": found.note}
    typer.echo(json_line({"annotation": found.annotation, **place, **about}))


def export_pdf(
    run: Run,
    root: Annotated[
        Path, typer.Option("--root", exists=True, file_okay=False, help="The folder of sources that was ingested.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", file_okay=False, help="A folder for the copies.")],
    force: Annotated[bool, typer.Option("--force", help="Replace files that are in the place of a copy.")] = False,
    index: options.Index = options.DEFAULT_INDEX,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Copy the cited PDFs with the quotes highlighted, and the questions as notes. The sources stay as they are.

    A file that is already in the place of a copy, with other content, stays too unless `--force` is given.

    Example: `quoth export-pdf run.jsonl --root papers/ -o marked/`
    """
    from quoth.citations.cited_quotes import answer_quotes, cited_documents
    from quoth.citations.pdf_highlights import highlighted_pdf, highlights_of
    from quoth.documents.files import read_bytes
    from quoth.documents.worker.pool import Extraction

    questions = _questions(run)
    limits = options.overrides(config, assignments).without_profile().ingest
    problems: list[str] = []
    opened = options.open_quoth(index, config=config, assignments=assignments)
    with opened.reading() as reader, Extraction(limits) as workers:
        for info in reader.documents(list(cited_documents(answer_quotes(questions), reader))):
            if info.format != "pdf":
                typer.echo(f"note: {info.id} is no PDF", err=True)
                continue
            try:
                source, target = _places(info.id, root, output)
                data = read_bytes(source, label=info.id, most_mb=limits.max_file_mb, workers=workers)
                highlights, unprinted = highlights_of(questions, reader, info)
                _write_copy(highlighted_pdf(data, highlights, info=info), target, force=force)
            except QuothError as error:
                problems.append(" ".join(filter(None, (f"{error}.", error.hint))))
                continue
            typer.echo(f"{target}: {len(highlights)} highlight{'' if len(highlights) == 1 else 's'}")
            problems += [f"{info.id}: {unprinted} of its quotes are on no page of the index"] if unprinted else []
    options.exit_after(problems)


def _write_copy(data: bytes, target: Path, *, force: bool) -> None:
    """Write a copy. Raise `QuothError` where another file is, such as a copy that somebody added notes to."""
    if target.exists() and not force and not (target.is_file() and target.read_bytes() == data):
        raise QuothError(f"{target} is already there", hint="Choose another folder with -o, or add --force.")
    options.write_file(data, target)


def _places(doc_id: str, root: Path, output: Path) -> tuple[Path, Path]:
    """Return the file of a document and the place of its copy, which is never among the sources."""
    inside, source, target = root.resolve(), (root / doc_id).resolve(), output / doc_id
    if not source.is_relative_to(inside):
        raise QuothError(f"{doc_id} leads out of {root}", hint="Give the folder that was ingested, with --root.")
    if target.resolve().is_relative_to(inside):
        hint = "Choose a folder outside of --root with -o."
        raise QuothError(f"the copy of {doc_id} would lie among the sources", hint=hint)
    return source, target
