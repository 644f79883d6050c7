"""Valid files of each format, for fuzzing to spoil."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import hostile_books
import hostile_docx
import hostile_mail
import hostile_pdf
import hostile_sheets
import hostile_slides
from hostile_parts import SAID

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@cache
def seeds_of(form: str) -> tuple[bytes, ...]:
    return tuple(_SEEDS[form]())


def _lines(text: str, *, x: int, y: int, step: int = 14, size: int = 11) -> bytes:
    shown = (line.replace("(", "\\(").replace(")", "\\)") for line in text.split("\n"))
    return b"\n".join(
        b"BT /F %d Tf 1 0 0 1 %d %d Tm (%b) Tj ET" % (size, x, y - step * row, line.encode("cp1252", "replace"))
        for row, line in enumerate(shown)
    )


_PROSE = "\n".join(
    [
        f"{SAID} It needs 2.5 cm of cover,",
        "and 6.0-7.0 is the best pH. See Fig. 3, e.g. of the bar-",
        "ley that grew in Sec. 4.2 (a) before and (b) behind.",
    ]
    * 4
)


def _pdfs() -> list[bytes]:
    title = _lines("1 Sowing", x=72, y=740, size=18)
    table = b"\n".join(
        _lines(f"Row {row}\nRow {row + 1}", x=72 + 150 * column, y=300, step=16)
        for row, column in ((1, 0), (2, 1), (3, 2))
    )
    rules = b"".join(b"72 %d m 500 %d l S\n" % (y, y) for y in (315, 296, 280))
    columns = _lines(_PROSE, x=50, y=700, size=8) + b"\n" + _lines(_PROSE, x=320, y=700, size=8)
    bookmarks = [
        b"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >>",
        b"<< /Title (1 Sowing) /Parent 6 0 R /Dest [3 0 R /Fit] /First 8 0 R /Last 8 0 R >>",
        b"<< /Title (1.1 Depth) /Parent 7 0 R /Dest [3 0 R /Fit] >>",
    ]
    letters = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>"
    table_of_letters = (
        b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange "
        b"<00> <FF> endcodespacerange 2 beginbfchar <53> <0053> <6F> <FB01> endbfchar "
        b"1 beginbfrange <61> <7A> <0061> endbfrange endcmap end"
    )
    header = _lines("Farm guide", x=72, y=780, size=8) + b"\n" + _lines("Page 1 of 2", x=280, y=20, size=8)
    three = hostile_pdf.pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>",
            b"<< /Type /Pages /Kids [3 0 R 6 0 R 7 0 R] /Count 3 >>",
            *(
                (
                    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 "
                    b"R /Resources << /Font << /F 5 0 R >> >> >>"
                )
                % 4
                for _ in range(1)
            ),
            hostile_pdf.stream(header + b"\n" + _lines(_PROSE, x=72, y=700)),
            hostile_pdf.FONT,
            (
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate 90 /Contents "
                b"8 0 R /Resources << /Font << /F 5 0 R >> >> >>"
            ),
            (
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents [8 0 "
                b"R 4 0 R] /Resources << /Font << /F 5 0 R >> >> >>"
            ),
            hostile_pdf.stream(header + b"\n" + columns),
        ],
        trailer=b"/Info << /Title (A guide) >>",
    )
    return [
        hostile_pdf.one_page(
            title + b"\n" + _lines(_PROSE, x=72, y=700) + b"\n" + rules + table,
            catalog=b"/Outlines 6 0 R",
            more=bookmarks,
        ),
        hostile_pdf.one_page(columns, font=letters, more=[hostile_pdf.stream(table_of_letters)]),
        three,
    ]


def _docxs() -> list[bytes]:
    def item(text: str, level: int) -> str:
        return (
            f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>'
            f"</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )

    def p(text: str, style: str = "") -> str:
        return (
            f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:rPr><w:b/></w:rPr>'
            f'<w:t xml:space="preserve">{text} </w:t></w:r><w:r><w:t>{SAID}</w:t>'
            f"<w:tab/><w:br/><w:t>2.5</w:t></w:r></w:p>"
        )

    def cell(text: str, more: str = "") -> str:
        return f"<w:tc><w:tcPr>{more}</w:tcPr>{p(text)}</w:tc>"

    table = (
        f"<w:tbl><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid><w:tr><w:trPr>"
        f"<w:tblHeader/></w:trPr>{cell('Crop', '<w:gridSpan w:val=&quot;2&quot;/>'.replace('&quot;', chr(34)))}"
        f"</w:tr><w:tr>{cell('Barley', '<w:vMerge w:val=' + chr(34) + 'restart' + chr(34) + '/>')}{cell('3 cm')}"
        f"</w:tr><w:tr>{cell('', '<w:vMerge/>')}{cell('4 cm')}</w:tr></w:tbl>"
    )
    field = (
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>'
        'REF _a</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/>'
        '</w:r><w:r><w:t>4.2</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/>'
        '</w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    )
    tracked = (
        f'<w:p><w:ins w:id="1"><w:r><w:t>new </w:t></w:r></w:ins><w:del w:id="2">'
        f'<w:r><w:delText>old</w:delText></w:r></w:del><w:hyperlink w:anchor="a">'
        f"<w:r><w:t>link</w:t></w:r></w:hyperlink><w:sdt><w:sdtContent><w:r><w:t>"
        f"{SAID}</w:t></w:r></w:sdtContent></w:sdt></w:p>"
    )
    levels = "".join(
        f'<w:lvl w:ilvl="{place}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for place, form, text in ((0, "decimal", "%1."), (1, "lowerLetter", "(%2)"), (2, "upperRoman", "%1.%2.%3"))
    )
    styles = (
        '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/>'
        '<w:basedOn w:val="N"/><w:pPr><w:outlineLvl w:val="0"/><w:numPr><w:numId '
        'w:val="1"/></w:numPr></w:pPr></w:style><w:style w:type="paragraph" '
        'w:default="1" w:styleId="N"><w:name w:val="Normal"/></w:style><w:style '
        'w:type="paragraph" w:styleId="T1"><w:name w:val="toc 1"/></w:style>'
    )
    notes = f'<w:footnote w:id="2"><w:p><w:r><w:t>{SAID}</w:t></w:r></w:p></w:footnote>'
    numbering = (
        f'<w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum><w:num w:numId="1">'
        f'<w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride '
        f'w:val="3"/></w:lvlOverride></w:num>'
    )
    body = (
        p("Sowing", "H1")
        + p("Text")
        + item("One", 0)
        + item("Deep", 1)
        + item("Deeper", 2)
        + item("Two", 0)
        + table
        + field
        + tracked
        + p("1 Sowing 3", "T1")
    )
    first = hostile_docx.word(body, styles=styles, numbering=numbering, footnotes=notes)
    return [
        first,
        hostile_docx.word(table * 3 + item("x", 0), numbering=numbering),
        hostile_docx.word(hostile_docx.nested("tbl tr tc", 3) + field + tracked, footnotes=notes),
    ]


def _pages() -> list[bytes]:
    rich = f"""<!DOCTYPE html><html lang="en"><head><title>Barley</title><meta charset="utf-8"></head><body>
    <nav><a href="/">Home</a></nav><main><h1>Sowing</h1>
    <p>{SAID} It needs <b>2.5</b>&nbsp;cm<sup><a href="#n1">1</a></sup>.</p><h2>Depth</h2><p>Use:</p>
    <ol start="3" type="a"><li>One<ul><li>Deep</li></ul></li><li><p>Two</p><p>More.</p></li></ol>
    <table><caption>Yields</caption><thead><tr><th>Crop<th colspan="2">Year</tr></thead>
    <tr><td rowspan="2">Barley<td>3<td>4</tr><tr><td>5<td>6</table>
    <dl><dt>Cover</dt><dd>{SAID}</dd></dl><pre><code>a  b\n c</code></pre><blockquote><p>{SAID}</p></blockquote>
    <p id="n1">1. A note. <a href="#r1">back</a></p><figure><img alt="x"><figcaption>Fig. 1</figcaption></figure>
    </main><footer>2024</footer></body></html>"""
    return [
        rich.encode(),
        rich.replace("utf-8", "windows-1252").encode("cp1252"),
        ('<?xml version="1.0" encoding="UTF-8"?>' + rich).encode(),
        rich.encode("utf-16"),
    ]


def _markdown() -> list[bytes]:
    found = sorted(EXAMPLES.rglob("*.md"))[:6]
    return [path.read_bytes()[:6_000] for path in found] + [
        (
            f"---\ntitle: A\n---\n# Head\n\n{SAID}\n\n- one\n  - two\n\n| a | b |\n|---|---|\n| "
            f"1 | 2.5 |\n\n> quote\n\n```\ncode\n```\n[^1]: note\n"
        ).encode()
    ]


def _rtfs() -> list[bytes]:
    return [
        b"{\\rtf1\\ansi\\deff0{\\fonttbl{\\f0 Arial;}}\\b Sowing\\b0\\par "
        + SAID.encode()
        + b"\\par{\\pntext 1.\\tab}Item\\par\\trowd\\cellx900\\cellx1800 a\\cell b\\cell\\row}"
    ]


def _workbooks() -> list[bytes]:
    rows = (
        '<row r="1"><c r="A1" s="1" t="s"><v>0</v></c><c r="B1" s="1" t="s"><v>1</v></c>'
        '<c r="C1" t="b"><v>1</v></c></row>'
        '<row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2" s="2"><v>45356.5</v></c>'
        '<c r="C2"><f>A1</f><v>0.25</v></c></row>'
        '<row r="3" hidden="1"><c r="B3" s="3"><v>1234.5</v></c></row>'
        f'<row r="5"><c r="A5" t="inlineStr"><is><t>{SAID}</t></is></c><c r="E5" t="e"><v>#N/A</v></c></row>'
    )
    after = '<autoFilter ref="A1:C3"/><mergeCells><mergeCell ref="A2:A3"/></mergeCells>'
    strings = f"<si><t>Crop</t></si><si><r><t>De</t></r><r><t>pth</t></r></si><si><t>{SAID}_x000D_</t></si>"
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="[$-409]d mmm yyyy;@"/></numFmts><fonts><font/><font><b/></font>'
        '</fonts><cellXfs><xf/><xf fontId="1"/><xf numFmtId="164"/><xf numFmtId="4"/></cellXfs>'
    )
    return [hostile_sheets.workbook(rows, after=after, strings=strings, styles=styles)]


def _decks() -> list[bytes]:
    points = "".join(
        f'<a:p><a:pPr lvl="{level}">{mark}</a:pPr><a:r><a:t>{SAID}</a:t></a:r><a:br/><a:r><a:t>2.5</a:t></a:r></a:p>'
        for level, mark in ((0, "<a:buNone/>"), (1, '<a:buChar char="*"/>'), (2, '<a:buAutoNum type="romanUcPeriod"/>'))
    )
    cell = '<a:tc rowSpan="2"><a:txBody><a:p><a:r><a:t>3 cm</a:t></a:r></a:p></a:txBody></a:tc>'
    table = f'<a:tbl><a:tblPr firstRow="1"/><a:tr>{cell * 2}</a:tr><a:tr>{cell}<a:tc vMerge="1"/></a:tr></a:tbl>'
    frame = f"<p:graphicFrame><a:graphic><a:graphicData>{table}</a:graphicData></a:graphic></p:graphicFrame>"
    body = f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr><p:txBody>{points}</p:txBody></p:sp>'
    return [hostile_slides.deck(hostile_slides.TITLE + body + f"<p:grpSp>{frame}</p:grpSp><p:pic/>", notes=body)]


def _values() -> list[bytes]:
    return [
        f'crop,depth,note\r\nbarley,3,"{SAID}\r\nTwice, ""even""."\r\nrye,2.5\r\n\r\n'.encode(),
        f"\ufeffsep=;\nort;größe\nEly;3,5\n;{SAID}\n".encode(),
    ]


def _objects() -> list[bytes]:
    return [
        f'{{"title": "Sowing", "notes": [{{"crop": "rye", "cm": 2.5}}, {{"crop": "oats", "cm": 4}}], "text": "{SAID} '
        f'{SAID} {SAID} {SAID}", "more": {{"list": ["a", null, true], "deep": [[1, "x"], '
        f'[2, "\\u00e9\\ud83c"]]}}}}'.encode(),
        f'{{"title": "Rye", "text": "{SAID}"}}\n{{"text": ["{SAID}"]}}\n'.encode(),
    ]


def _books() -> list[bytes]:
    names = ("a.xhtml", "b.xhtml")
    nav = '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    opf = hostile_books.package(
        "".join(map(hostile_books.item, names)) + nav, "".join(map(hostile_books.listed, names))
    )
    contents = '<nav xmlns:epub="x" epub:type="toc"><ol><li><a href="b.xhtml">Two</a></li></ol></nav>'
    more: dict[str, str | bytes] = {
        "b.xhtml": hostile_books.chapter(f"<p>{SAID}</p><ul><li>2.5 cm</li></ul>"),
        "nav.xhtml": hostile_books.chapter(contents),
    }
    return [hostile_books.book(), hostile_books.book(f"<h1>One</h1>{hostile_books.P}", opf=opf, more=more)]


def _messages() -> list[bytes]:
    page = f"Content-Type: text/html; charset=utf-8\n\n<p>{SAID}</p><blockquote>2.5</blockquote>"
    plain = f"Content-Type: text/plain; format=flowed\n\nYes. \n> > {SAID}\n> No.\n-- \nAnn"
    file = "Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0="
    inner = f"Content-Type: message/rfc822\n\n{hostile_mail.HEAD}\n{SAID}"
    return [
        hostile_mail.message(f"{SAID}\n\n> quoted\n\n- one\n- two\n", "X: =?utf-8?q?=C3=A9?= =?koi8-r?b?8NLJ?=\n"),
        hostile_mail.multipart(plain, page, kind="alternative"),
        hostile_mail.multipart(plain, file, inner),
    ]


def _mailboxes() -> list[bytes]:
    return [b"".join(b"From a Mon Mar  2 08:15:00 2026\n" + message + b"\n" for message in _messages())]


def _outlooks() -> list[bytes]:
    attached: hostile_mail.Storage = {"__substg1.0_3701000D": hostile_mail.outlook("Rye", SAID)}
    page: hostile_mail.Storage = {
        "__substg1.0_10130102": f"<p>{SAID}</p>".encode(),
        "__attach_version1.0_#00000000": attached,
    }
    plain, rich = hostile_mail.outlook("Barley", SAID), hostile_mail.outlook("Oats", "", page)
    return [hostile_mail.ole(plain), hostile_mail.ole(rich)]


def _with_both_line_ends(text: str) -> list[bytes]:
    return [text.encode(), text.replace("\n", "\r\n").encode()]


def _rsts() -> list[bytes]:
    return _with_both_line_ends(
        f"====\nBook\n====\n\n{SAID} See [1]_::\n\n    code\n\nOne\n---\n\n- a\n\n  1. b\n\nterm\n    {SAID}\n\n"
        ".. note:: Mind.\n   More.\n\n.. function:: sow(x)\n   :noindex:\n\n   Sow.\n\n   :param x: 2.5 cm\n\n"
        "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n\n===  ===\na    b\n===  ===\n1    2\n===  ===\n\n"
        ".. list-table::\n   :header-rows: 1\n\n   * - a\n     - b\n\n.. [1] Note.\n\n| verse\n\n.. comment\n   more\n"
    )


def _latexes() -> list[bytes]:
    return _with_both_line_ends(
        "\\documentclass{a}\\title{T}\n\\begin{document}\n\\section[s]{One}\\label{x} % c\n"
        f"{SAID} \\cite{{a}} $x$ \\verb|%|\n\n\\begin{{itemize}}\\item a \\item[b] c\\end{{itemize}}\n"
        "\\begin{equation}a=b\\end{equation}\\[c\\]$$d$$\n\\begin{table}\\begin{tabular}{ll}\\hline a & b \\\\ \\hline "
        "1 & 2 \\\\ 3 & {4 \\\\ 5}\\end{tabular}\\caption[s]{C}\\end{table}\n\\begin{verbatim}%\\end{verbatim}\n"
        "\\newcommand{\\q}[1]{#1}\\begin{quote}Q.\\end{quote}\n"
        "\\begin{thebibliography}{9}\\bibitem{k} R.\\end{thebibliography}\n\\end{document}\n"
    )


def _asciidocs() -> list[bytes]:
    return _with_both_line_ends(
        f"= Book\nAnn <a@b.c>\n:toc:\n\n== One\n\n{SAID}\n// c\nMore.\n\n.Cap\n[source,py]\n----\ncode\n----\n\n"
        "* a\n** b\n+\nc\n\nterm:: def\n\n[cols=2*,options=header]\n|===\n|a |b\n\n|1 |2\n2+|3\n|===\n\n"
        "____\nQ.\n____\n\n====\nE.\n====\n\nOld\n---\n\nimage::a[b]\n\n////\nx\n////\n"
    )


def _subtitles() -> list[bytes]:
    cues = f"Sow <i>it</i>\n\n2\n00:00:03,000 --> 00:00:04,000\nnow. {{\\an8}}{SAID}\n- Why?\n"
    numbered = f"1\n00:00:01,000 --> 00:00:02,500\n{cues}"
    web = "WEBVTT - T\nLanguage: en\n\nNOTE n\n\nid\n00:01.000 --> 00:02.000 align:start\n<v Ann>Sow\n\n"
    return [numbered.encode(), (web + numbered).encode(), numbered.encode("utf-16")]


_SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "pdf": _pdfs,
    "docx": _docxs,
    "html": _pages,
    "markdown": _markdown,
    "text": _markdown,
    "rtf": _rtfs,
    "xlsx": _workbooks,
    "csv": _values,
    "json": _objects,
    "pptx": _decks,
    "epub": _books,
    "eml": _messages,
    "mbox": _mailboxes,
    "msg": _outlooks,
    "rst": _rsts,
    "latex": _latexes,
    "asciidoc": _asciidocs,
    "vtt": _subtitles,
    "srt": _subtitles,
}
FORMATS = tuple(_SEEDS)
