"""Links to quotes: written by the rules of text fragments, and followed by a real browser."""

from __future__ import annotations

import io
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Route, sync_playwright

from quoth.citations.text_fragments import quote_link, text_fragment
from quoth.types import Span

from .export_corpus import HTML, PDF, TURNED, Corpus, exported_corpus, result  # noqa: F401 - a fixture

CHROMIUM = shutil.which("chromium")
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking".split()


def fragment(text: str, words: str, nth: int = 0) -> str | None:
    start = -1
    for _ in range(nth + 1):
        start = text.index(words, start + 1)
    return text_fragment(text, Span(start, start + len(words)))


def test_signs_with_a_meaning_are_encoded() -> None:
    assert fragment("A wet-dry, hot & cold: 5% é.", "wet-dry, hot & cold: 5% é") == (
        "#:~:text=wet%2Ddry%2C%20hot%20%26%20cold%3A%205%25%20%C3%A9"
    )


def test_words_around_are_given_only_where_they_are_needed() -> None:
    text = "One. Bring papers.\n\nTwo. Bring papers. Bring papers that are new."

    assert fragment(text, "Bring papers") == "#:~:text=Bring%20papers"
    assert fragment(text, "Bring papers", 1) == "#:~:text=Two.-,Bring%20papers,-.%20Bring%20papers%20that"
    assert fragment("Ärger. ARGER.", "ARGER") == "#:~:text=%C3%84rger.-,ARGER,-."
    assert fragment("same " * 60, "same", 30) is None


def test_long_quotes_and_rows_are_given_by_their_ends() -> None:
    words = [f"w{number}" for number in range(80)]
    row = "Cleaning | wet | 4.20"

    assert fragment(f"x. {' '.join(words)}. y", " ".join(words)) == ("#:~:text=w0%20w1%20w2%20w3,w76%20w77%20w78%20w79")
    assert fragment(f"Service | State | Charge\n{row}\n", row) == "#:~:text=Cleaning,4.20"
    assert fragment("• Hand it in.\n", "• Hand it in.") == "#:~:text=Hand%20it%20in."
    assert fragment("• Hand it in.\n1. Hand it in.\n", "Hand it in.", 1) == "#:~:text=Hand%20it%20in.-,Hand%20it%20in."


def test_nothing_visible_has_no_link() -> None:
    assert text_fragment("a \n b", Span(1, 4)) is None


def test_a_quote_of_a_pdf_leads_to_its_page(corpus: Corpus) -> None:
    (question,), documents = corpus.questions(result("x", [corpus.quote(PDF, TURNED)]))

    link = quote_link(question.answer_sentences[0], documents[PDF], base_url="https://example.org")
    assert link == "https://example.org/papers/first.pdf#page=2"


@pytest.fixture(scope="module")
def site(corpus: Corpus) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:  # noqa: ANN401
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(corpus.folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


COLOURED = "<style>::target-text { background: rgb(1, 254, 2); color: rgb(1, 254, 2) }</style></head>"


def found_rows(browser: Browser, url: str) -> tuple[float, float] | None:
    """The top and the bottom of what the browser marks, on the page; None when it marks nothing.

    Scripts are not told what a text fragment found, so the picture is read: only the target has this colour.
    """

    def coloured(route: Route) -> None:
        route.fulfill(content_type="text/html", body=route.fetch().text().replace("</head>", COLOURED))

    page = browser.new_page(viewport={"width": 900, "height": 700})
    try:
        page.route("**/page.html*", coloured)
        page.goto(url)
        page.wait_for_timeout(300)
        picture = np.array(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
        rows = np.flatnonzero((np.abs(picture - [1, 254, 2]) <= 2).all(axis=2).any(axis=1))
        scrolled = float(page.evaluate("scrollY"))
        return (scrolled + rows[0], scrolled + rows[-1]) if len(rows) else None
    finally:
        page.close()


def expected(browser: Browser, site: str, words: str, nth: int) -> tuple[float, float]:
    """The top and the bottom of the elements that hold these words; `nth` of several."""
    page = browser.new_page(viewport={"width": 900, "height": 700})
    try:
        page.goto(f"{site}/page.html")
        box = page.get_by_text(words).nth(nth).bounding_box()
        assert box is not None
        return box["y"], box["y"] + box["height"]
    finally:
        page.close()


@pytest.mark.parametrize(
    ("quote", "nth", "element", "element_nth"),
    [
        ("The weighbridge is open on Mondays.", 0, "The weighbridge", 0),
        ("Bring the papers.", 0, "Bring the papers.", 0),
        ("Bring the papers.", 1, "Bring the papers.", 1),
        ("Prices - wet, dry & frozen - rise by 5% in May.", 0, "Prices - wet", 0),
        ("C'est déjà l'été: ask for \"Zoë\".", 0, "Prices - wet", 0),
        ("Weighing only | 6.00 a load", 0, "Weighing only", 0),
        ("Hand in the key before dusk.", 0, "before dusk", 0),
        ("• Hand in the key before dusk.", 0, "before dusk", 0),
        ("Everyone who brings grain", 0, "Everyone who", 0),
    ],
)
def test_chromium_finds_the_quote(
    corpus: Corpus, browser: Browser, site: str, quote: str, nth: int, element: str, element_nth: int
) -> None:
    text = corpus.document(HTML).text
    if quote.startswith("Everyone"):
        quote = text[text.index(quote) : text.index("charged once.") + len("charged once.")]
    (question,), documents = corpus.questions(result("x", [corpus.quote(HTML, quote, nth=nth)]))
    link = quote_link(question.answer_sentences[0], documents[HTML], base_url=site)
    rows = found_rows(browser, link)
    top, bottom = expected(browser, site, element, element_nth)

    assert rows is not None, unquote(link)
    assert top - 2 <= rows[0] <= rows[1] <= bottom + 2


def test_a_fragment_that_is_not_there_is_not_found(browser: Browser, site: str) -> None:
    assert found_rows(browser, f"{site}/page.html#:~:text=nobody%20says%20this") is None
