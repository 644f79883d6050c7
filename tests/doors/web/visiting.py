"""What a visitor does on the page."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import FilePayload, Locator, Page, expect

from .service import Service


def ask(page: Page, service: Service, question: str, **filters: str) -> None:
    """Open the page with a question in its address, and wait for the outcome."""
    page.goto(f"{service.url}/?{urlencode({'q': question, **filters})}")
    await_outcome(page)


def await_outcome(page: Page) -> None:
    expect(page.locator(".outcome")).to_be_visible()


def quotes(page: Page) -> Locator:
    return page.locator("ol.quotes > li")


def open_quote(page: Page, number: int) -> Locator:
    """Open a quote, counted from 0; gives the reader."""
    quotes(page).nth(number).locator("a.open").first.click()
    expect(page.locator("#reader mark")).to_be_visible()
    return page.locator("#reader")


def has_no_sideways_scroll(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def sign_in(page: Page, service: Service, token: str) -> None:
    page.goto(service.url)
    page.get_by_label("API key", exact=True).fill(token)
    page.keyboard.press("Enter")
    expect(page.locator(".stats")).not_to_be_empty()


def sent_file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}
