"""Valid files of each format, for fuzzing to spoil."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import hostile_docx
import hostile_pdf
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


_SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "pdf": _pdfs,
    "docx": _docxs,
    "html": _pages,
    "markdown": _markdown,
    "text": _markdown,
    "rtf": _rtfs,
}
FORMATS = tuple(_SEEDS)
