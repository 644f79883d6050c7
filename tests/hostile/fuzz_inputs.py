"""Inputs for fuzzing: valid files, spoiled in a few places, and soups of a format's own words."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from random import Random

import hostile_docx
import hostile_pdf
from fuzz_seeds import seeds_of
from hostile_parts import SAID

_NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"9",
    b"65536",
    b"2147483647",
    b"-2147483648",
    b"4294967296",
    b"1e38",
    b"0.0000001",
    b"9" * 30,
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_WORDS = {
    "pdf": (
        "<< >> [ ] ( ) /Kids /Count /Parent /Contents /Length /Filter /FlateDecode "
        "null true 1 0 R 3 0 R 6 0 R BT ET Tf Td Tm Tj TJ ' \" q Q cm Do re "
        "m l S f Tr Tc Tw Tz Ts EMC BDC BI ID EI stream endstream endobj /ToUnicode "
        "/Rotate /MediaBox /First /Next /Dest 90 rg"
    ).split(),
    "html": (
        "<p> </p> <div> </div> <table> <tr> <td colspan=3 rowspan=2> <th> </table>"
        " <ul> <ol start=5 type=a> <li> </ul> <dl> <dt> <dd> <pre> </pre> <code>"
        " <br> <hr> <h1> <h2> </h2> <a href=#n> <a> </a> <sup> <b> <i> </b> "
        "<blockquote> <!-- --> <script> </script> <style> </style> <svg> <math>"
        " <mfrac> <select> <option> <textarea> <template> <noscript> <caption>"
        " <thead> <tfoot> <figure> <figcaption> <ruby> <rt> <img alt=x> <details>"
        " <summary> <q> <s> <span hidden> <section role=navigation> <nav> <main>"
        " <header> <footer> <p id=n> &amp; &#55296; &#0; &lt &nbsp; <![CDATA[ "
        "]]> <?xml version=1.0?> <plaintext> <body> <head> <title> <html lang=en>"
        " <frameset> <foo:bar> <p/> <"
    ).split(),
    "markdown": (
        "# ## ### - * + 1. 2) > ``` ~~~ | |---| --- === *** ** _ __ ` [a] (b) "
        "[a](b) ![x] [^1] [^1]: [a]: <div> </div> <!-- --> <b> & &amp; \\ $ "
        "$$ : {#id} --- title: x\n"
    ).split(" "),
    "text": (
        ". ! ? ... e.g. No. Fig. 3.5 2.5 6.0-7.0 cm pH U.S. (a) (b) 1. 1.1 IV. "
        "\u2022 \u2013 - * == -- CHAPTER ARTICLE Section 4.2 .... 12 \f \u2028 "
        "\u0085 \u201c \u201d ' \" ( ) [ ] : ; , \t \r\n \n \n\n \u00a0 \u200b "
        "\u202e \u0301 \U0001f33e \u3002 \u05d0 \ufeff"
    ).split(" "),
}
_WORDS["rst"] = (
    "====\n ---- .. .. note:: x\n .. code::\n\n :f: - 1. a) | >>> :: `x`_ [1]_ .. [1] | +---+\n | a |\n === === \n"
    "    \t __ .. _t: .. list-table::\n * - -o FILE"
).split(" ")
_WORDS["latex"] = (
    "\\section{ \\begin{itemize} \\end{itemize} \\item \\begin{tabular}{l} \\end{tabular} \\\\ & \\hline \\caption{ } "
    "{ % $$ \\[ \\] \\begin{verbatim} \\end{verbatim} \\verb|x| \\label{l} \\par \\begin{document} \\end{document} "
    "\\def\\a{ [ ] \\cite{x} \\begin{equation} \\end{equation} \\bibitem{k} \\newcommand{\\q}{ \\% \\"
).split(" ")
_WORDS["asciidoc"] = (
    "= == \n----\n \n....\n \n====\n \n____\n |===\n | 2+| a| * ** - . .. a:: :: + [source]\n [quote]\n [[id]]\n "
    ".Cap\n //c\n ////\n :a: image::a[b]\n \n---\n ''' NOTE: <1> ```\n"
).split(" ")
_WORDS["eml"] = (
    "Subject: From: Content-Type: multipart/mixed; boundary=b\n text/html text/plain; charset=utf-16\n "
    "message/rfc822\n --b\n --b--\n Content-Transfer-Encoding: base64\n quoted-printable\n =?utf-8?q?=C3?= =?x?b?!?= > "
    ">> \n\n Content-Disposition: attachment; filename=a.txt\n filename*0*=utf-8''%ff format=flowed -- \n"
).split(" ")
_WORDS["mbox"] = [*_WORDS["eml"], "\nFrom a\n", "\n>From b\n"]
_WORDS["srt"] = _WORDS["vtt"] = [
    *("WEBVTT\n", "\n00:00:01,000 --> 00:00:02,000\n", "\n00:01.000 --> 00:02.000\n", "-->", "<v Ann>", "<i>", "</i>"),
    *("{\\an8}", "&amp;", "&#55296;", "\n\n", "1\n", "NOTE", "STYLE", "- ", "[music]", "<00:01.000>", "99:99:99,999"),
]
_WORDS["docx"] = (
    "<w:p> </w:p> <w:r> </w:r> <w:t>word</w:t> <w:tbl> </w:tbl> <w:tr> </w:tr>"
    " <w:tc> </w:tc> <w:br/> <w:tab/> <w:ins> </w:ins> <w:del> </w:del> "
    "<w:sdt> <w:sdtContent> </w:sdtContent> </w:sdt> <w:pPr> </w:pPr> <w:numPr/>"
    " <w:vMerge/> <w:hyperlink> </w:hyperlink> <w:txbxContent> </w:txbxContent>"
    " <w:noBreakHyphen/> <w:vanish/> <w:bookmarkStart/> <w:p/> <w:tbl/> "
    "<w:tr/> <w:tc/> <w:body/> <w:cr/>"
).split()

_WORDS["xlsx"] = (
    "<row> </row> <c> </c> <v>1e9</v> <is><t>word</t></is> <f>A1</f> <row/> <c/> <si> </si> <mergeCell/> "
    "<sheetData> </sheetData> <col/> <r> </r> <t>word</t> <rPh> </rPh>"
).split()
_WORDS["csv"] = ', ; \t | " "" "," \n \r\n \r sep=; 2.5 2,5 =A1 \ufeff NA'.split(" ")
_WORDS["pptx"] = (
    "<p:sp> </p:sp> <p:txBody> </p:txBody> <a:p> </a:p> <a:r><a:t>word</a:t></a:r> <a:br/> <a:tbl> </a:tbl> <a:tr> "
    "</a:tr> <a:tc/> <p:grpSp> </p:grpSp> <p:pic/> <a:buNone/> <a:pPr/>"
).split()
_WORDS["json"] = '{ } [ ] : , " "a": "title": 1 -2.5e9 null true NaN "\\u0000" "\\ud800" "\\n\\n" {} []'.split()
_PARTS = {"docx": "word/", "xlsx": "xl/", "pptx": "ppt/", "epub": ""}
"""The folder of the parts that are worth spoiling."""
_TAGS = {
    "docx": b"w:p w:r w:tbl w:tr w:tc w:sdt w:ins w:del w:pPr w:hyperlink w:txbxContent".split(),
    "pptx": b"p:sp p:txBody p:grpSp p:graphicFrame a:p a:r a:tbl a:tr a:tc a:pPr".split(),
    "xlsx": b"row c v is t r si f sheetData".split(),
    "epub": b"item itemref p h1 ul li nav ol a body section".split(),
}


_SOUPS = frozenset({"html", "markdown", "text", "csv", "rst", "latex", "asciidoc", "eml", "mbox", "vtt", "srt"})
"""Formats that have no container around their text."""


def make(form: str, random: Random) -> bytes:
    """One input: a valid file spoiled in a few places, or a soup of the format's own words."""
    seeds = seeds_of(form)
    if form in _SOUPS and random.random() < 0.5:
        return _soup(form, random)
    data = random.choice(seeds)
    if form == "pdf" and random.random() < 0.7:
        return _spoiled_objects(data, random)
    if form in _PARTS and random.random() < 0.8:
        return _spoiled_parts(data, form, random)
    return spoiled(data, random.choice(seeds), form, random)


def spoiled(data: bytes, other: bytes, form: str, random: Random) -> bytes:
    """`data` with a few mutations; `other` gives what is spliced in."""
    made = bytearray(data)
    words = [word.encode() for word in _WORDS.get(form, ["{", "}", "\\par", "\\bin9 "])]
    for _ in range(random.choice((1, 1, 2, 3, 5, 12))):
        if not made:
            break
        at = random.randrange(len(made))
        length = min(random.choice((1, 2, 8, 40, 300)), len(made) - at)
        match random.randrange(8):
            case 0:
                made[at] ^= 1 << random.randrange(8)
            case 1:
                made[at : at + length] = random.randbytes(length)
            case 2:
                del made[at : at + length]
            case 3:
                made[at:at] = made[at : at + length] * random.choice((1, 2, 50))
            case 4:
                start = random.randrange(max(1, len(other)))
                made[at : at + length] = other[start : start + random.choice((8, 60, 500))]
            case 5:
                made[at:at] = b" ".join(random.choice(words) for _ in range(random.choice((1, 3, 10))))
            case 6:
                _change_number(made, at, random)
            case _:
                to = random.randrange(len(made))
                made[at : at + length], made[to : to + length] = made[to : to + length], made[at : at + length]
    return bytes(made)


def _change_number(made: bytearray, at: int, random: Random) -> None:
    if found := _NUMBER.search(made, at):
        made[found.start() : found.end()] = random.choice(_NUMBERS)


def _soup(form: str, random: Random) -> bytes:
    words = [*_WORDS[form], "Sow", "barley", "at", "2.5 cm.", SAID, "\n", "\n\n", " ", "x" * 50, "é", "\u0301", "麦"]
    some = random.sample(words, random.randint(3, len(words)))
    return (
        random.choice(("", " ")).join(random.choice(some) for _ in range(random.choice((5, 40, 400, 3_000)))).encode()
    )


def _spoiled_objects(data: bytes, random: Random) -> bytes:
    """The file with some objects spoiled and a right table of places."""
    bodies = [found[1] for found in re.finditer(rb"\d+ 0 obj\n(.*?)\nendobj\n", data, re.S)]
    trailer = re.search(rb"/Root 1 0 R (.*?) ?>>\nstartxref", data, re.S)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(bodies))
        bodies[at] = spoiled(bodies[at], random.choice(bodies), "pdf", random)
    return hostile_pdf.pdf(bodies, trailer=trailer[1] if trailer else b"")


def _spoiled_parts(data: bytes, form: str, random: Random) -> bytes:
    """The archive with the XML of some parts spoiled; most often so that it is still XML."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
    named = [name for name in parts if name.startswith(_PARTS[form])] or list(parts)
    for _ in range(random.choice((1, 1, 2))):
        name = random.choice(named)
        content = parts[name]
        xml = content if isinstance(content, bytes) else content.encode()
        whole = random.random() < 0.85
        parts[name] = _spoiled_tags(xml, _TAGS[form], random) if whole else spoiled(xml, data, form, random)
    if random.random() < 0.1:
        del parts[random.choice(list(parts))]
    return hostile_docx.archive(parts)


_TAG = re.compile(rb"<[?][^<>]*[?]>|<[^<>]+/>|<(?!/)[^<>?!]+>|</[^<>]+>|[^<]+")


def _spoiled_tags(xml: bytes, tags: Sequence[bytes], random: Random) -> bytes:
    """Whole elements taken out, repeated or moved, values changed: what a parser takes and a reader must bear."""
    pieces = _TAG.findall(xml)
    for _ in range(random.choice((1, 2, 4, 10))):
        starts = [at for at in range(2, len(pieces) - 1) if not pieces[at].startswith(b"</")]
        if not starts:
            break
        start = random.choice(starts)
        end = _end_of_element(pieces, start)
        element = pieces[start:end]
        match random.randrange(5):
            case 0:
                del pieces[start:end]
            case 1:
                pieces[start:start] = element * random.choice((1, 3, 20))
            case 2:
                to = random.choice(starts)
                pieces[to:to] = element
            case 3:
                changed = bytearray(pieces[start])
                _change_number(changed, 0, random)
                pieces[start] = bytes(changed)
            case _:
                tag = random.choice(tags)
                pieces[start:end] = [b"<%b>" % tag, *element, b"</%b>" % tag]
        if len(pieces) > 20_000:
            break
    return b"".join(pieces)


def _end_of_element(pieces: Sequence[bytes], start: int) -> int:
    depth = 0
    for at in range(start, len(pieces)):
        piece = pieces[at]
        if piece.startswith(b"</"):
            depth -= 1
        elif piece.startswith(b"<") and not piece.endswith(b"/>"):
            depth += 1
        if depth <= 0:
            return at + 1 if depth == 0 else max(at, start + 1)
    return len(pieces)
