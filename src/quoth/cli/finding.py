"""`quoth find`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated

import typer

from quoth.cli import options
from quoth.cli.filter_options import with_filter_options
from quoth.language.display import one_line
from quoth.types import NO_FILTERS, Filters, Match

_AT_ONCE = 200
"""Lines that are written together: one by one would take longer than finding them."""


@with_filter_options
def find(
    pattern: Annotated[list[str], typer.Argument(help="The words, as a phrase, or the regular expression.")],
    index: options.Index = options.DEFAULT_INDEX,
    regex: Annotated[bool, typer.Option("--regex", help="The pattern is a regular expression, as in Python.")] = False,
    near: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The words in any order, the last at most N words after the first."),
    ] = None,
    case: Annotated[bool, typer.Option("--case", help="Upper and lower case are different.")] = False,
    count: Annotated[bool, typer.Option("--count", help="Only how often each document holds it.")] = False,
    most: Annotated[int | None, typer.Option("--max", min=1, help="Show so many matches; all are counted.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
    seen_as: options.SeenAs = None,
    filters: Filters = NO_FILTERS,
) -> None:
    """Find words, wherever they stand in the documents: with section, page, exact offsets and counts.

    The words are looked for as a phrase of whole words, whatever their case and the white space between them, in the
    whole text: headings, tables, bibliographies and footers too.

    Examples: `quoth find "soil pH"`, `quoth find canola sulfur --near 10`, `quoth find --regex "[0-9]+ kg" --count`
    """
    from quoth.search.find_matches import find_matches
    from quoth.search.patterns import compile_pattern

    compiled = compile_pattern(" ".join(pattern), regex=regex, near=near, case=case)
    documents, total, left = 0, 0, most
    with options.open_quoth(index, seen_as=seen_as).reading() as reader:
        for shard in reader.missing:
            typer.echo(f"note: {shard} does not answer; its documents are left out", err=True)
        for found in find_matches(compiled, filters, reader=reader):
            documents, total = documents + 1, total + found.count
            if count:
                _write([_count_line(found.info.id, found.info.sha256, found.count, as_json=as_json)])
            elif left != 0:
                shown = islice(found.matches, left)
                left = None if left is None else max(0, left - found.count)
                lines = _json_lines if as_json else _lines
                _write(lines(found.info.id, found.info.sha256, found.count, shown))
    shown_of = f"{most:,} of " if most is not None and not count and most < total else ""
    where = f" in {documents:,} document{'' if documents == 1 else 's'}" if documents else ""
    typer.echo(f"{shown_of}{total:,} match{'' if total == 1 else 'es'}{where}", err=True)


def _write(lines: Iterable[str]) -> None:
    several = iter(lines)
    while block := list(islice(several, _AT_ONCE)):
        typer.echo("\n".join(block))


def _count_line(doc_id: str, sha256: str, count: int, *, as_json: bool) -> str:
    if as_json:
        from quoth.output.match_json import count_json
        from quoth.output.render import json_line

        return json_line(count_json(doc_id, sha256, count))
    return f"{count:>7}  {one_line(doc_id)}"


def _json_lines(doc_id: str, sha256: str, _count: int, matches: Iterable[Match]) -> Iterator[str]:
    from quoth.output.match_json import match_json
    from quoth.output.render import json_line

    return (json_line(match_json(doc_id, sha256, match)) for match in matches)


def _lines(doc_id: str, _sha256: str, count: int, matches: Iterable[Match]) -> Iterator[str]:
    """Yield the document, then a line for each match: its place, and the words around it with the match in bold."""
    yield f"{typer.style(one_line(doc_id), fg='cyan', bold=True)} ({count:,})"
    for match in matches:
        start, end = match.quote.span.start, match.quote.span.end
        place = ", ".join([*_place(match), f"[{start}:{end}]"])
        around, low = match.context.text, match.context.span.start
        before, behind = around[: start - low], around[end - low :]
        text = f"{_flat(before)}{typer.style(_flat(match.quote.text), bold=True)}{_flat(behind)}".strip()
        if match.sentence:
            text = f"{'… ' * (low > match.sentence.start)}{text}{' …' * (match.context.span.end < match.sentence.end)}"
        yield f"  {typer.style(one_line(place), dim=True)}  {text}"


def _place(match: Match) -> Iterator[str]:
    if match.section:
        heading = match.section[-1]
        yield f"§{heading}" if heading[:1].isdigit() else heading
    if match.page:
        yield f"p. {match.page}"


def _flat(text: str) -> str:
    """Return a text on one line, with a space where it begins or ends with white space."""
    return f"{' ' * text[:1].isspace()}{one_line(text)}{' ' * text[-1:].isspace()}" if text.strip() else text and " "
