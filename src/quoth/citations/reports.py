"""Reports for people: each question with its quotes and numbered sources, as Markdown or as one HTML page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from quoth.citations.cited_quotes import shown_of
from quoth.citations.text_fragments import quote_link
from quoth.output.citation_label import printable
from quoth.output.json_types import AnswerJson, CitationJson
from quoth.types import Document

_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|$^]")
_BEGINS_BLOCK = re.compile(r"^(?:[#+=:-]|\d+(?=[.)]))")
_LINE_END = re.compile(r"\r\n?|\n")
"""A line end of CommonMark, for which a single carriage return is one."""
TITLE = "Questions and quotes"


@dataclass(frozen=True, slots=True)
class Footnote:
    """The source of a quote, as a report prints it. `link` is None where nobody said where the sources are."""

    number: int
    title: str
    details: tuple[str, ...]
    place: str
    link: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """The questions of a run, and the source of each place that is shown."""

    questions: Sequence[AnswerJson]
    sources: Mapping[tuple[str, int, int], Footnote]

    def source(self, quote: CitationJson) -> Footnote:
        return self.sources[_key(quote)]


def make_report(questions: Sequence[AnswerJson], documents: Mapping[str, Document], *, base_url: str | None) -> Report:
    """Return the report of a run. A place that is quoted again keeps its number."""
    sources: dict[tuple[str, int, int], Footnote] = {}
    for quote in (quote for question in questions for quote in shown_of(question)):
        if _key(quote) not in sources:
            sources[_key(quote)] = _footnote(len(sources) + 1, quote, documents[quote.doc_id], base_url)
    return Report(questions, sources)


def _key(quote: CitationJson) -> tuple[str, int, int]:
    return quote.doc_id, quote.start, quote.end


def _footnote(number: int, quote: CitationJson, document: Document, base_url: str | None) -> Footnote:
    about = document.metadata
    details = (
        about.byline or "",
        f"DOI {about.doi}" if about.doi else "",
        " › ".join(heading for heading in quote.section if heading != about.title),
        f"p. {quote.page}" if quote.page else "",
    )
    return Footnote(
        number,
        printable(about.title or document.id),
        tuple(printable(detail) for detail in details if detail),
        printable(f"{document.id} [{quote.start}:{quote.end}]"),
        None if base_url is None else quote_link(quote, document, base_url=base_url),
    )


def _verdict(question: AnswerJson) -> str | None:
    """Return why a question has no answer; None when it has one."""
    if question.answer_sentences:
        return None
    why = f": {printable(question.reason.detail)}" if question.reason else "."
    return f"No answer{why}" + (" This may be relevant:" if shown_of(question) else "")


def report_markdown(report: Report) -> str:
    """Return the report in CommonMark with footnotes. Rendered, each quote shows the words of its document.

    White space at the ends of lines is lost, and every line end is a hard break or ends a paragraph.
    """
    lines = [f"# {TITLE}", ""]
    for question in report.questions:
        lines += [f"## {_escaped(printable(question.question))}", ""]
        if question.understood:
            lines += [f"Understood as: {_escaped(printable(question.understood))}", ""]
        if verdict := _verdict(question):
            lines += [f"*{_escaped(verdict)}*", ""]
        for quote in shown_of(question):
            lead = [f"> *{_escaped(printable(quote.lead.text))}*", ">"] if quote.lead else []
            lines += [*lead, f"{_quoted(quote.text)} [^{report.source(quote).number}]", ""]
            lines += [f"{_escaped(printable(quote.why))}", ""] if quote.why else []
    for note in report.sources.values():
        title = f"[{_escaped(note.title)}](<{note.link}>)" if note.link else _escaped(note.title)
        about = ", ".join([title, *map(_escaped, note.details)])
        lines += [f"[^{note.number}]: {about}. {_escaped(note.place)}", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _quoted(text: str) -> str:
    """Return a block quote, with a hard line break for each line end of the text."""
    lines = [_escaped(line.strip()) for line in _LINE_END.split(text)]
    ends = ["\\" if line and following else "" for line, following in zip(lines, [*lines[1:], ""], strict=True)]
    return "\n".join(f"> {line}{end}".rstrip() for line, end in zip(lines, ends, strict=True))


def _escaped(text: str) -> str:
    """Return a line in Markdown that renders as this text."""
    escaped = _SPECIAL.sub(lambda sign: f"\\{sign[0]}", text)
    begins = _BEGINS_BLOCK.match(escaped)
    if begins is None:
        return escaped
    at = begins.end() if begins[0].isdigit() else 0
    return f"{escaped[:at]}\\{escaped[at:]}"


def report_html(report: Report) -> str:
    """Return the report as one page that loads nothing and runs no script."""
    from jinja2 import Environment, StrictUndefined  # only this page needs it

    page = files("quoth.citations").joinpath("cited_report.html").read_text("utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return template.from_string(page).render(title=TITLE, report=report, verdict=_verdict, shown_of=shown_of)
