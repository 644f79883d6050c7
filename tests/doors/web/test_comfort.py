"""For everybody: keyboards, screen readers, small and dark screens, and text that means harm."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from .conftest import NewPage
from .service import Service
from .town import FENCE, HOSTILE, LONG_WORD, ROOF, SCRIPT, SEED, TURNED, UNKNOWN
from .visiting import ask, await_outcome, has_no_sideways_scroll, open_quote, sent_file

PHONE = {"width": 360, "height": 740}


def test_a_whole_visit_with_the_keyboard_alone(page: Page, service: Service) -> None:
    page.goto(service.url)
    expect(page.locator(".stats")).not_to_be_empty()
    page.keyboard.type(FENCE)
    page.keyboard.press("Enter")
    await_outcome(page)
    _tab_to(page, "ol.quotes a.open")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    expect(page.locator("#reader mark")).to_be_visible()
    expect(page.locator("#reader-title")).to_be_focused()
    _tab_to(page, "#reader .copy summary")
    page.keyboard.press("Enter")
    expect(page.locator("#reader .choices")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#reader .choices")).not_to_be_visible()
    expect(page.locator("#reader")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("ol.quotes a.open").first).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    page.keyboard.type("a/b")
    expect(page.get_by_label("Question", exact=True)).to_have_value("a/b")
    _tab_to(page, ".marks button")


def test_the_skip_link_leads_past_the_header(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/?view=documents")
    expect(page.locator(".documents > li")).to_have_count(6)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def _tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the Tab key never came to {selector}")


def test_dark_colours_follow_the_system_and_the_choice(new_page: NewPage, service: Service) -> None:
    page = new_page(color_scheme="dark")
    page.goto(service.url)
    assert _is_dark(page)
    page.get_by_role("button", name="Light mode").click()
    assert not _is_dark(page)
    page.reload()
    assert not _is_dark(page)
    expect(page.get_by_role("button", name="Dark mode")).to_be_visible()


def _is_dark(page: Page) -> bool:
    ground, words = _lightness(page, "background-color"), _lightness(page, "color")
    assert abs(ground - words) > 140
    return ground < words


def _lightness(page: Page, name: str) -> float:
    colour = page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(name)", name)
    parts = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    return sum(parts) / len(parts)


def test_a_button_under_the_mouse_keeps_its_colours(page: Page, service: Service) -> None:
    page.goto(service.url)
    button = page.get_by_role("button", name="Ask", exact=True)
    colours = "node => [getComputedStyle(node).color, getComputedStyle(node).backgroundColor]"
    before = button.evaluate(colours)
    button.hover()
    assert button.evaluate(colours) == before


def test_nothing_is_wider_than_a_phone(new_page: NewPage, service: Service) -> None:
    page = new_page(viewport=PHONE, has_touch=True)
    page.goto(service.url)
    expect(page.locator(".stats")).not_to_be_empty()
    assert has_no_sideways_scroll(page)
    for question in (FENCE, UNKNOWN, *HOSTILE):
        ask(page, service, question)
        assert has_no_sideways_scroll(page), question
    page.get_by_text("Filters").click()
    assert has_no_sideways_scroll(page)
    reader = open_quote(page, 0)
    assert reader.evaluate("dialog => dialog.matches(':modal')")
    box = reader.bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (PHONE["width"], PHONE["height"])
    assert reader.evaluate("() => document.querySelector('.reader-view').scrollWidth") <= PHONE["width"]
    page.keyboard.press("Escape")
    expect(reader).not_to_be_visible()
    page.goto(f"{service.url}/?view=documents")
    expect(page.locator(".documents > li")).to_have_count(6)
    assert has_no_sideways_scroll(page)


@pytest.mark.parametrize(("question", "text"), list(zip(HOSTILE, (SCRIPT, TURNED, LONG_WORD), strict=True)))
def test_hostile_text_is_only_text(page: Page, service: Service, question: str, text: str) -> None:
    ask(page, service, question)
    words = page.locator("ol.quotes .words").first
    quoted = service.answer(question)["answer_sentences"][0]["text"]
    assert words.text_content() == quoted
    assert text in quoted
    assert words.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
    expect(page.locator("ol.quotes cite").first).to_have_text("<img src=x onerror=alert(3)> Harbour, <b>Harbour</b>")
    assert has_no_sideways_scroll(page)
    reader = open_quote(page, 0)
    assert reader.locator("mark").text_content() == quoted
    assert page.evaluate("document.querySelectorAll('main script, main img, dialog script, dialog img').length") == 0
    assert has_no_sideways_scroll(page)


def test_on_paper_there_are_the_question_and_the_quotes_with_their_places(page: Page, service: Service) -> None:
    ask(page, service, FENCE)
    page.emulate_media(media="print")
    expect(page.locator(".asked-question")).to_be_visible()
    expect(page.locator("ol.quotes .place").first).to_be_visible()
    for hidden in (".top", ".search", ".marks", ".copy"):
        expect(page.locator(hidden).first).not_to_be_visible()


def _asked(page: Page, service: Service) -> None:
    ask(page, service, FENCE)
    page.get_by_text("Filters").click()
    expect(page.locator(".picker").get_by_role("checkbox")).to_have_count(6)


def _declined(page: Page, service: Service) -> None:
    ask(page, service, UNKNOWN)
    page.get_by_role("button", name="Wrong, it is there").click()


def _superseded(page: Page, service: Service) -> None:
    ask(page, service, FENCE, **{"in": "declaration.md"})


def _reading(page: Page, service: Service) -> None:
    ask(page, service, ROOF)
    open_quote(page, 0)


def _page_of_a_pdf(page: Page, service: Service) -> None:
    ask(page, service, SEED)
    open_quote(page, 0).get_by_role("button", name="Page").click()
    expect(page.locator("#reader img")).to_be_visible()


def _uploading(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/?view=documents")
    page.get_by_label("Choose files").set_input_files(sent_file("a.md", b"# A"))
    expect(page.locator(".documents > li")).to_have_count(6)


@pytest.mark.parametrize("state", [_asked, _declined, _superseded, _reading, _page_of_a_pdf, _uploading])
def test_nothing_stands_in_the_way_of_assistive_technology(
    page: Page, service: Service, state: Callable[[Page, Service], None]
) -> None:
    state(page, service)
    assert _grave(page, {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}) == []
    # Only colours differ in the dark.
    page.get_by_role("button", name="Dark mode").dispatch_event("click")
    assert _grave(page, {"runOnly": ["color-contrast"]}) == []


def _grave(page: Page, options: dict[str, object]) -> list[tuple[str, list[str]]]:
    found = Axe().run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
    grave = [one for one in found if one["impact"] in {"serious", "critical"}]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in grave]
