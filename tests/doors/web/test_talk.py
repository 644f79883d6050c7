"""Follow-ups on the page: what they lean on, how they were understood, and how to start anew."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from .service import Service
from .town import FENCE, POOL, ROOF
from .visiting import ask, await_outcome


def _ask_next(page: Page, question: str) -> dict[str, str]:
    """Type a question over the last one, and return the body that the page sends for it."""
    page.get_by_label("Question", exact=True).fill(question)
    with page.expect_request("**/answer") as sent:
        page.keyboard.press("Enter")
    await_outcome(page)
    body: dict[str, str] = json.loads(sent.value.post_data or "")
    return body


def test_a_follow_up_leans_on_the_last_question_and_says_how(page: Page, service: Service) -> None:
    ask(page, service, POOL)
    expect(page.locator("#talk")).to_contain_text(POOL)
    body = _ask_next(page, "why?")

    assert body == {"question": "why?", "previous": [POOL]}
    meant = f"{POOL.removesuffix('?')}, why?"
    expect(page.locator(".understood")).to_have_text(f"Understood as: {meant}")
    expect(page.locator("#talk")).to_contain_text(meant)
    expect(page.locator("#status")).to_contain_text("Understood as:")
    assert parse_qs(urlsplit(page.url).query) == {"q": ["why?"], "after": [POOL]}


def test_the_address_of_a_follow_up_asks_the_same(page: Page, service: Service) -> None:
    ask(page, service, "and in a front yard?", after=FENCE)

    expect(page.locator(".understood")).to_have_text("Understood as: How high may a fence in a front yard be?")


def test_a_question_that_stands_alone_is_not_changed(page: Page, service: Service) -> None:
    ask(page, service, POOL)
    _ask_next(page, ROOF)

    expect(page.locator(".understood")).to_have_count(0)
    expect(page.locator("#talk")).to_contain_text(ROOF)
    expect(page.locator("#talk")).not_to_contain_text(POOL)
    assert parse_qs(urlsplit(page.url).query) == {"q": [ROOF]}


def test_what_it_leans_on_can_be_removed(page: Page, service: Service) -> None:
    ask(page, service, POOL)
    page.get_by_role("button", name="Forget the last question").click()
    expect(page.locator("#talk")).to_be_empty()
    expect(page.get_by_label("Question", exact=True)).to_be_focused()

    assert _ask_next(page, "why?") == {"question": "why?"}
    expect(page.locator(".understood")).to_have_count(0)


def test_going_back_and_home_end_a_talk(page: Page, service: Service) -> None:
    ask(page, service, POOL)
    _ask_next(page, "why?")
    page.go_back()
    expect(page.locator("#talk")).to_contain_text(POOL)
    expect(page.locator(".understood")).to_have_count(0)
    page.locator("#home").click()
    expect(page.locator("#talk")).to_be_empty()


def test_recent_questions_are_whole(page: Page, service: Service) -> None:
    ask(page, service, POOL)
    _ask_next(page, "why?")
    page.locator("#home").click()

    expect(page.locator(".recent li").first).to_have_text(f"{POOL.removesuffix('?')}, why?")


def test_a_marked_follow_up_is_stored_as_what_it_means(page: Page, service: Service) -> None:
    ask(page, service, POOL)
    _ask_next(page, "why?")
    with page.expect_request("**/marks") as sent:
        page.locator(".marks button").first.click()

    assert json.loads(sent.value.post_data or "")["question"] == f"{POOL.removesuffix('?')}, why?"
