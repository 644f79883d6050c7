"""Quotes leave as annotations, reports and references; annotations come back as quotes, or are refused by name."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from doors.command_line import failed, run
from quoth.citations.bibliography import bibtex, citation_key, csl_json, ris
from quoth.citations.cited_quotes import checked_base, doc_id_of, read_run, source_iri
from quoth.citations.reports import _quoted, make_report, report_html, report_markdown
from quoth.citations.web_annotations import (
    ImportedQuote,
    RefusedAnnotation,
    _cuts,
    annotations_json,
    read_annotations,
)
from quoth.errors import OffsetMismatch, QuothError
from quoth.output.source_slices import DocumentChanged
from quoth.types import Span

from .export_corpus import HTML, NOTES, PDF, Corpus, exported_corpus, result, write_run  # noqa: F401 - a fixture

BASE = "https://example.org/library"
SOWN = "Sow canola at 2.5 cm."
SIGNS = "*Not* a [list](x): <b>bold</b> & `code` | 2^3 ~ $4$ at C:\\x_y."


def imported(corpus: Corpus, content: object, base: str | None = None) -> list[ImportedQuote | RefusedAnnotation]:
    with corpus.quoth.reading() as reader:
        return list(read_annotations(content, reader, base_url=base))


def annotation(selector: object, source: object = "field%20notes/canola%20%26%20co.md") -> dict[str, Any]:
    target = {"source": source, "selector": selector}
    return {"@context": "http://www.w3.org/ns/anno.jsonld", "id": "urn:x:1", "type": "Annotation", "target": target}


def words(exact: str, **around: str) -> dict[str, Any]:
    return {"type": "TextQuoteSelector", "exact": exact, **around}


def offsets(start: object, end: object) -> dict[str, Any]:
    return {"type": "TextPositionSelector", "start": start, "end": end}


def found_by(corpus: Corpus, selector: object) -> tuple[int, str]:
    (one,) = imported(corpus, annotation(selector))
    assert isinstance(one, ImportedQuote), one
    return one.span.start, one.found_by


def refused(corpus: Corpus, content: object) -> str:
    (one,) = imported(corpus, content)
    assert isinstance(one, RefusedAnnotation), one
    return one.code


def test_an_annotation_has_what_the_model_asks_for(corpus: Corpus) -> None:
    quote = corpus.quote(PDF, "Canola yields more in cold soil.")
    questions, documents = corpus.questions(result("What yields more?", [quote]))
    collection = annotations_json(questions, documents, base_url=BASE)
    (one,) = collection["first"]["items"]

    assert (collection["@context"], collection["total"]) == ("http://www.w3.org/ns/anno.jsonld", 1)
    assert collection["first"]["partOf"] == collection["id"] != one["id"] != collection["first"]["id"]
    assert [collection["type"], collection["first"]["type"], one["type"]] == [
        "AnnotationCollection",
        "AnnotationPage",
        "Annotation",
    ]
    assert one["body"] == {
        "type": "TextualBody",
        "value": "What yields more?",
        "format": "text/plain",
        "purpose": "questioning",
    }
    assert one["target"]["source"] == f"{BASE}/papers/first.pdf"
    by_words, by_offsets, by_page = one["target"]["selector"]
    text = documents[PDF].text
    assert by_words["exact"] == text[by_offsets["start"] : by_offsets["end"]] == quote["text"]
    assert text.startswith(by_words["exact"] + by_words["suffix"])
    assert "prefix" not in by_words
    assert by_page == {
        "type": "FragmentSelector",
        "conformsTo": "http://tools.ietf.org/rfc/rfc3778",
        "value": "page=1",
        "refinedBy": by_words,
    }
    assert annotations_json(questions, documents, base_url=BASE) == collection


@pytest.mark.parametrize("base", [None, BASE, BASE + "/"])
def test_what_is_exported_comes_back_at_its_place(corpus: Corpus, base: str | None) -> None:
    quotes = [
        corpus.quote(NOTES, SOWN),
        corpus.quote(NOTES, SOWN, nth=1),
        corpus.quote(HTML, "Bring the papers.", nth=1),
        corpus.quote(PDF, "Barley stands on a turned page."),
    ]
    questions, documents = corpus.questions(result("How deep?", quotes))
    found = imported(corpus, json.loads(json.dumps(annotations_json(questions, documents, base_url=base))), base)

    assert [(one.document.id, one.span.start, one.span.end, one.found_by, one.note) for one in found] == [  # type: ignore[union-attr]
        (quote["doc_id"], quote["start"], quote["end"], "place", "How deep?") for quote in quotes
    ]


def test_words_are_found_where_their_surroundings_tell_the_place(corpus: Corpus) -> None:
    first, second = (corpus.quote(NOTES, SOWN, nth=nth)["start"] for nth in range(2))

    assert found_by(corpus, words(SOWN, prefix="Canola\n\n")) == (first, "quote")
    assert found_by(corpus, words("Sow   canola\nat 2.5 cm.", suffix=" Rest")) == (second, "quote")
    assert found_by(corpus, [words(SOWN), offsets(second, second + len(SOWN))]) == (second, "place")
    # Offsets that count in another text give way to words that stand at one place.
    assert found_by(corpus, [offsets(3, 9), words(SOWN, suffix=" Rest")]) == (second, "quote")
    assert found_by(corpus, offsets(first, first + 3)) == (first, "offsets_only")


@pytest.mark.parametrize(
    ("selector", "code"),
    [
        (words(SOWN), "ambiguous"),
        ([words(SOWN), offsets(3, 9)], "ambiguous"),
        (words("Sow canola at 2.6 cm."), "not-found"),
        (words("sow canola again in May."), "not-found"),
        (words("Sow canola again in May.", prefix="at 2.6 cm. "), "not-found"),
        (words("Sow canola again in May.", suffix="nobody"), "not-found"),
        ([words("Sow canola again in May."), words("Rest.")], "contradiction"),
        (words(" "), "malformed"),
        (words(5), "malformed"),  # type: ignore[arg-type]
        (words("x" * 30_000), "malformed"),
        (offsets(5, 5), "outside"),
        (offsets(-1, 5), "outside"),
        (offsets(0, 10**9), "outside"),
        (offsets("0", True), "outside"),
        ({"type": "XPathSelector", "value": "/p[1]"}, "unsupported-selector"),
        ({"type": "FragmentSelector", "value": "page=1"}, "unsupported-selector"),
        ({"type": "FragmentSelector", "value": "page=1", "refinedBy": words("Rest.")}, "outside"),
        ({**words("Rest."), "refinedBy": offsets(0, 1)}, "unsupported-selector"),
        (words("5 cm. Sow"), "cut-word"),
        (words("anola again in May."), "cut-word"),
        (words("Sow canola again in Ma"), "cut-word"),
        (offsets(5, 8), "cut-word"),
        ([], "unsupported-selector"),
        ("Rest.", "unsupported-selector"),
    ],
)
def test_what_does_not_tell_one_place_is_refused(corpus: Corpus, selector: object, code: str) -> None:
    assert refused(corpus, annotation(selector)) == code


def test_a_cut_word_is_taken_where_the_annotation_says_how_it_goes_on(corpus: Corpus) -> None:
    document = corpus.document(NOTES)
    start = document.text.index("5 cm. Sow")

    assert found_by(corpus, words("5 cm. Sow", prefix="at 2.")) == (start, "quote")
    assert found_by(corpus, words("Sow canola again in Ma", suffix="y.")) == (start + 6, "quote")
    assert found_by(corpus, [words("5 cm. Sow", prefix="2."), offsets(start, start + 9)]) == (start, "place")


@pytest.mark.parametrize(
    ("text", "quoted", "cut"),
    [
        ("At -5 °C it dies.", "5 °C", True),
        ("Sow at 2,5 cm.", "5 cm", True),
        ("It rose by 5%.", "by 5", True),
        ("In 2018 farmers sowed.", "In 2018", False),
        ("Sow at 5 cm.", "at 5", False),
        ("> 5 cm is deep.", "5 cm", False),
        ("Dès l'été on sème.", "été", False),
        ("春に植える。", "植える", False),
    ],
)
def test_a_quote_is_cut_only_inside_a_word_or_number(text: str, quoted: str, cut: bool) -> None:
    start = text.index(quoted)

    assert _cuts(text, Span(start, start + len(quoted))) is cut


def test_white_space_around_the_words_and_offsets_does_not_count(corpus: Corpus) -> None:
    text = corpus.document(NOTES).text
    second = text.index(SOWN, text.index(SOWN) + 1)
    end = second + len(SOWN)

    assert text[end] == " "
    assert found_by(corpus, [words(SOWN + " "), offsets(second, end + 1)]) == (second, "place")
    assert found_by(corpus, offsets(second, end + 1)) == (second, "offsets_only")
    assert refused(corpus, annotation(offsets(end, end + 1))) == "malformed"


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ({"source": "nowhere.md", "selector": words("Rest.")}, "unknown-document"),
        ({"source": "https://example.org/page.html", "selector": words("Rest.")}, "unknown-document"),
        ("page.html", "unsupported-selector"),
        ({"selector": words("Rest.")}, "no-source"),
        (None, "no-source"),
    ],
)
def test_a_target_that_names_no_document_is_refused(corpus: Corpus, target: object, code: str) -> None:
    assert refused(corpus, {"type": "Annotation", "target": target}) == code


def test_a_page_limits_where_the_words_are_looked_for(corpus: Corpus) -> None:
    def on_page(number: int) -> list[ImportedQuote | RefusedAnnotation]:
        page = {"type": "FragmentSelector", "value": f"page={number}", "refinedBy": words("page.")}
        return imported(corpus, annotation(page, "papers/first.pdf"))

    (second,) = on_page(2)
    assert isinstance(second, ImportedQuote)
    assert corpus.document(PDF).text[: second.span.end].endswith("on a turned page.")
    assert isinstance(on_page(4)[0], RefusedAnnotation)


def test_words_in_an_element_have_to_tell_their_place_alone(corpus: Corpus) -> None:
    def in_element(exact: str) -> dict[str, Any]:
        return annotation({"type": "FragmentSelector", "value": "prices", "refinedBy": words(exact)}, "page.html")

    assert isinstance(imported(corpus, in_element("The weighbridge is open on Mondays."))[0], ImportedQuote)
    assert refused(corpus, in_element("Bring the papers.")) == "ambiguous"


@pytest.mark.parametrize(
    "target",
    [
        {"type": "List", "items": ["page.html", "papers/first.pdf"]},
        {"source": "page.html", "selector": "https://example.org/selectors/1"},
        {"source": "page.html", "state": {"type": "TimeState", "sourceDate": "2026-01-01T00:00:00Z"}},
        {"source": "page.html", "selector": {"type": "DataPositionSelector", "start": 1, "end": 2}},
        {"source": "page.html", "selector": {"type": "SvgSelector", "value": "<svg></svg>"}},
        "page.html",
    ],
)
def test_a_target_of_the_model_that_is_no_quote_is_refused(corpus: Corpus, target: object) -> None:
    assert refused(corpus, {**annotation(None), "target": target}) in {"no-source", "unsupported-selector"}


def test_every_shape_of_the_model_is_read(corpus: Corpus) -> None:
    one = annotation(words("Rest."))
    bodies = [{"type": "TextualBody", "value": "a"}, "https://example.org/b", {"type": "TextualBody", "value": "c"}]
    full = {**one, "type": ["Annotation"], "body": bodies, "target": [one["target"], {**one["target"]}]}
    page = {"type": "AnnotationPage", "items": [one], "next": {"type": "AnnotationPage", "items": [full]}}
    nested = annotation(words("Rest."), source={"id": one["target"]["source"], "format": "text/markdown"})

    assert [found.note for found in imported(corpus, page)] == ["", "a\nc", "a\nc"]  # type: ignore[union-attr]
    assert len(imported(corpus, {"type": "AnnotationCollection", "first": page})) == 3
    assert len(imported(corpus, [one, nested])) == 2
    assert imported(corpus, {**one, "bodyValue": "d"})[0].note == "d"  # type: ignore[union-attr]
    elsewhere = "https://example.org/p2"
    for other, why in (
        ({"type": "AnnotationCollection", "first": elsewhere}, "p2', which is not fetched"),
        ({"type": "AnnotationPage", "items": [one], "next": elsewhere}, "p2', which is not fetched"),
        ({"type": "AnnotationPage"}, "has something else"),
        ({}, "has something else"),
        ([1], "has something else"),
    ):
        with pytest.raises(QuothError, match=why):
            imported(corpus, other)
    assert imported(corpus, []) == []


_TEXTS = st.sampled_from(["Rest.", "page.html", "Annotation", "page=1", "\ud800", "\0", "a:[", ""]) | st.text(
    max_size=3
)
_KINDS = st.sampled_from(["TextQuoteSelector", "TextPositionSelector", "FragmentSelector", "Annotation"])
_KEYS = st.sampled_from(["type", "value", "exact", "prefix", "suffix", "start", "end", "refinedBy", "source", "id"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS | _KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(_JSON, _JSON, _JSON, _KINDS)
def test_no_annotation_breaks_the_reader(corpus: Corpus, one: object, two: object, three: object, kind: str) -> None:
    selector = {"type": kind, "exact": one, "start": two, "end": 5, "value": "page=1", "refinedBy": three}
    for target in (one, {"source": two, "selector": three}, {"source": "page.html", "selector": [selector, one]}):
        for found in imported(corpus, {"type": "Annotation", "id": two, "body": three, "target": target}):
            assert found.annotation


def test_addresses_lead_to_ids_and_back() -> None:
    for doc_id in ("a:b/c#d?.md", "ü/100% & co.md", "//x", "a b"):
        for base in (None, BASE):
            assert doc_id_of(source_iri(doc_id, base), base) == doc_id
    assert doc_id_of("https://example.org/other/a.md", BASE) is None
    assert checked_base("file:///home/me/library/") == "file:///home/me/library"
    assert checked_base("file://server/library") == "file://server/library"
    assert checked_base("http://[::1]:8080") == "http://[::1]:8080"


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "example.org",
        "javascript:alert(1)",
        "https://x/?q=1",
        "https://x/?",
        "https://x/#a",
        "https://x/#",
        "https://x/<b>",
        "https:",
        "https:///x",
        "http://[",
        "http://x:port",
        "file:",
        "file:///",
        "file:library",
    ],
)
def test_an_address_that_nothing_can_stand_below_is_refused(wrong: str) -> None:
    with pytest.raises(QuothError, match="no address"):
        checked_base(wrong)


def test_markdown_renders_as_the_very_words(corpus: Corpus) -> None:
    row = corpus.quote(NOTES, SIGNS) | {"lead": {"text": "Canola", "start": 0, "end": 0, "display": "Canola"}}
    heading = corpus.document(NOTES).text.index("Canola\n")
    row["lead"] |= {"start": heading, "end": heading + 6}
    broken = corpus.quote(PDF, corpus.document(PDF).text[: len(PAPER_START)])
    questions, documents = corpus.questions(
        result("# Is *this* <b>safe</b>?", [row, broken]), result("1. Else?"), result("Again?", [broken])
    )
    text = report_markdown(make_report(questions, documents, base_url=None))
    tokens = MarkdownIt().parse(text)
    inline = [token for token in tokens if token.type == "inline" and token.content]
    shown = ["".join("\n" if c.type == "hardbreak" else c.content for c in token.children or ()) for token in inline]

    assert "# Is *this* <b>safe</b>?" in shown
    assert f"{SIGNS} [^1]" in shown
    assert f"{broken['text']} [^2]" in shown
    assert "1. Else?" in shown
    assert "No answer: Nothing *is* sure." in shown
    assert text.count("[^2]:") == 1
    assert "[^3]" not in text


@pytest.mark.parametrize("end", ["\r", "\r\r", "\r\n", "\n", "\n\r"])
def test_no_line_end_leads_out_of_a_block_quote(end: str) -> None:
    quoted = f"One line.{end}# No heading{end}- no item{end}"
    tokens = MarkdownIt().parse(_quoted(quoted))

    assert {token.type for token in tokens if not token.nesting} == {"inline"}
    assert {token.tag for token in tokens if token.nesting} == {"blockquote", "p"}
    assert [token.type for token in tokens if not token.level] == ["blockquote_open", "blockquote_close"]
    shown = [child.content for token in tokens for child in token.children or () if child.type == "text"]
    assert "".join(shown) == "One line.# No heading- no item"


PAPER_START = "Canola yields more in cold soil.\nWheat waits for rain & sun."


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name == "href"]
        self._inside = ("class", "words") in attrs
        self.words += [""] if self._inside else []
        assert tag not in {"script", "b"}

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "span"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.words[-1] += data


def test_the_page_is_escaped_and_loads_nothing(corpus: Corpus) -> None:
    quotes = [corpus.quote(NOTES, SIGNS), corpus.quote(HTML, "Bring the papers.", nth=1)]
    near = corpus.quote(NOTES, "Rest.") | {"why": "It lacks <b>all</b>."}
    declined = result("Else?", nearest=[near], outcome="may_be_relevant")
    questions, documents = corpus.questions(result("<script>alert(1)</script>", quotes), declined, result("Nothing?"))
    page = report_html(make_report(questions, documents, base_url=BASE))
    read = _Words()
    read.feed(page)

    assert read.words == [SIGNS, "Bring the papers.", "Rest."]
    assert "No answer: Nothing *is* sure. This may be relevant:" in page
    assert "It lacks &lt;b&gt;all&lt;/b&gt;." in page
    outside = [link for link in read.links if not link.startswith(("#source-", "data:"))]
    assert outside[0] == f"{BASE}/field%20notes/canola%20%26%20co.md"
    assert outside[1].startswith(f"{BASE}/page.html#:~:text=")
    assert "default-src 'none'" in page


def test_references_hold_what_is_known_and_no_more(corpus: Corpus) -> None:
    documents = [corpus.document(name) for name in (NOTES, HTML)]
    key, other = map(citation_key, documents)
    entries = bibtex(documents, base_url=None)

    assert (key.rpartition("-")[0], other.rpartition("-")[0]) == ("muller2018", "page")
    assert f"@article{{{key}," in entries
    assert f"@misc{{{other}," in entries
    assert r"title = {{100\% of R\&D \textbraceleft{}notes\textbraceright{}\_1}}" in entries
    assert "author = {Zoë Müller and {Food and Soil Office} and Ali, Jane}" in entries
    assert "doi = {10.1000/a_b%7Bc%7D}" in entries
    assert entries.count("{") == entries.count("}")

    lines = ris(documents, base_url=BASE).split("\r\n")
    assert lines[:3] == ["TY  - JOUR", f"ID  - {key}", "TI  - 100% of R&D {notes}_1"]
    assert [line for line in lines if line.startswith(("AU", "PY", "DO", "UR"))] == [
        "AU  - Zoë Müller",
        "AU  - Food and Soil Office",
        "AU  - Ali, Jane",
        "PY  - 2018",
        "DO  - 10.1000/a_b{c}",
        f"UR  - {BASE}/field%20notes/canola%20%26%20co.md",
        f"UR  - {BASE}/page.html",
    ]
    assert (lines.count("TY  - GEN"), lines.count("ER  - ")) == (1, 2)

    paper, page = json.loads(csl_json(documents, base_url=None))
    assert paper["author"] == [
        {"literal": "Zoë Müller"},
        {"literal": "Food and Soil Office"},
        {"family": "Ali", "given": "Jane"},
    ]
    assert (paper["type"], paper["issued"], paper["DOI"]) == (
        "article-journal",
        {"date-parts": [[2018]]},
        "10.1000/a_b{c}",
    )
    assert (page["type"], page.keys() & {"author", "issued", "DOI", "URL"}) == ("document", set())


def test_a_quote_that_does_not_hold_stops_the_export(corpus: Corpus, tmp_path: Path) -> None:
    quote = corpus.quote(NOTES, SOWN)

    with pytest.raises(OffsetMismatch):
        corpus.questions(result("How deep?", [quote | {"text": "Sow canola at 3.5 cm."}]))
    with pytest.raises(DocumentChanged):
        corpus.questions(result("How deep?", [quote | {"doc_sha256": "0" * 64}]))
    run_file = write_run(tmp_path / "run.jsonl", result("How deep?", [quote | {"doc_id": "gone.md"}]))
    out = tmp_path / "out.md"
    out.write_text("as it was")
    ran = run("export-quotes", run_file, "--index", corpus.index, "-o", out)

    assert failed(ran, "no document 'gone.md'")
    assert out.read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.md", "run.jsonl"]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "1", '{"question": "x"}', "[" * 100_000, json.dumps(result("x", [{"doc_id": "a"}]))],
)
def test_a_line_that_is_no_result_is_named(line: str) -> None:
    with pytest.raises(QuothError, match=r"run\.jsonl, line 2 is no result"):
        read_run(["", line], name="run.jsonl")


def test_a_place_that_is_none_is_named(corpus: Corpus) -> None:
    quote = corpus.quote(NOTES, SOWN)

    with pytest.raises(QuothError, match="line 1 is no result"):
        read_run([json.dumps(result("x", [quote | {"end": 0}]))], name="run.jsonl")


@pytest.mark.parametrize("form", ["annotations", "markdown", "html", "links", "bibtex", "ris", "csl"])
def test_every_format_is_written_by_the_command(corpus: Corpus, tmp_path: Path, form: str) -> None:
    run_file = write_run(tmp_path / "run.jsonl", result("How deep?", [corpus.quote(NOTES, SOWN)]), result("Else?"))
    common = ("export-quotes", run_file, "--format", form, "--base-url", BASE, "--index", corpus.index)
    printed = run(*common)
    written = run(*common, "-o", tmp_path / "new" / "out")

    assert (printed.code, written.code, written.data) == (0, 0, b"")
    assert printed.data == (tmp_path / "new" / "out").read_bytes() != b""
    assert run("export-quotes", "-", *common[2:], stdin=run_file.read_bytes()).data == printed.data


def test_the_commands_say_what_is_wrong(corpus: Corpus, tmp_path: Path) -> None:
    run_file = write_run(tmp_path / "run.jsonl", result("How deep?", [corpus.quote(NOTES, SOWN)]))
    at = ("--index", corpus.index)

    assert failed(run("export-quotes", tmp_path / "none", *at), "cannot read")
    assert failed(run("export-quotes", run_file, *at, "-o", run_file), "run.jsonl")
    assert failed(run("export-quotes", run_file, *at, "-o", tmp_path), "cannot write")
    assert failed(run("export-quotes", run_file, *at, "--base-url", "x"), "no address")
    assert failed(run("import-quotes", run_file, *at), "has something else")
    assert run("export-quotes", run_file, *at, "--format", "links").code == 2
    run_file.write_bytes(b'{"a": 1}\n{"b": 2}')
    assert failed(run("import-quotes", run_file, *at), "not JSON")


def test_import_prints_quotes_and_refuses_by_name(corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text(json.dumps([annotation(words("Rest.")), annotation(words("Unrest."))]))
    ran = run("import-quotes", path, "--index", corpus.index, "--json")
    (line,) = ran.objects
    document = corpus.document(NOTES)

    assert ran.code == 1
    assert "urn:x:1: 'field notes/canola & co.md' does not hold these words" in ran.talk
    assert line["annotation"] == "urn:x:1"
    assert document.text[line["start"] : line["end"]] == line["text"] == "Rest."
    assert (line["doc_sha256"], line["found_by"]) == (document.sha256, "quote")
    assert "\tquote\tRest." in run("import-quotes", path, "--index", corpus.index).text


def test_what_an_annotation_says_cannot_pass_for_output(corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    forged = {"id": "x\nurn:y\tok\x1b[31m\ud800", "type": "Annotation", "target": {"source": "no\x1b[2J\nwhere"}}
    path.write_text(json.dumps([forged]))
    ran = run("import-quotes", path, "--index", corpus.index)
    path.write_text(json.dumps({"type": "AnnotationPage", "items": [], "next": "p2\x1b[2J\nok"}))
    other = run("import-quotes", path, "--index", corpus.index)

    assert (ran.code, other.code) == (1, 1)
    assert (
        ran.talk
        == "x urn:y ok\ufffd[31m\ufffd: the index holds no document at 'no\ufffd[2J where' (unknown-document)\n"
    )
    assert "'p2\\x1b[2J\\nok', which is not fetched" in other.talk
