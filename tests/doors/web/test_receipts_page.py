"""Receipts on the page: what became of each quote, for everybody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from quoth.citations.verify_receipt import digest_of

from ..local_http import send
from .conftest import NewPage
from .service import Service
from .town import FENCE, QUOTED, ROOF
from .visiting import has_no_sideways_scroll, sent_file

PLAIN = "Plain walls are preferred to panelled ones."


@pytest.fixture(scope="module")
def receipt(service: Service) -> dict[str, Any]:
    made: dict[str, Any] = send("POST", f"{service.url}/receipts", json=service.answer(ROOF)).json()
    return made | {"quotes": made["quotes"][:1]}


def sealed(receipt: dict[str, Any], *quotes: dict[str, Any]) -> bytes:
    """A receipt of the first quote with these changes, one after another."""
    first = receipt["quotes"][0]
    document = {**first["document"], "text_sha256": 64 * "0"}
    changed = {**receipt, "quotes": [{**first, "document": document, **quote} for quote in quotes]}
    return json.dumps(changed | {"digest": digest_of(changed)}).encode()


def altered(receipt: dict[str, Any]) -> bytes:
    start, end = receipt["quotes"][0]["start"], receipt["quotes"][0]["end"]
    red, none = QUOTED.replace("brown", "green"), "Nobody wrote this of zebras."
    return sealed(
        receipt,
        {},
        {"start": start + 3, "end": end + 3},
        {"quote": red},
        {"quote": none, "end": start + len(none)},
        {"quote": PLAIN, "start": 400, "end": 400 + len(PLAIN), "before": f"{31 * 'x'} ", "after": ""},
    )


def given(page: Page, service: Service, content: bytes, name: str = "r.json") -> None:
    page.goto(f"{service.url}/?view=receipts")
    page.get_by_label("Choose receipts").set_input_files(sent_file(name, content))


def states(page: Page) -> list[str]:
    expect(page.locator("#receipts-result .quotes li").first).to_be_visible()
    return page.locator("#receipts-result .source .badge").all_text_contents()


def test_each_quote_has_its_state_and_opens_where_it_stands(
    page: Page, service: Service, receipt: dict[str, Any]
) -> None:
    given(page, service, altered(receipt))
    quotes = page.locator("#receipts-result article")
    assert states(page) == ["exact", "moved", "changed", "gone", "ambiguous"]
    said = "r.json: 5 quotes, 1 exact, 1 moved, 1 changed, 1 gone, 1 ambiguous."
    expect(page.locator("#status")).to_have_text(said)
    expect(quotes.nth(2).locator("del")).to_have_text("removed: green")
    expect(quotes.nth(2).locator("ins")).to_have_text("added: brown")
    expect(quotes.nth(3)).to_contain_text("No document that can be read holds its words any more")
    expect(quotes.nth(3).get_by_role("link")).to_have_count(0)
    expect(quotes.nth(4).get_by_role("listitem").get_by_role("link")).to_have_count(60)
    for number in (0, 1, 2):
        quotes.nth(number).locator("a.open").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#reader mark")).to_have_text(QUOTED)
        page.keyboard.press("Escape")
        expect(quotes.nth(number).locator("a.open")).to_be_focused()
    quotes.nth(4).get_by_role("link").nth(1).click()
    expect(page.locator("#reader mark")).to_have_text(PLAIN)


def test_a_quote_of_a_document_that_was_replaced_says_by_what(page: Page, service: Service) -> None:
    answer = send("POST", f"{service.url}/answer", json={"question": FENCE, "doc_scope": ["declaration.md"]}).json()
    made = send("POST", f"{service.url}/receipts", json=answer)
    given(page, service, made.content)
    first = page.locator("#receipts-result article").first
    expect(first.locator(".superseded-note")).to_contain_text("Superseded. Replaced by First Amendment")
    expect(page.locator("#status")).to_contain_text("superseded")
    first.get_by_role("button", name="First Amendment").click()
    expect(page.get_by_label("Question", exact=True)).to_be_focused()


def test_a_receipt_is_dropped_anywhere_on_the_page(page: Page, service: Service, receipt: dict[str, Any]) -> None:
    page.goto(service.url)
    expect(page.locator(".stats")).not_to_be_empty()
    page.locator("h1").first.evaluate(
        """(node, content) => {
            const carried = new DataTransfer();
            carried.items.add(new File([content], "dropped.json"));
            const about = { dataTransfer: carried, bubbles: true, cancelable: true };
            const over = new DragEvent("dragover", about);
            node.dispatchEvent(over);
            if (!over.defaultPrevented) throw new Error("it cannot be dropped here");
            node.dispatchEvent(new DragEvent("drop", about));
        }""",
        altered(receipt).decode(),
    )
    assert states(page)[0] == "exact"
    expect(page.get_by_role("heading", name="dropped.json")).to_be_visible()
    assert "view=receipts" in page.url


def test_the_keyboard_alone_comes_to_the_button(page: Page, service: Service) -> None:
    page.goto(service.url)
    page.get_by_role("link", name="Receipts").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Receipts")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Choose receipts")).to_be_focused()


def test_what_cannot_be_read_is_said_in_words(page: Page, service: Service, receipt: dict[str, Any]) -> None:
    tampered = json.dumps({**receipt, "question": {**receipt["question"], "text": "Really?"}}).encode()
    for content, words in (
        (b"# Notes", "It is not JSON"),
        (b'{"receipt": 2}', "It is no receipt of version 1 but 2."),
        (tampered, "Its digest does not fit: the receipt was changed after it was made."),
    ):
        given(page, service, content)
        expect(page.locator("#receipts-result .problem")).to_contain_text(words)
        expect(page.locator("#status")).to_contain_text("1 receipt is refused.")


@pytest.mark.parametrize(
    ("content", "allowed", "title", "words"),
    [
        (b"\xff\xfe", "422 (Unprocessable", "This did not work", "The file of receipts is not UTF-8"),
        (b"x" * 3_000_000, "413 (", "Too large", "More than 1 MB are not taken."),
    ],
    ids=["bytes", "size"],
)
def test_a_file_that_is_refused_whole(
    new_page: NewPage, service: Service, content: bytes, allowed: str, title: str, words: str
) -> None:
    page = new_page(allowed=allowed)
    given(page, service, content)
    problem = page.locator("#receipts-result .problem")
    expect(problem).to_contain_text(title)
    expect(problem).to_contain_text(words)
    expect(problem.get_by_role("button", name="Try again")).to_be_visible()


def test_nothing_stands_in_the_way_of_assistive_technology_nor_is_wider_than_a_phone(
    new_page: NewPage, service: Service, receipt: dict[str, Any]
) -> None:
    page = new_page(viewport={"width": 360, "height": 740})
    given(page, service, altered(receipt))
    states(page)
    assert has_no_sideways_scroll(page)
    wcag = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    for rules in (wcag, ["color-contrast"]):
        violations = Axe().run(page, options={"runOnly": rules}).response["violations"]
        assert [(one["id"], one["nodes"]) for one in violations if one["impact"] in {"serious", "critical"}] == []
        page.locator("#theme").dispatch_event("click")
