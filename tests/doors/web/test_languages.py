"""The page in the visitor's language: its words, its labels for screen readers, its numbers, and how to choose it."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from quoth.output.messages import Messages, catalogue

from .conftest import NewPage
from .service import Service
from .town import FENCE, ROOF, SEED, UNKNOWN
from .visiting import ask, await_outcome, has_no_sideways_scroll, open_quote, quotes, sent_file

GERMAN = {"locale": "de-DE"}
TURKISH = {"locale": "tr-TR"}


def test_a_german_browser_gets_a_german_answer(new_page: NewPage, service: Service) -> None:
    page = new_page(**GERMAN)
    ask(page, service, FENCE)

    assert page.evaluate("document.documentElement.lang") == "de"
    expect(page.locator(".outcome-head h2")).to_have_text("Antwort")
    expect(page.locator(".confidence")).to_have_text(re.compile(r"^Wert 0,\d\d, nicht kalibriert$"))
    expect(page.get_by_label("Konfidenz", exact=True)).to_have_count(1)
    expect(page.locator(".conflict h3").first).to_have_text("Die Quellen widersprechen sich")
    expect(page.locator(".conflict .fine").first).to_contain_text("City Code (bindend) sagt seven feet")
    expect(quotes(page).first).to_contain_text("A fence in a rear yard shall not exceed")
    expect(page.locator("#status")).to_contain_text("Antwort: ")
    expect(page.get_by_role("button", name="Dunkel anzeigen")).to_be_visible()


def test_tags_have_the_names_that_the_profile_gives_them(new_page: NewPage, service: Service) -> None:
    page = new_page(**GERMAN)
    ask(page, service, FENCE)
    expect(page.locator(".tags li").first).to_have_text("Thema Zäune")
    page.locator(".filters summary").click()
    page.get_by_role("group", name="Thema").get_by_label("Zäune").check()
    await_outcome(page)

    expect(page.locator(".chip")).to_contain_text("Thema Zäune")
    assert parse_qs(urlsplit(page.url).query)["tag"] == ["topic:fences"]


def test_a_refusal_is_explained_in_turkish(new_page: NewPage, service: Service) -> None:
    page = new_page(**TURKISH)
    ask(page, service, UNKNOWN)

    english = service.answer(UNKNOWN)
    assert english["reason"]["detail"] == "'Halvorsen' is not mentioned in the corpus."
    expect(page.locator(".detail")).to_have_text("'Halvorsen' derlemde geçmiyor.")
    expect(page.locator(".why").first).to_have_text("Cümlede Halvorsen geçmiyor.")
    expect(page.locator("#status")).to_contain_text("'Halvorsen' derlemde geçmiyor.")
    expect(page.locator(".declined")).to_contain_text("Yazılışını denetleyin ya da onsuz sorun.")


def test_an_english_page_asks_as_it_always_did(page: Page, service: Service) -> None:
    page.goto(service.url)
    page.get_by_label("Question", exact=True).fill(UNKNOWN)
    with page.expect_request("**/answer") as sent:
        page.keyboard.press("Enter")
    await_outcome(page)

    assert sent.value.post_data_json == {"question": UNKNOWN}


def test_a_language_is_chosen_with_the_keyboard_and_remembered(new_page: NewPage, service: Service) -> None:
    page = new_page(locale="en-US")
    ask(page, service, ROOF, **{"in": "guidelines.md"})
    menu = page.locator("#languages summary")
    expect(menu).to_have_accessible_name("Language: English")
    menu.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="English")).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Français")).not_to_be_visible()
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Français").focus()
    page.keyboard.press("Enter")

    expect(page.locator(".outcome-head h2")).to_have_text("Réponse")
    expect(menu).to_have_accessible_name(re.compile("^Langue.: Français$"))
    assert parse_qs(urlsplit(page.url).query) == {"q": [ROOF], "in": ["guidelines.md"]}  # the address is for everybody
    page.goto(service.url)
    expect(page.get_by_label("Question", exact=True)).to_have_attribute("placeholder", "Posez une question")


def test_the_address_may_name_a_language(new_page: NewPage, service: Service) -> None:
    page = new_page(locale="en-US")
    page.goto(f"{service.url}/?view=documents&lang=es")

    expect(page.locator("#documents-title")).to_have_text("Documentos")
    expect(page.locator("#library-count")).to_have_text("6 documentos")
    expect(page).to_have_title("Documentos – Quoth")
    assert "lang" not in page.url


def test_a_whole_visit_in_german_with_the_keyboard_alone(new_page: NewPage, service: Service) -> None:
    page = new_page(**GERMAN, viewport={"width": 1280, "height": 900})
    page.goto(service.url)
    expect(page.locator(".stats")).to_contain_text("6 Dokumente, ")
    page.keyboard.press("/")
    page.keyboard.type(SEED)
    page.keyboard.press("Enter")
    await_outcome(page)
    quotes(page).first.locator("a.open").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#reader mark")).to_be_visible()
    expect(page.get_by_role("button", name="Schließen Esc")).to_be_visible()
    page.get_by_role("group", name="Zeigen als").get_by_role("button", name="Seite").press("Enter")
    expect(page.locator("#reader img")).to_have_attribute("alt", re.compile("^Seite 1 von .*, das Zitat umrandet$"))
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).not_to_be_visible()


def test_without_its_catalogue_the_page_still_answers(new_page: NewPage, service: Service) -> None:
    page = new_page(**GERMAN, allowed="status of 503")
    page.route("**/web/messages/*", lambda route: route.fulfill(status=503, body="busy"))
    ask(page, service, FENCE)

    expect(page.locator(".outcome-head h2")).to_have_text("Answer")


def test_a_grid_counts_and_filters_in_german(new_page: NewPage, service: Service) -> None:
    page = new_page(**GERMAN)
    page.goto(f"{service.url}/?view=grid")
    page.get_by_label("Fragen, eine je Zeile").fill(FENCE)
    page.get_by_label("Dokumente: IDs").fill("*.md")
    page.get_by_role("button", name="Tabelle erstellen").click()
    shown = page.locator(".grid-sift output")
    expect(shown).to_have_text("5 von 5 Dokumenten")
    page.get_by_label("Zellen").select_option("nicht angegeben")
    expect(shown).to_have_text(re.compile("^[1-4] von 5 Dokumenten$"))


def _home(page: Page, service: Service) -> None:
    page.goto(service.url)
    expect(page.locator(".stats")).not_to_be_empty()
    page.locator("#languages summary").click()


def _asked(page: Page, service: Service) -> None:
    ask(page, service, FENCE)
    page.locator(".filters summary").click()
    expect(page.locator(".picker").get_by_role("checkbox")).to_have_count(6)


def _declined(page: Page, service: Service) -> None:
    ask(page, service, UNKNOWN)
    page.locator(".marks button").last.click()


def _reading(page: Page, service: Service) -> None:
    ask(page, service, ROOF)
    open_quote(page, 0)


def _uploading(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/?view=documents")
    page.locator("#files").set_input_files(sent_file("a.md", b"# A"))
    expect(page.locator(".documents > li")).to_have_count(6)


STATES = (_home, _asked, _declined, _reading, _uploading)


@pytest.mark.parametrize("visitor", [GERMAN, TURKISH], ids=["de", "tr"])
@pytest.mark.parametrize("state", STATES)
def test_nothing_stands_in_the_way_in_other_languages_either(
    new_page: NewPage, service: Service, state: Callable[[Page, Service], None], visitor: dict[str, str]
) -> None:
    page = new_page(**visitor, viewport={"width": 360, "height": 740})
    state(page, service)

    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    found = Axe().run(page, options={"resultTypes": ["violations"], "runOnly": rules}).response["violations"]
    assert [one["id"] for one in found if one["impact"] in {"serious", "critical"}] == []
    assert has_no_sideways_scroll(page)


@pytest.mark.parametrize("visitor", [GERMAN, TURKISH], ids=["de", "tr"])
@pytest.mark.parametrize("state", STATES)
def test_no_english_message_is_left_on_the_page(
    new_page: NewPage, service: Service, state: Callable[[Page, Service], None], visitor: dict[str, str]
) -> None:
    page = new_page(**visitor)
    state(page, service)

    language = visitor["locale"][:2]
    texts = catalogue(language).messages
    same = {english for english, text in texts.items() if text == english or "{" in english}
    shown = set(page.evaluate(_WORDS))
    assert shown & (set(texts) - same - {"English"}) == set()
    assert Messages(language)("Ask") in shown


# Every text of the page that is Quoth's own, and every label.
_WORDS = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest(".foreign, script")) found.push(walker.currentNode.data.trim());
  }
  for (const name of ["aria-label", "title", "placeholder", "alt", "aria-valuetext"]) {
    for (const node of document.querySelectorAll(`[${name}]`)) found.push(node.getAttribute(name).trim());
  }
  return found;
}"""
