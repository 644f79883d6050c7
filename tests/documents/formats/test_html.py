from __future__ import annotations

import pytest

from quoth.documents.formats.html.html_document import extract
from quoth.types import RegionKind

from .html_pages import blocks, leads, page, texts

HEADING, PARAGRAPH, ITEM = RegionKind.HEADING, RegionKind.PARAGRAPH, RegionKind.LIST_ITEM


def test_headings_make_sections() -> None:
    found = page(
        "<h1>Soil</h1><p>Dig.</p><h2>pH</h2><p>Lime it.</p><div role=heading aria-level=1>Water</div><p>Pour.</p>"
    )

    assert [(region.kind, region.section) for region in found.regions or ()] == [
        (HEADING, ("Soil",)),
        (PARAGRAPH, ("Soil",)),
        (HEADING, ("Soil", "pH")),
        (PARAGRAPH, ("Soil", "pH")),
        (HEADING, ("Water",)),
        (PARAGRAPH, ("Water",)),
    ]


def test_the_title_and_the_language_are_properties() -> None:
    named = extract(
        b'<html lang="en-GB"><head><title>\n Soil &amp; pH | Farm </title></head><body><p>x</p></body></html>'
    )
    shared = extract(b'<html><head><meta property="og:title" content="Soil"></head><body><p>x</p></body></html>')

    assert dict(named.properties) == {"title": "Soil & pH | Farm", "language": "en-GB"}
    assert dict(shared.properties) == {"title": "Soil"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>Sow \n\t at  2.5&nbsp;cm. </p>", ["Sow at 2.5\u00a0cm."]),
        ("<p>Sow <b> at </b> dusk</p>", ["Sow at dusk"]),
        ("<p>un<b>believ</b>able<i>,</i> yes</p>", ["unbelievable, yes"]),
        ("<p>un<wbr>believ&shy;able&#8203;!</p>", ["unbelievable!"]),
        ("<div>one<div>two</div>three</div>", ["one", "two", "three"]),
        ("<p>one<br> two</p>", ["one\ntwo"]),
        ("<p>one<br><br>two<br>\n<br/>three</p>", ["one", "two", "three"]),
        ("<p>a<span style='display: block'>b</span>c</p>", ["a", "b", "c"]),
        ("<p>a<div style='display:inline'>b</div></p>", ["a", "b"]),
        ("<p>AT&amp;T &lt;b&gt; &copy; &#150; &#x2019;</p>", ["AT&T <b> © – ’"]),
        ("<p>a\x01b\x7fc&#1;d</p>", ["abcd"]),
        ("<p>He said <q>go <q>now</q></q>.</p>", ["He said “go ‘now’”."]),
        ("<p>the price is <del>9</del> <ins>8</ins></p>", ["the price is 8"]),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", ["漢(kan)"]),
        ("<p>first</p> loose <b>words</b> <p>last</p>", ["first", "loose words", "last"]),
    ],
)
def test_white_space_and_words_are_as_a_browser_shows_them(body: str, expected: list[str]) -> None:
    assert texts(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a yield of 10.5<sup><a href='#n3'>3</a></sup> tonnes", "a yield of 10.5 tonnes"),
        ("a yield of 10.5<a href='#n3'><sup>3</sup></a> tonnes", "a yield of 10.5 tonnes"),
        ("It rained.<sup>[12]</sup> It stopped.", "It rained. It stopped."),
        ("It rained.<sup class=reference><a href='#a'>[a]</a></sup>", "It rained."),
        ("It rained<sup>[<a href='/x'>citation needed</a>]</sup>", "It rained [citation needed]"),
        ("It rained<a class=footnote-ref role=doc-noteref href='#x'>3</a>.", "It rained."),
        ("It rained<a href='#_ftn3'><span>[3]</span></a>.", "It rained."),
        ("see section <a href='#s4'>4</a> and <a class=reference href='#x'>12</a>", "see section 4 and 12"),
        ("10<sup><a href='/wiki/Million'>6</a></sup> seeds", "10⁶ seeds"),
        ("one <a href='/wiki/Area'>m<sup>2</sup></a>", "one m²"),
        ("a yield of 10.5<sup>3</sup> tonnes", "a yield of 10.5³ tonnes"),
        ("20 m<sup>2</sup> and 10<sup>-3</sup>", "20 m² and 10⁻³"),
        ("<span style='vertical-align: super'>2</span>", "²"),
        ("Ca<sup>2+</sup>, SO<sub>4</sub><sup>2-</sup>, H<sub>2</sub>O", "Ca²⁺, SO4²⁻, H2O"),
        ("10<sub>2</sub> and x<sub>1</sub>2", "10₂ and x₁2"),
        ("the 1<sup>st</sup> and the 22<sup>nd</sup>", "the 1st and the 22nd"),
        ("at 20<sup>o</sup>C", "at 20°C"),
        ("Brand<sup>TM</sup> x<sup>k</sup>", "Brand™ x^k"),
        ("12.5<sup>a</sup> and 13.1<sup>***</sup>", "12.5^a and 13.1***"),
        ("2<sup>1</sup>/<sub>2</sub> cups, <sup>3</sup>&frasl;<sub>4</sub> inch", "2 1/2 cups, 3/4 inch"),
    ],
)
def test_raised_and_lowered_signs_never_join_a_number(body: str, expected: str) -> None:
    assert texts(f"<p>{body}</p>") == [expected]


def test_formulas_stay_readable() -> None:
    formula = (
        "<math><mi>y</mi><mo>=</mo><mfrac><mrow><mi>a</mi><mo>+</mo><msup><mi>b</mi><mn>2</mn></msup></mrow><mn>10</mn></mfrac>"
        "<msqrt><mi>x</mi></msqrt><annotation encoding='application/x-tex'>y=\\frac{}{}</annotation></math>"
    )

    assert texts(f"<p>Here {formula}.</p>") == ["Here y = (a + b^2)/10√(x)."]


def test_lists_show_the_marks_that_a_reader_sees() -> None:
    assert texts("<ul><li>oats<li>rye</ul>") == ["• oats", "• rye"]
    assert texts("<ol start=3><li>a<li value=9>b<li>c</ol>") == ["3. a", "9. b", "10. c"]
    assert texts("<ol reversed><li>a<li>b</ol>") == ["2. a", "1. b"]
    assert texts("<ol type=i><li>a<li>b<li>c<li>d</ol>") == ["i. a", "ii. b", "iii. c", "iv. d"]
    assert texts("<ol style='list-style-type: upper-alpha' start=26><li>a<li>b</ol>") == ["Z. a", "AA. b"]
    assert texts("<ul style='list-style:none'><li>a</ul>") == ["a"]


def test_an_item_knows_its_depth_and_what_introduces_it() -> None:
    body = "<p>In spring do this:</p><ol><li>Sow:<ul><li>deep</li></ul></li><li><p>Roll.</p><p>Again.</p></li></ol>"

    assert leads(body) == [
        ("In spring do this:", None),
        ("1. Sow:", "In spring do this:"),
        ("• deep", "In spring do this:\n\n1. Sow:"),
        ("2. Roll.", "In spring do this:"),
        ("Again.", "In spring do this:"),
    ]


def test_a_term_introduces_its_description() -> None:
    assert leads("<dl><dt>pH<dd>Acidity.<dt>EC<dd>Salts.</dl>") == [
        ("pH", None),
        ("Acidity.", "pH"),
        ("EC", None),
        ("Salts.", "EC"),
    ]


def test_a_list_of_cards_is_read_as_sections() -> None:
    found = blocks("<ul><li><h3>Oats</h3><p>They grow.</p></li><li><h3>Rye</h3><p>It grows too.</p></li></ul>")

    assert found == [(HEADING, "Oats"), (PARAGRAPH, "They grow."), (HEADING, "Rye"), (PARAGRAPH, "It grows too.")]


def test_quotes_code_captions_and_notes_are_what_they_are() -> None:
    assert blocks("<blockquote><p>He came.</p></blockquote>") == [(RegionKind.QUOTE, "He came.")]
    assert blocks("<pre><code>\nif x:\n    y\n</code></pre>") == [(RegionKind.CODE, "if x:\n    y")]
    assert blocks("<details><summary>More</summary><p>All of it.</p></details>") == [
        (RegionKind.CAPTION, "More"),
        (PARAGRAPH, "All of it."),
    ]
    assert blocks("<figure><img alt='A red barn' src='data:image/png;base64,AA'></figure>") == [
        (RegionKind.CAPTION, "A red barn")
    ]
    assert blocks("<figure><img alt='A barn'><figcaption>The barn.</figcaption></figure><p><img alt=x>y</p>") == [
        (RegionKind.CAPTION, "The barn."),
        (PARAGRAPH, "y"),
    ]
    assert blocks("<section class=footnotes><ol><li>From 2019. <a href='#r1'>↩</a></ol></section>") == [
        (RegionKind.FOOTNOTE, "1. From 2019.")
    ]
    assert blocks("<aside role=doc-footnote><a href='#r'><sup>4</sup></a> See below.</aside>") == [
        (RegionKind.FOOTNOTE, "[4] See below.")
    ]
    assert blocks("<div id=sdfootnote1><p><a class=sdfootnotesym href='#sdfootnote1anc'>1</a>See below.</p></div>") == [
        (RegionKind.FOOTNOTE, "[1] See below.")
    ]


def test_a_document_that_is_set_as_preformatted_text_is_prose() -> None:
    text = "The first rule is this.\nIt goes on here.\n\nThe second is that. Nothing more."

    assert blocks(f"<pre>{text}</pre>") == [(PARAGRAPH, part) for part in text.split("\n\n")]


def test_text_that_is_no_page_comes_out_as_paragraphs() -> None:
    found = extract(b"# Soil\n\nCanola likes *pH 6*.\nIt needs sun.\n\nSow at 5 < 6 cm.\n")

    assert found.text == "Soil\n\nCanola likes *pH 6*.\nIt needs sun.\n\nSow at 5 < 6 cm."
    assert [region.kind for region in found.regions or ()] == [HEADING, PARAGRAPH, PARAGRAPH]


def test_an_empty_page_has_no_text() -> None:
    assert extract(b"").text == ""
    assert page("<script>alert('x')</script>").text == ""
    assert page("<div id=root></div>").notes == ("no text was found: a script may put this page together",)
