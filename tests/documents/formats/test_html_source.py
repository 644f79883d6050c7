from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quoth.documents.formats.html import page_source
from quoth.documents.formats.html.html_document import extract
from quoth.errors import UnreadableFile

GREETING = "Grüße – naïve façade"


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ("", "utf-16-le"),
        ("", "utf-32"),
        ("", "cp1252"),
        ("<meta charset=utf-8>", "utf-8"),
        ("<meta charset='iso-8859-1'>", "cp1252"),
        ("<meta http-equiv=Content-Type content='text/html; charset=windows-1252'>", "cp1252"),
        ("<meta charset=macintosh>", "mac_roman"),
        ("<meta charset=iso-8859-1>", "utf-8"),  # converted, and the line forgotten
        ("<meta charset=no-such-thing>", "utf-8"),
        ("<meta charset=utf-7>", "utf-8"),
    ],
)
def test_the_encoding_is_found(declared: str, encoding: str) -> None:
    data = f"<html><head>{declared}</head><body><p>{GREETING} {'x' * 20}</p></body></html>".encode(encoding)

    assert extract(data).text == f"{GREETING} {'x' * 20}"


@pytest.mark.parametrize(
    ("text", "name"),
    [("日本語の文書です。", "shift_jis"), ("Привет, мир, как дела", "windows-1251"), ("中文文件內容", "big5")],
)
def test_other_scripts_are_read_by_what_the_page_declares(text: str, name: str) -> None:
    assert extract(f"<meta charset={name}><p>{text}</p>".encode(name)).text == text


def test_a_few_broken_characters_are_shown_and_counted() -> None:
    found = extract(b"<meta charset=utf-8><p>" + "Grüße ".encode() * 50 + b"a\xffb</p>")

    assert found.text.endswith("a\ufffdb")
    assert found.notes == ("1 characters could not be decoded and are shown as \ufffd",)


def test_xhtml_closes_what_it_opens() -> None:
    data = """<?xml version="1.0" encoding="ISO-8859-1"?>
    <html xmlns="http://www.w3.org/1999/xhtml" xml:lang="de"><head><title/><script src="a.js"/></head>
    <body><p>Grüße <a id="x"/>an <i/>alle.<br/>Heute <![CDATA[1 < 2 & 3]]></p></body></html>""".encode("iso-8859-1")

    found = extract(data)

    assert found.text == "Grüße an alle.\nHeute 1 < 2 & 3"
    assert dict(found.properties) == {"language": "de"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"<div>" * 100_000 + b"x", "nested more than"),
        (b"<ul><li>" * 100_000 + b"x", "nested more than"),
        (
            b"<p>" + b"".join(b"<font size=%d>" % n for n in range(5000)) + b"</p>" + b"<p>x" * 5000,
            "left open too often",
        ),
        (b"%PDF-1.7 ...", "another kind of file"),
        (b" " * (page_source.MOST_BYTES + 1), "more than 64 MiB"),
    ],
)
def test_hostile_pages_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableFile, match=why):
        extract(data)


@pytest.mark.parametrize("tag", ["b", "span", "sup", "q", "math><mrow"])
def test_deep_nesting_of_words_is_read(tag: str) -> None:
    assert extract(f"<p>{f'<{tag}>' * 20_000}x".encode()).text.count("x") == 1


_TAGS = st.sampled_from(
    """p div span b a sup sub ul ol li table tr td th h1 h2 pre blockquote br dl dt dd main article header footer nav
    section details summary figure figcaption img q math mi svg form button""".split()
)
_ATTRIBUTES = st.sampled_from(
    ["", "", " hidden", " href='#a'", " class=footnotes", " colspan=3", " style='display:block'"]
)
_SOUP = st.lists(
    st.one_of(
        st.builds("<{}{}>".format, _TAGS, _ATTRIBUTES),
        st.builds("</{}>".format, _TAGS),
        st.sampled_from(
            ["<!--", "-->", "<", ">", "&", "&nbsp;", "&#0;", "&#xD800;", "\x00", "<![CDATA[", "'", '"', "\n\n"]
        ),
        st.text(max_size=12).filter(lambda text: not any("\ud800" <= character <= "\udfff" for character in text)),
    ),
    max_size=40,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(_SOUP)
@example("<table><tr><td colspan=0 rowspan=0><table><th>x")
def test_tag_soup_always_gives_ordered_regions_over_all_that_is_visible(soup: str) -> None:
    found = extract(soup.encode())

    assert extract(soup.encode()) == found
    end = 0
    for region in found.regions or ():
        assert found.text[end : region.span.start].strip() == ""
        assert found.text[region.span.start : region.span.end].strip() != ""
        end = region.span.end
    assert found.text[end:].strip() == ""
    assert "\x00" not in found.text
    found.text.encode()


_WORDS = st.lists(st.text("abcdefghij", min_size=1, max_size=6), min_size=6, max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.lists(_WORDS, min_size=1, max_size=6), st.lists(_TAGS.filter(lambda tag: tag != "nav"), max_size=6))
def test_the_words_of_paragraphs_are_kept(said: list[list[str]], around: list[str]) -> None:
    body = "".join(f"<p>{' '.join(words[:3])} <b>{' '.join(words[3:])}</b>.</p>" for words in said)
    frame = [tag for tag in around if tag in {"div", "section", "main", "article", "blockquote", "details", "form"}]

    found = extract("".join([f"<{tag}>" for tag in frame] + [body] + [f"</{tag}>" for tag in reversed(frame)]).encode())

    assert found.text.split("\n\n") == [f"{' '.join(words)}." for words in said]
