from __future__ import annotations

import pytest

from quoth.documents.formats.html.html_document import extract

from .html_pages import texts

PROSE = "<p>Canola grows best at pH 6.0-7.0. It is sown in early autumn, once the soil is moist.</p>"
SAID = "Canola grows best at pH 6.0-7.0. It is sown in early autumn, once the soil is moist."
MENU = "<ul><li><a href='/a'>Home</a></li><li><a href='/b'>Crops</a></li><li><a href='/c'>About us</a></li></ul>"


@pytest.mark.parametrize(
    "unread",
    [
        "<script>var a = 'It ran. It did.';</script>",
        "<style>p { color: red }</style>",
        "<template><p>Not yet here. Not at all.</p></template>",
        "<noscript><p>Please enable scripts. Thank you.</p></noscript>",
        "<svg><text>Drawn words.</text></svg>",
        "<iframe>Framed words.</iframe>",
        "<nav><p>Where to go. What to see.</p></nav>",
        "<select><option>One</option></select><textarea>Type here.</textarea><button>Send</button><input value=x>",
        "<p hidden>Not shown. Not at all.</p>",
        "<p aria-hidden=true>Not told. Not at all.</p>",
        "<div style='color:red; display: none'><p>Not shown. Not at all.</p></div>",
        "<div style='visibility:hidden'>Not shown. Not at all.</div>",
        "<div role=dialog><p>We value your privacy. We use cookies.</p></div>",
        "<div id=toc><h2>Contents</h2><ul><li><a href='#a'>One</a><li><a href='#b'>Two</a></ul></div>",
        "<div role=doc-toc><ol><li><a href='x#a'>One</a></ol></div>",
        "<ul><li><a href='#a'>One</a><li><a href='#b'>Two</a><li><a href='#c'>Three</a></ul>",
        "<dl class=toc><dt><a href='#a'>1. What is it?</a><dt><a href='#b'>2. When is it, and where?</a></dl>",
        "<ol class=breadcrumb><li><a href='/'>Home</a><li>Canola</ol>",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "<main>{}</main>", "<div><article>{}</article></div>"])
def test_what_is_no_text_of_the_document_is_left_out(unread: str, frame: str) -> None:
    assert texts(frame.format(unread + PROSE + unread)) == [SAID]


@pytest.mark.parametrize(
    "furniture",
    [
        '<div class="navheader"><table><tr><th>3.1. Sowing</th><td><a href="b.html">Next</a></td></tr></table></div>',
        "<div class=cookie-notice><p>We use cookies for all sorts of things. Agree?</p><button>Yes</button></div>",
        MENU,
        f"<div><div>{MENU}</div></div>",
        "<header><a href='/'>The Farm</a><p>Since 1920</p></header>",
        "<footer><p>© 2020 The Farm Company, all of it. All rights reserved by its owners.</p></footer>",
        "<aside><h2>Related</h2>" + MENU + "</aside>",
        "<div class='site-footer wide'><p>Contact</p>" + MENU + "</div>",
        "<div role=complementary><p>Newsletter</p></div>",
    ],
)
def test_the_furniture_of_a_page_without_a_main_part_is_left_out(furniture: str) -> None:
    assert texts(furniture + PROSE + furniture) == [SAID]


def test_furniture_with_sentences_in_it_keeps_them() -> None:
    note = "Do not mix the seed with any fertiliser that holds boron."

    assert texts(f"{PROSE}<aside><h3>Links</h3>{MENU}<p>{note}</p></aside>") == [SAID, note]
    assert texts(f"<header><h1>Canola</h1>{MENU}</header>{PROSE}") == ["Canola", SAID]


@pytest.mark.parametrize("tag", ["main", "article", "div role=main"])
def test_the_main_part_is_preferred(tag: str) -> None:
    side = "<div><p>Our shop sells boots. Buy two.</p></div>"
    body = f"<h1>Canola</h1>{side}<{tag}>{PROSE * 3}{MENU}</{tag.split(maxsplit=1)[0]}>{side}"

    assert texts(body) == ["Canola", *[SAID] * 3, "• Home", "• Crops", "• About us"]


def test_a_main_part_that_holds_little_is_not_the_document() -> None:
    assert texts(f"<article><p>Win a tractor now.</p></article>{PROSE * 3}") == ["Win a tractor now.", *[SAID] * 3]


def test_the_header_of_an_article_or_a_section_is_its_title() -> None:
    assert texts(f"<article><header><h2>Canola</h2></header>{PROSE}</article>") == ["Canola", SAID]
    assert texts(f"<section><header><h2>Canola</h2></header>{PROSE}</section>") == ["Canola", SAID]


def test_a_list_of_links_that_the_text_introduces_is_content() -> None:
    assert texts(f"{PROSE}<p>It is grown in:</p>{MENU}") == [SAID, "It is grown in:", "• Home", "• Crops", "• About us"]


def test_links_that_are_sentences_are_content() -> None:
    body = "<ul><li><a href=a>Sow the oats before it rains.</a><li><a href=b>Roll the field when it is dry.</a></ul>"

    assert len(texts(PROSE + body)) == 3


def test_a_page_of_links_alone_is_read_whole() -> None:
    assert texts(MENU) == ["• Home", "• Crops", "• About us"]


def test_a_panel_that_a_button_shows_is_content() -> None:
    body = "<h3><button aria-controls=a1>How deep?</button></h3><div id=a1 hidden><p>At 2.5 cm.</p></div>"

    assert texts(body) == ["How deep?", "At 2.5 cm."]


def test_a_body_that_waits_for_its_script_is_read() -> None:
    assert extract(f"<body style='display:none' aria-hidden=true>{PROSE}</body>".encode()).text == SAID


def test_a_table_of_links_is_data() -> None:
    table = "<table><tr><th>Crop<th>Guide<tr><td><a href=a>Oats</a><td><a href=b>Sowing oats</a></table>"

    assert texts(PROSE + table) == [SAID, "Crop | Guide", "Oats | Sowing oats"]


def test_marks_beside_headings_are_left_out() -> None:
    assert texts("<h2>Soil<a class=headerlink href='#soil'>¶</a></h2><p>Dig.</p>") == ["Soil", "Dig."]
    assert texts("<h2>Soil<span class=mw-editsection>[<a href=e>edit</a>]</span></h2><p>Dig.</p>") == ["Soil", "Dig."]
